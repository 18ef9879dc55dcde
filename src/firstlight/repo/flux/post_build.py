"""The variables of a Kustomization: what it says itself, and what ConfigMaps and Secrets of its namespace hold.

ConfigMaps that the tree applies are known. Secrets are not, and their values are not wanted here even where Git has
them; but often it is known which variables they hold, since sops and ExternalSecrets leave the names readable.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import scalars, yaml_reader
from firstlight.model import flux_names
from firstlight.model.diagnostic import Severity
from firstlight.model.source import ObjectReference
from firstlight.repo.flux import envsubst, flux_objects
from firstlight.repo.flux.envsubst import BadSubstitution, Lookup, SubstitutionBudget
from firstlight.repo.flux.flux_objects import entries, mapping
from firstlight.repo.manifest import Manifest

_NAME = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")


HeldValues = Mapping[str, str] | frozenset[str] | None
"""What a ConfigMap holds, or the keys of a Secret; None where neither is known."""


@dataclasses.dataclass
class Variables:
    """What is known of the variables of one Kustomization."""

    values: dict[str, str] = dataclasses.field(default_factory=dict, repr=False)
    hidden: dict[str, ObjectReference] = dataclasses.field(default_factory=dict)
    """Variables that a Secret holds."""
    missing: list[ObjectReference] = dataclasses.field(default_factory=list)
    """ConfigMaps and Secrets that are not in the tree: any variable could be in them."""
    invalid: list[str] = dataclasses.field(default_factory=list)
    is_always: bool = False
    used: list[tuple[ObjectReference, HeldValues]] = dataclasses.field(default_factory=list, repr=False)
    """What they were made of."""

    @property
    def is_active(self) -> bool:
        """Whether Flux substitutes at all: it does not where there are no variables, dollar signs stay then."""
        return bool(self.values or self.hidden or self.missing or self.is_always)

    def lookup(self, name: str) -> str | None:
        """The value of a variable: empty where nothing sets it, None where that cannot be known."""
        if name in self.values:
            return self.values[name]
        return None if name in self.hidden or self.missing else ""

    def origin(self, name: str) -> str:
        """Where a variable that is not known comes from, or may come from."""
        if name in self.hidden:
            return f"come from {self.hidden[name]}"
        return f"may come from {' or '.join(map(str, self.missing))}, not in the cluster's tree"


@dataclasses.dataclass
class VariableHolders:
    """The ConfigMaps and Secrets of a cluster, as far as its tree brings them."""

    config_maps: dict[tuple[str, str], Manifest] = dataclasses.field(default_factory=dict)
    secrets: dict[tuple[str, str], frozenset[str] | None] = dataclasses.field(default_factory=dict)
    """The keys of Secrets; None where they are not known."""
    before: "VariableHolders | None" = None
    """What was known earlier, for those that are not known here."""
    _held: dict[tuple[str, str], Mapping[str, str] | frozenset[str]] = dataclasses.field(
        default_factory=dict, repr=False
    )

    def note(self, manifest: Manifest) -> None:
        """Remember an object, if it holds or makes variables."""
        group, kind, namespace, name = manifest.id.group, manifest.id.kind, manifest.id.namespace, manifest.id.name
        if not group and kind == "ConfigMap":
            self.config_maps[namespace, name] = manifest
            self._held.pop((namespace, name), None)
        elif not group and kind == "Secret":
            keys = [*mapping(manifest.value.get("data")), *mapping(manifest.value.get("stringData"))]
            self.secrets[namespace, name] = frozenset(keys)
        elif kind == "ExternalSecret" and group == "external-secrets.io":
            target, keys_made = _made(manifest)
            self.secrets[namespace, target or name] = keys_made

    def find(self, reference: ObjectReference) -> HeldValues:
        """What a ConfigMap or a Secret holds."""
        key = (reference.namespace, reference.name)
        if reference.kind == "ConfigMap" and key in self.config_maps:
            if key not in self._held:
                self._held[key] = _held(self.config_maps[key])
            return self._held[key]
        if reference.kind == "Secret" and self.secrets.get(key) is not None:
            return self.secrets[key]
        return None if self.before is None else self.before.find(reference)


def is_encrypted(manifest: Manifest) -> bool:
    """Whether sops has encrypted values of an object."""
    return isinstance(manifest.value.get("sops"), dict)


def _held(config_map: Manifest) -> Mapping[str, str] | frozenset[str]:
    """The variables in a ConfigMap; only their names where it is encrypted."""
    data = mapping(config_map.value.get("data"))
    if is_encrypted(config_map):
        return frozenset(map(str, data))
    return {str(name): flux_objects.text(value).replace("\n", "") for name, value in data.items()}


def _made(manifest: Manifest) -> tuple[str, frozenset[str] | None]:
    """The Secret that an ExternalSecret makes: its name, and its keys if they are written."""
    spec = mapping(manifest.value.get("spec"))
    target = mapping(spec.get("target"))
    template = mapping(target.get("template"))
    if mapping(template.get("data")) and template.get("mergePolicy") != "Merge":
        return flux_objects.text(target.get("name")), frozenset(template["data"])
    if spec.get("dataFrom") or template.get("templateFrom"):
        return flux_objects.text(target.get("name")), None
    keys = [flux_objects.text(mapping(each).get("secretKey")) for each in entries(spec.get("data"))]
    return flux_objects.text(target.get("name")), frozenset(keys)


def variable_references(spec: Mapping[str, Any], namespace: str) -> Iterator[ObjectReference]:
    """The ConfigMaps and Secrets that a Kustomization takes variables from."""
    for each in entries(mapping(spec.get("postBuild")).get("substituteFrom")):
        each = mapping(each)
        yield ObjectReference(
            kind=flux_objects.text(each.get("kind")),
            name=flux_objects.text(each.get("name")),
            namespace=namespace,
            optional=each.get("optional") is True,
        )


def resolve_variables(spec: Mapping[str, Any], namespace: str, holders: VariableHolders) -> Variables:
    """The variables of a Kustomization, later ones on top of earlier ones, its own on top of all."""
    found = Variables()
    build = mapping(spec.get("postBuild"))
    if not build:
        return found
    for reference in variable_references(spec, namespace):
        held = holders.find(reference)
        found.used.append((reference, held))
        if held is None:
            found.missing.append(reference)
        elif isinstance(held, frozenset):
            found.hidden |= dict.fromkeys(held, reference)
            found.values = {name: value for name, value in found.values.items() if name not in held}
        else:
            found.values |= held
    own = {
        str(name): flux_objects.text(value).replace("\n", "")
        for name, value in mapping(build.get("substitute")).items()
    }
    found.values |= own
    found.hidden = {name: each for name, each in found.hidden.items() if name not in own}
    found.invalid = [name for name in (*found.values, *found.hidden) if not _NAME.fullmatch(name)]
    found.is_always = build.get("substituteStrategy") == "Always"
    return found


# postBuild substitution: variables in an object replaced as Flux does it, which works on the text of the object.
#
# An object is written as YAML, its variables are expanded, and it is read again. So ``"${COUNT}"`` becomes a number,
# whatever quotes it had in Git, since Go writes it without; and ``${LIST}`` may become a list. Here only those texts
# are written and read again that have a dollar sign in them.


_DEEPEST = 200
"""Levels of an object; the reader of files refuses deeper ones anyway."""

_INDICATORS = frozenset("#,[]{}&*!|>'\"%@`")
_SIMPLE = re.compile(
    r"(?!-(?: |$))[A-Za-z0-9_./$(=+~^\\-](?:[A-Za-z0-9_./@$%()=+~^\\,;-]|:(?=[A-Za-z0-9_./]))*"
    r"(?: (?:[A-Za-z0-9_./@$%()=+~^\\,;-]|:(?=[A-Za-z0-9_./]))+)*"
)
"""Plain texts that certainly stand for one scalar."""


@dataclasses.dataclass(slots=True)
class Substituted:
    """What became of an object."""

    value: Any
    unknown: dict[str, None] = dataclasses.field(default_factory=dict)
    assumed: dict[str, None] = dataclasses.field(default_factory=dict)
    empty: dict[str, None] = dataclasses.field(default_factory=dict)
    """Variables without a default that stand for nothing."""
    budget: SubstitutionBudget = dataclasses.field(default_factory=SubstitutionBudget)
    """How much variables may stand for."""


def substitute(value: Mapping[str, Any], lookup: Lookup, budget: SubstitutionBudget | None = None) -> Substituted:
    """An object with its variables replaced; what did not change is shared.

    Args:
        value: The object.
        lookup: What variables stand for.
        budget: How much they may stand for, shared with other objects.

    Raises:
        BadSubstitution: Flux would refuse it.
        envsubst.TooMuch: It would become too long, or take too long.
    """
    found = Substituted(value, budget=budget or SubstitutionBudget())
    if not _is_disabled(value):
        found.value = _replaced(value, lookup, found, 0)
    return found


def _is_disabled(value: Mapping[str, Any]) -> bool:
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    marks = (metadata.get("labels"), metadata.get("annotations"))
    return any(isinstance(each, dict) and each.get(flux_names.SUBSTITUTE_ANNOTATION) == "disabled" for each in marks)


def _replaced(value: Any, lookup: Lookup, found: Substituted, depth: int, before: str = "value: ") -> Any:
    if isinstance(value, str):
        return _text(value, lookup, found, before) if "$" in value else value
    if depth > _DEEPEST:
        return value
    if isinstance(value, dict):
        changed: dict[str, Any] | None = None
        for name, each in value.items():
            # Most values are texts without variables: not worth a call each.
            is_plain_text = each.__class__ is str and "$" not in each
            new = each if is_plain_text else _replaced(each, lookup, found, depth + 1)
            if new is not each or "$" in name:
                changed = dict(value) if changed is None else changed
                changed[name] = new
        if changed is None:
            return value
        return {_key(name, lookup, found): each for name, each in changed.items()}
    if isinstance(value, list):
        items = [_replaced(each, lookup, found, depth + 1, "- ") for each in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value


def _expanded(text: str, lookup: Lookup, found: Substituted) -> str:
    expansion = envsubst.expand(text, lookup, found.budget)
    found.unknown.update(expansion.unknown)
    found.assumed.update(expansion.assumed)
    found.empty.update(expansion.empty)
    return expansion.text


def _key(name: str, lookup: Lookup, found: Substituted) -> str:
    if "$" not in name:
        return name
    expanded = _expanded(name, lookup, found)
    if expanded == name:
        return name
    if not is_plain(name):
        expanded = _expanded("'" + name.replace("'", "''") + "'", lookup, Substituted(None, budget=found.budget))
    contents = yaml_reader.read(f"{expanded}: value\n".encode(), "")
    read = contents.documents[0].value if len(contents.documents) == 1 else None
    if not isinstance(read, dict) or any(each.severity == Severity.ERROR for each in contents.diagnostics):
        raise BadSubstitution("what a variable stands for breaks the key that it is in")
    return str(next(iter(read)))


def _text(text: str, lookup: Lookup, found: Substituted, before: str) -> Any:
    expanded = _expanded(text, lookup, found)
    if expanded == text:
        return text
    if is_plain(text):
        if _SIMPLE.fullmatch(expanded) or not expanded:
            return _scalar(expanded)
        return _read(f"{before}{expanded}")
    if "\n" in text:
        return expanded  # a literal block, in which nothing but a line break could end the text
    quoted = _expanded("'" + text.replace("'", "''") + "'", lookup, Substituted(None, budget=found.budget))
    return expanded if quoted[1:-1] == expanded.replace("'", "''") else _read(f"{before}{quoted}")


def _scalar(text: str) -> Any:
    try:
        return scalars.as_json(scalars.kubernetes(text))
    except ValueError as error:
        raise BadSubstitution(f"a variable stands for a number that cannot be: {error}") from error


def _read(written: str) -> Any:
    """What stands behind the key or the dash of a line that is read again."""
    contents = yaml_reader.read(f"{written}\n".encode(), "")
    if len(contents.documents) != 1 or any(each.severity == Severity.ERROR for each in contents.diagnostics):
        raise BadSubstitution("what a variable stands for breaks the YAML around it")
    read = contents.documents[0].value
    if isinstance(read, dict) and len(read) == 1:
        return read.get("value")
    if isinstance(read, list) and len(read) == 1:
        return read[0]
    raise BadSubstitution("what a variable stands for breaks the YAML around it")


def is_plain(text: str) -> bool:
    """Whether Go writes a text without quotes, so that it may be read as something else afterwards."""
    if not text or "\n" in text or not text.isprintable() or text[0] == " " or text[-1] in " :":
        return False
    if text[0] in _INDICATORS or text.startswith(("---", "...", "- ", "? ", ": ")) or text in ("-", "?"):
        return False
    if ": " in text or " #" in text:
        return False
    return isinstance(scalars.kubernetes(text), str)
