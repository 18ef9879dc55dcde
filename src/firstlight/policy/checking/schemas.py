"""Custom resources held against the CRDs that define them, without a cluster.

Types, required fields, enums, bounds and unknown fields are looked at; rules in CEL are for the API server.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.document import mistakes
from firstlight.document.within import at, mapping, sequence, text

_KEPT = (
    "type", "required", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
    "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "uniqueItems", "pattern",
)  # fmt: skip
_OPEN = "x-kubernetes-preserve-unknown-fields"
_OBJECT = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
_MOST = 5

Kind = tuple[str, str]
"""apiVersion and kind."""


@dataclasses.dataclass(frozen=True)
class Schemas:
    """What CRDs say of their kinds."""

    by_kind: Mapping[Kind, Mapping[str, Any]] = dataclasses.field(default_factory=dict, repr=False)

    def knows(self, value: Mapping[str, Any]) -> bool:
        """Whether a CRD defines the kind of an object."""
        return _kind(value) in self.by_kind

    def problems(self, value: Mapping[str, Any]) -> tuple[str, ...]:
        """What is wrong with an object: ``spec.replicas: "2" is not of type "integer"``."""
        schema = self.by_kind.get(_kind(value))
        if schema is None:
            return ()
        return tuple(_problems(value, schema))


def of_crds(crds: Iterable[Mapping[str, Any]]) -> Schemas:
    """The schemas of CRDs; versions without one allow anything."""
    found: dict[Kind, Mapping[str, Any]] = {}
    for crd in crds:
        group, kind = text(crd, "spec", "group"), text(crd, "spec", "names", "kind")
        for version in sequence(crd, "spec", "versions"):
            schema = mapping(version, "schema", "openAPIV3Schema")
            if schema and kind:
                found[f"{group}/{text(version, 'name')}", kind] = _plain(schema, is_object=True)
    return Schemas(found)


def _kind(value: Mapping[str, Any]) -> Kind:
    return str(value.get("apiVersion") or ""), str(value.get("kind") or "")


def _plain(schema: Any, *, is_object: bool = False) -> dict[str, Any]:
    """A structural schema of Kubernetes as JSON Schema, closed where the API server drops what it does not know."""
    if not isinstance(schema, Mapping):
        return {}
    made: dict[str, Any] = {key: schema[key] for key in _KEPT if key in schema}
    if at(schema, "x-kubernetes-int-or-string") is True:
        made["type"] = ["integer", "string"]
    if at(schema, "nullable") is True and "type" in made:
        made["type"] = [*([made["type"]] if isinstance(made["type"], str) else made["type"]), "null"]
        if isinstance(made.get("enum"), list):
            made["enum"] = [*made["enum"], None]
    properties = {key: _plain(each) for key, each in mapping(schema, "properties").items()}
    is_object = is_object or at(schema, "x-kubernetes-embedded-resource") is True
    if is_object:
        properties = {**properties, **_OBJECT}
    more = at(schema, "additionalProperties")
    is_open = at(schema, _OPEN) is True
    if isinstance(more, Mapping):
        made["additionalProperties"] = _plain(more)
    elif properties and more is not True and not is_open:
        made["additionalProperties"] = False
    if properties:
        made["properties"] = properties
    if isinstance(at(schema, "items"), Mapping):
        made["items"] = _plain(schema["items"])
    return made


def _problems(value: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    validator = _validator(schema)
    if validator is None:
        return
    for count, error in enumerate(validator.iter_errors(dict(value))):
        if count == _MOST:
            yield "and more"
            return
        yield from _explained(error)


def _validator(schema: Mapping[str, Any]) -> Any:
    """What validates; None where the schema itself is wrong, which the API server says of its CRD."""
    import jsonschema_rs

    # A pattern may have a form that is not known here: the rest still counts.
    for tried in (dict(schema), _without_patterns(schema)):
        try:
            return jsonschema_rs.validator_for(tried)
        except ValueError:
            continue
    return None


def _explained(error: Any) -> Iterator[str]:
    where = mistakes.written(error.instance_path)
    facts: Mapping[str, Any] = error.kind.as_dict()
    match error.kind.name:
        case "additionalProperties":
            for name in facts["unexpected"]:
                field = f"{where}.{name}".removeprefix(".")
                yield f"{mistakes.short(field)} is no field of it: the API server drops it"
        case "required":
            yield f"{f'{where}.' if where else ''}{facts['property']} is missing"
        case "type":
            yield f"{where} must be of type {' or '.join(map(str, facts['types']))}"
        case "enum":
            yield f"{where} must be one of {', '.join(map(str, facts['options']))}"
        case other:
            yield f"{where} does not fit ({other})"  # what stands there may be secret, so it is not shown


def _without_patterns(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        return {
            key: _without_patterns(each)
            for key, each in schema.items()
            if not (key == "pattern" and isinstance(each, str))
        }
    return [_without_patterns(each) for each in schema] if isinstance(schema, list) else schema
