"""The Kubernetes manifests in a machine config: which there are, and patches that take some of them out.

Talos knows three ways to list them: inline with their contents, by URL in three places, and since 1.14 each as a
document of its own.
"""

import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping, sequence, text

Document = Mapping[str, Any]

INLINE, EXTERNAL = "KubeInlineManifestConfig", "KubeExternalManifestConfig"
"""Documents of Talos 1.14."""
_PLACES = (("extraManifests",), ("network", "cni", "urls"), ("externalCloudProvider", "manifests"))
"""Where URLs are listed, below ``cluster``."""
_CNI = _PLACES[1]
_DELETE = {"$patch": "delete"}
_VERSION = re.compile(r"v?\d+(?:\.\d+)+[\w.+-]*|[0-9a-f]{40}")


@dataclasses.dataclass(frozen=True)
class Held:
    """What a config lists."""

    inline: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """Contents by name."""
    documents: tuple[Document, ...] = dataclasses.field(default=(), repr=False)
    """Those that are documents of their own."""
    urls: Mapping[tuple[str, ...], tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """By where they are listed."""

    @property
    def names(self) -> frozenset[str]:
        """Everything: names of inline ones, URLs of the others."""
        return frozenset(
            [*self.inline, *map(_called, self.documents), *(each for urls in self.urls.values() for each in urls)]
        )


def of(documents: Iterable[Document]) -> Held:
    """What the documents of a config list."""
    inline: dict[str, str] = {}
    apart: list[Document] = []
    urls: dict[tuple[str, ...], tuple[str, ...]] = {}
    for value in documents:
        if value.get("kind") in (INLINE, EXTERNAL):
            apart.append(value)
            continue
        for entry in sequence(value, "cluster", "inlineManifests"):
            if isinstance(entry, Mapping) and entry.get("name"):
                inline[str(entry["name"])] = str(entry.get("contents") or "")
        for place in _PLACES:
            if found := tuple(map(str, sequence(value, "cluster", *place))):
                urls[place] = found
    return Held(inline, tuple(apart), urls)


def common(several: Sequence[Held]) -> Held:
    """What all of some configs list, as the first one has it."""
    if not several:
        return Held()
    names = frozenset.intersection(*(each.names for each in several))
    return kept(several[0], names)


def kept(held: Held, names: Collection[str]) -> Held:
    """Only some of what a config lists."""
    return Held(
        {name: each for name, each in held.inline.items() if name in names},
        tuple(each for each in held.documents if _called(each) in names),
        {place: rest for place, urls in held.urls.items() if (rest := tuple(each for each in urls if each in names))},
    )


def patches(before: Held, after: Held) -> list[Document]:
    """What makes one list of manifests another, as patches in their order: patches append to lists, so the old go."""
    found: list[Document] = []
    if [*before.inline.items()] != [*after.inline.items()]:
        gone = [{"name": name, **_DELETE} for name in before.inline]
        new = [{"name": name, "contents": contents} for name, contents in after.inline.items()]
        found += [{"cluster": {"inlineManifests": entries}} for entries in (gone, new) if entries]
    found += [
        {"apiVersion": each.get("apiVersion") or "v1alpha1", "kind": each["kind"], "name": each.get("name"), **_DELETE}
        for each in before.documents
        if each not in after.documents
    ]
    found += [each for each in after.documents if each not in before.documents]
    for place in _PLACES:
        old, now = before.urls.get(place, ()), after.urls.get(place, ())
        if old != now:
            found += _listed(place, old, now)
    return found


def is_same_but_version(one: str, other: str) -> bool:
    """Whether two URLs are of the same manifest, perhaps in different versions."""
    return _VERSION.sub("*", one) == _VERSION.sub("*", other)


def _listed(place: tuple[str, ...], old: Sequence[str], now: Sequence[str]) -> list[Document]:
    found: list[Document] = []
    if place == _CNI and not now:
        # Without URLs it is none of Talos's any more; the word for somebody else's is "none".
        return [_at(place[:-1], _DELETE), _at(place[:-1], {"name": "none"})]
    if old:
        found.append(_at(place, _DELETE))
    if now:
        found.append(_at(place, list(now)))
    return found


def _at(place: Sequence[str], value: Any) -> Document:
    for part in reversed(("cluster", *place)):
        value = {part: value}
    return mapping(value)


def _called(document: Document) -> str:
    return text(document, "url") if document.get("kind") == EXTERNAL else text(document, "name")
