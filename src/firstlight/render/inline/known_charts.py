"""What is known of well-known charts (``known_charts.yaml``): what each render makes anew, hooks, kinds."""

import dataclasses
import fnmatch
import functools
import importlib.resources
from collections.abc import Mapping

import msgspec

from firstlight.document import yaml_reader
from firstlight.model.component import ObjectId
from firstlight.model.rendition import Object


@dataclasses.dataclass(frozen=True)
class KnownUnstable:
    """Something that changes at every rendering."""

    hint: str
    names: tuple[str, ...] = ()
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Where the object has labels of these, they must say so; names alone are not always enough."""
    annotations: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class KnownHook:
    """A hook that something may wait for."""

    names: tuple[str, ...]
    hint: str


@dataclasses.dataclass(frozen=True)
class KnownKinds:
    """Kinds of one group."""

    group: str
    kinds: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class KnownStart:
    """What an object says about the kinds that its component needs."""

    kind: str
    name: str
    data: Mapping[str, str]
    needs: KnownKinds
    why: str


@dataclasses.dataclass(frozen=True)
class KnownCharts:
    """The whole file."""

    unstable: tuple[KnownUnstable, ...]
    hooks: tuple[KnownHook, ...]
    starts: tuple[KnownStart, ...]


@functools.cache
def table() -> KnownCharts:
    """Everything that is known."""
    file = importlib.resources.files("firstlight.render.inline") / "known_charts.yaml"
    (document,) = yaml_reader.read(file.read_bytes(), "known_charts.yaml").documents
    return msgspec.convert(document.value, KnownCharts)


def remedy(one: Object, annotation: str = "") -> str:
    """How to make a value of an object stay; empty where that is not known."""
    for each in table().unstable:
        if annotation and _fits(annotation, each.annotations):
            return each.hint
        if _fits(one.id.name, each.names) and _agree(one, each.labels):
            return each.hint
    return ""


def hook(id: ObjectId) -> str:
    """What is known of a hook; empty where nothing is."""
    return next((each.hint for each in table().hooks if _fits(id.name, each.names)), "")


def starts(one: Object) -> list[KnownStart]:
    """What an object says about kinds that must be there."""
    data = one.value.get("data")
    if not isinstance(data, Mapping):
        return []
    return [
        each
        for each in table().starts
        if (each.kind, each.name) == (one.id.kind, one.id.name) and each.data.items() <= dict(data).items()
    ]


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, each) for each in patterns)


def _agree(one: Object, wanted: Mapping[str, str]) -> bool:
    """Whether the labels say nothing else; many Secrets have none."""
    metadata = one.value.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    labels = labels if isinstance(labels, Mapping) else {}
    return all(labels.get(key, value) == value for key, value in wanted.items())
