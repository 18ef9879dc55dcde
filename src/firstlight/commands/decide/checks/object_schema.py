"""Objects held against their schema: by the API server's dry run where there is one, else by the CRDs of the repo."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.decide.checks import answer, check_input
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import CheckInput, ObjectPair
from firstlight.document import mistakes
from firstlight.document.within import at, mapping, sequence, text
from firstlight.model.decision import Decision
from firstlight.plan import well_known

# Custom resources held against the CRDs that define them, without a cluster.
#
# Types, required fields, enums, bounds and unknown fields are looked at; rules in CEL are for the API server.


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
class CrdSchemas:
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


def schemas_of_crds(crds: Iterable[Mapping[str, Any]]) -> CrdSchemas:
    """The schemas of CRDs; versions without one allow anything."""
    found: dict[Kind, Mapping[str, Any]] = {}
    for crd in crds:
        group, kind = text(crd, "spec", "group"), text(crd, "spec", "names", "kind")
        for version in sequence(crd, "spec", "versions"):
            schema = mapping(version, "schema", "openAPIV3Schema")
            if schema and kind:
                found[f"{group}/{text(version, 'name')}", kind] = _plain(schema, is_object=True)
    return CrdSchemas(found)


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


MANAGER = "firstlight-decide"
"""As whom dry runs are made; nothing of it is ever stored."""
_AT_ONCE = 8
_CRDS = {("apiextensions.k8s.io", "CustomResourceDefinition")}
_VARIABLE = "${"


@dataclasses.dataclass(frozen=True)
class _Tried:
    """What came of the objects."""

    answers: list[CheckAnswer]
    accepted: int = 0
    """Objects that the API server accepted."""
    left: tuple[ObjectPair, ...] = ()
    """Objects that it cannot know yet."""


async def look(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Every object that comes or becomes another."""
    pairs = [each for each in check_input.pairs(decision, scene) if each.after is not None and each.id.name]
    usable = [each for each in pairs if "sops" not in (each.after or {})]
    answers: list[CheckAnswer] = []
    if hidden := len(pairs) - len(usable):
        answers.append(answer.skipped(f"{_counted(hidden)} with encrypted values"))
    here = [each for each in usable if scene.client is not None and each.cluster in ("", scene.cluster)]
    offline = [each for each in usable if each not in here]
    if scene.client is not None and here:
        tried = await _dry_run(here, scene.client)
        answers += tried.answers
        offline += tried.left
        if tried.accepted:
            answers.append(answer.passed(f"the API server accepts {_counted(tried.accepted)} in a dry run"))
    return answers + _by_crds(offline, schemas_of_crds(check_input.objects_in_repo(scene.after, _CRDS)), scene)


async def _dry_run(pairs: Sequence[ObjectPair], client: kube.Client) -> _Tried:
    limit = asyncio.Semaphore(_AT_ONCE)
    coming = {each.id.name for each in pairs if each.id.kind == "Namespace"}

    async def tried(pair: ObjectPair) -> CheckAnswer | ObjectPair | None:
        async with limit:
            return await _tried(pair, client, coming)

    found = await asyncio.gather(*map(tried, pairs))
    return _Tried(
        answers=[each for each in found if isinstance(each, CheckAnswer)],
        accepted=sum(each is None for each in found),
        left=tuple(each for each in found if isinstance(each, ObjectPair)),
    )


async def _tried(pair: ObjectPair, client: kube.Client, coming: set[str]) -> CheckAnswer | ObjectPair | None:
    """None if the server accepts it, the object itself if the server cannot know it yet, else what is wrong."""
    assert pair.after is not None
    try:
        await client.apply(pair.after, manager=MANAGER, force=True, dry_run=True)
    except kube.UnknownKind:
        return pair  # its CRD may come with the change
    except kube.NotFound as error:
        space = pair.id.namespace
        if space and (space in coming or not await _is_there(client, space)):
            return pair
        return _refused(pair, error.message)
    except kube.Forbidden as error:
        return answer.skipped(f"{pair} was not tried: {error.message}")
    except kube.DryRunRefused:
        return answer.skipped(f"{pair} was not tried: a webhook does not take part in dry runs")
    except kube.ApiError as error:
        return _refused(pair, error.message)
    except (errors.Unreachable, errors.TimedOut):
        raise
    except errors.ClientError as error:
        return _refused(pair, error.message)
    return None


async def _is_there(client: kube.Client, namespace: str) -> bool:
    try:
        await client.get("v1", "Namespace", namespace, metadata_only=True)
    except kube.NotFound:
        return False
    return True


def _refused(pair: ObjectPair, message: str) -> CheckAnswer:
    if _VARIABLE in str(pair.after):
        return answer.skipped(f"{pair} has a variable whose value is not known here, and is refused with it: {message}")
    return answer.failed("object-refused", f"the API server refuses {pair}: {message}", fix="correct it", at=pair.place)


def _by_crds(pairs: Sequence[ObjectPair], known_kinds: CrdSchemas, scene: CheckInput) -> list[CheckAnswer]:
    """What CRDs of the repo say; the rest is told to be unseen."""
    answers: list[CheckAnswer] = []
    fitting, unseen = 0, dict[str, None]()
    for pair in pairs:
        value: Mapping[str, Any] = pair.after or {}
        if not known_kinds.knows(value):
            is_ours = well_known.is_builtin(pair.id.group) or scene.client is None
            unseen[pair.id.kind if is_ours else f"{pair.id.kind} ({text(value, 'apiVersion')})"] = None
            continue
        wrong = known_kinds.problems(value) if _VARIABLE not in str(value) else ()
        answers += [
            answer.failed("object-schema-wrong", f"{pair}: {each}", fix="correct it", at=pair.place) for each in wrong
        ]
        fitting += not wrong
    if fitting:
        answers.append(answer.passed(f"{_counted(fitting)} fit their CRDs in the repo"))
    if unseen:
        why = scene.unreached if scene.client is None else "the API server does not know it yet"
        answers.append(answer.skipped(f"the schema of {', '.join(unseen)}: {why}"))
    return answers


def _counted(count: int) -> str:
    return "1 object" if count == 1 else f"{count} objects"
