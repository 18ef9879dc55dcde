"""The values of a HelmRelease, in the order in which they win: references, its own, and single values last."""

import functools
from typing import Any

from firstlight.document import reading
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.model.source import Values
from firstlight.repo.flux import kinds, variables
from firstlight.repo.flux.kinds import entries, mapping, text
from firstlight.repo.flux.variables import Holders
from firstlight.repo.manifest import Manifest

KEY = "values.yaml"
"""The key of a reference that names none."""


@functools.lru_cache(maxsize=256)
def parsed(written: str) -> Any:
    """The values in a text; None where it is no YAML."""
    contents = reading.read(written.encode(), KEY)
    broken = any(each.grade == Grade.ERROR for each in contents.remarks)
    return contents.documents[0].value if contents.documents and not broken else None


def of(release: Manifest, holders: Holders) -> tuple[tuple[Values, ...], list[Remark]]:
    """The values of a release.

    Flux merges references first, in their order, then the release's own values; a reference with a target path
    overwrites them all.
    """
    spec = kinds.spec(release)
    plain: list[Values] = []
    single: list[Values] = []
    remarks: list[Remark] = []
    for number, entry in enumerate(entries(spec.get("valuesFrom"))):
        found, problem = _reference(mapping(entry), release, number, holders)
        (single if found.target else plain).append(found)
        remarks += problem
    own = mapping(spec.get("values"))
    inline = [Values(place=release.at("spec", "values"), inline=own)] if own else []
    if own and variables.is_encrypted(release):
        inline = [Values(place=release.at("spec", "values"), unresolved="they are encrypted")]
    return (*plain, *inline, *single), remarks


def _reference(entry: Any, release: Manifest, number: int, holders: Holders) -> tuple[Values, list[Remark]]:
    kind, name = text(entry.get("kind")), text(entry.get("name"))
    namespace = release.id.namespace
    place = release.at("spec", "valuesFrom", number)
    key, target = text(entry.get("valuesKey")) or KEY, text(entry.get("targetPath"))
    known: dict[str, Any] = {
        "place": place,
        "reference": f"{kind}/{namespace}/{name}",
        "key": key,
        "target": target,
        "optional": entry.get("optional") is True,
    }
    if kind == "Secret":
        why = "it is a Secret" if (namespace, name) in holders.secrets else "it is a Secret that Git does not have"
        return Values(**known, unresolved=why), []
    held = holders.config_maps.get((namespace, name))
    if held is None:
        remarks = [] if known["optional"] else [_missing(place, namespace, name, holders)]
        return Values(**known, unresolved="no such ConfigMap is in the cluster's tree"), remarks
    if variables.is_encrypted(held):
        return Values(**known, unresolved="it is encrypted"), []
    written = mapping(held.value.get("data")).get(key)
    if written is None:
        message = f"ConfigMap {namespace}/{name} has no key {key}"
        remarks = [] if known["optional"] else [Remark(place, Grade.ERROR, message, f"see {held.place}")]
        return Values(**known, unresolved=f"it has no key {key}"), remarks
    if target:
        is_quoted = len(str(written)) > 1 and str(written)[0] == str(written)[-1] and str(written)[0] in "'\""
        return Values(**known, text=str(written), is_text=entry.get("literal") is True or is_quoted), []
    read = parsed(str(written))
    if read is not None and not isinstance(read, dict):
        return Values(**known, unresolved="they are no mapping"), [_broken(place, held.place, key)]
    if read is None and str(written).strip():
        return Values(**known, unresolved="they are no YAML"), [_broken(place, held.place, key)]
    return Values(**known, inline=read or {}), []


def _missing(place: Place, namespace: str, name: str, holders: Holders) -> Remark:
    message = f"ConfigMap {namespace}/{name} is not in the cluster's tree"
    hashed = [each for at, each in holders.config_maps if at == namespace and each[:-11] == name]
    elsewhere = [at for at, each in holders.config_maps if each == name]
    hint = ""
    if hashed:
        hint = f"it is called {hashed[0]}; turn the hash off, or let a nameReference in configurations put it here"
    elif elsewhere:
        hint = f"there is one in namespace {elsewhere[0] or 'default'}"
    return Remark(place, Grade.ERROR if hint else Grade.UNKNOWN, message, hint)


def _broken(place: Place, held: Place, key: str) -> Remark:
    return Remark(place, Grade.ERROR, f"the values at {key} cannot be read", f"see {held}")
