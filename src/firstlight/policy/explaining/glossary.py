"""The glossary and the texts on the order of things, from ``words.yaml`` and ``order.yaml``."""

import functools
import importlib.resources
import re
from typing import TypeVar

import msgspec

from firstlight.document import reading
from firstlight.policy.explaining.form import Texts, Word

T = TypeVar("T")


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    words: tuple[Word, ...]


@functools.cache
def words() -> tuple[Word, ...]:
    """Every word, as it stands in the file."""
    return _read("words.yaml", _File).words


@functools.cache
def texts() -> Texts:
    """What is said of phases, sides, roles and gates."""
    return _read("order.yaml", Texts)


def _read(name: str, form: type[T]) -> T:
    file = importlib.resources.files("firstlight.policy.explaining") / name
    (document,) = reading.read(file.read_bytes(), name).documents
    return msgspec.convert(document.value, form)


def find(name: str) -> Word | None:
    """The word that a name means, however it is written, also in the plural."""
    wanted = plain(name)
    return _by_name().get(wanted) or next(
        (found for each in _singulars(wanted) if (found := _by_name().get(each))), None
    )


@functools.cache
def _by_name() -> dict[str, Word]:
    # A word's own name counts more than another's second name.
    others = {plain(name): each for each in words() for name in each.aka}
    return others | {plain(each.word): each for each in words()}


def of_names(names: tuple[str, ...]) -> Word | None:
    """The word that speaks of a component, by the component's names; the first name that is known counts."""
    known = {plain(name): each for each in reversed(words()) for name in each.here.names}
    return next((found for name in names if (found := known.get(plain(name)))), None)


def plain(name: str) -> str:
    """A name as it is compared: without case, and with one dash for whatever separates words."""
    return re.sub(r"[\s_-]+", "-", name.strip()).casefold()


def _singulars(name: str) -> tuple[str, ...]:
    return tuple(
        name.removesuffix(end) + new for end, new in (("ies", "y"), ("es", ""), ("s", "")) if name.endswith(end)
    )
