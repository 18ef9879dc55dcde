"""The form of what is explained, as it is written in YAML."""

import functools
import importlib.resources
import re
from typing import TypeVar

import msgspec

from firstlight.document import yaml_reader


class WordOccurrence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a word is found in a repo; whatever fits is shown."""

    names: tuple[str, ...] = ()
    """Components, by their names or those of their charts."""
    roles: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    """Forms in which a repo deploys something, such as ``HelmRelease``."""
    kinds: tuple[str, ...] = ()
    """Objects: ``group/Kind``, ``/Secret`` for the core group; a star is anything."""
    facts: tuple[str, ...] = ()
    """What a cluster declares: see ``facts.py``."""


class GlossaryWord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One word of the glossary."""

    word: str
    aka: tuple[str, ...] = ()
    """Other ways to say it; plurals need not be named."""
    says: str
    see: tuple[str, ...] = ()
    here: WordOccurrence = WordOccurrence()


class PhaseText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a phase is."""

    says: str
    why: str
    """Why a component is in it."""
    gate: str
    """What must be proven before the next one begins."""
    see: tuple[str, ...] = ()


class SideText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a side is."""

    says: str
    criteria: tuple[str, ...]
    """When something belongs there."""
    change: tuple[str, ...]
    """How a change is done."""
    see: tuple[str, ...] = ()


class RoleText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What components of a role are for."""

    word: str
    without: str
    """What happens where it is missing or down."""


class Texts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that is said of the order of things."""

    phases: dict[str, PhaseText]
    sides: dict[str, SideText]
    roles: dict[str, RoleText]
    gates: dict[str, str]
    """By what a gate asks about: what it waits for."""


# The glossary and the texts on the order of things, from ``words.yaml`` and ``order.yaml``.


T = TypeVar("T")


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    words: tuple[GlossaryWord, ...]


@functools.cache
def words() -> tuple[GlossaryWord, ...]:
    """Every word, as it stands in the file."""
    return _read("words.yaml", _File).words


@functools.cache
def texts() -> Texts:
    """What is said of phases, sides, roles and gates."""
    return _read("order.yaml", Texts)


def _read(name: str, form: type[T]) -> T:
    file = importlib.resources.files("firstlight.commands.explain") / name
    (document,) = yaml_reader.read(file.read_bytes(), name).documents
    return msgspec.convert(document.value, form)


def find(name: str) -> GlossaryWord | None:
    """The word that a name means, however it is written, also in the plural."""
    wanted = plain(name)
    return _by_name().get(wanted) or next(
        (found for each in _singulars(wanted) if (found := _by_name().get(each))), None
    )


@functools.cache
def _by_name() -> dict[str, GlossaryWord]:
    # A word's own name counts more than another's second name.
    others = {plain(name): each for each in words() for name in each.aka}
    return others | {plain(each.word): each for each in words()}


def of_names(names: tuple[str, ...]) -> GlossaryWord | None:
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
