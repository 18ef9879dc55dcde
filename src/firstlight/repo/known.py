"""Components that many platforms have, from ``known.yaml``: recognised by their names, with role and reason."""

import dataclasses
import functools
import importlib.resources
from collections.abc import Iterable

import msgspec

from firstlight.document import reading

_SUFFIXES = ("-crds", "-install", "-bootstrap", "-core", "-app", "-helm", "-helm-release", "-release", "-app-set")


@dataclasses.dataclass(frozen=True)
class Known:
    """What is known of a component by its name."""

    role: str
    names: tuple[str, ...]
    why: str
    groups: tuple[str, ...] = ()
    key: str = ""


@functools.cache
def table() -> dict[str, Known]:
    """Everything that is known, by key."""
    file = importlib.resources.files("firstlight.repo") / "known.yaml"
    (document,) = reading.read(file.read_bytes(), "known.yaml").documents
    read = msgspec.convert(document.value, dict[str, Known])
    return {key: dataclasses.replace(each, key=key) for key, each in read.items()}


@functools.cache
def _by_name() -> dict[str, Known]:
    return {name: each for each in table().values() for name in each.names}


def of(names: Iterable[str]) -> Known | None:
    """What the first name that is known belongs to, the usual suffixes aside."""
    for name in names:
        bare = name.rpartition("/")[2].lower()
        for candidate in (bare, *(bare.removesuffix(each) for each in _SUFFIXES if bare.endswith(each))):
            if found := _by_name().get(candidate):
                return found
    return None


@functools.cache
def by_group() -> dict[str, Known]:
    """What configures what: known components by API group."""
    return {group: each for each in table().values() for group in each.groups}
