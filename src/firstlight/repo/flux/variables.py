"""The variables of a Kustomization: what it says itself, and what ConfigMaps and Secrets of its namespace hold.

ConfigMaps that the tree applies are known. Secrets are not, and their values are not wanted here even where Git has
them; but often it is known which variables they hold, since sops and ExternalSecrets leave the names readable.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.model.source import Reference
from firstlight.repo.flux.kinds import entries, mapping, text
from firstlight.repo.manifest import Manifest

_NAME = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")


Held = Mapping[str, str] | frozenset[str] | None
"""What a ConfigMap holds, or the keys of a Secret; None where neither is known."""


@dataclasses.dataclass
class Variables:
    """What is known of the variables of one Kustomization."""

    values: dict[str, str] = dataclasses.field(default_factory=dict, repr=False)
    hidden: dict[str, Reference] = dataclasses.field(default_factory=dict)
    """Variables that a Secret holds."""
    missing: list[Reference] = dataclasses.field(default_factory=list)
    """ConfigMaps and Secrets that are not in the tree: any variable could be in them."""
    invalid: list[str] = dataclasses.field(default_factory=list)
    is_always: bool = False
    used: list[tuple[Reference, Held]] = dataclasses.field(default_factory=list, repr=False)
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
class Holders:
    """The ConfigMaps and Secrets of a cluster, as far as its tree brings them."""

    config_maps: dict[tuple[str, str], Manifest] = dataclasses.field(default_factory=dict)
    secrets: dict[tuple[str, str], frozenset[str] | None] = dataclasses.field(default_factory=dict)
    """The keys of Secrets; None where they are not known."""
    before: "Holders | None" = None
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

    def find(self, reference: Reference) -> Held:
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
    return {str(name): text(value).replace("\n", "") for name, value in data.items()}


def _made(manifest: Manifest) -> tuple[str, frozenset[str] | None]:
    """The Secret that an ExternalSecret makes: its name, and its keys if they are written."""
    spec = mapping(manifest.value.get("spec"))
    target = mapping(spec.get("target"))
    template = mapping(target.get("template"))
    if mapping(template.get("data")) and template.get("mergePolicy") != "Merge":
        return text(target.get("name")), frozenset(template["data"])
    if spec.get("dataFrom") or template.get("templateFrom"):
        return text(target.get("name")), None
    keys = [text(mapping(each).get("secretKey")) for each in entries(spec.get("data"))]
    return text(target.get("name")), frozenset(keys)


def references(spec: Mapping[str, Any], namespace: str) -> Iterator[Reference]:
    """The ConfigMaps and Secrets that a Kustomization takes variables from."""
    for each in entries(mapping(spec.get("postBuild")).get("substituteFrom")):
        each = mapping(each)
        yield Reference(
            kind=text(each.get("kind")),
            name=text(each.get("name")),
            namespace=namespace,
            optional=each.get("optional") is True,
        )


def resolve(spec: Mapping[str, Any], namespace: str, holders: Holders) -> Variables:
    """The variables of a Kustomization, later ones on top of earlier ones, its own on top of all."""
    found = Variables()
    build = mapping(spec.get("postBuild"))
    if not build:
        return found
    for reference in references(spec, namespace):
        held = holders.find(reference)
        found.used.append((reference, held))
        if held is None:
            found.missing.append(reference)
        elif isinstance(held, frozenset):
            found.hidden |= dict.fromkeys(held, reference)
            found.values = {name: value for name, value in found.values.items() if name not in held}
        else:
            found.values |= held
    own = {str(name): text(value).replace("\n", "") for name, value in mapping(build.get("substitute")).items()}
    found.values |= own
    found.hidden = {name: each for name, each in found.hidden.items() if name not in own}
    found.invalid = [name for name in (*found.values, *found.hidden) if not _NAME.fullmatch(name)]
    found.is_always = build.get("substituteStrategy") == "Always"
    return found
