"""The form of what is explained, as it is written in YAML."""

import msgspec


class Here(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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


class Word(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One word of the glossary."""

    word: str
    aka: tuple[str, ...] = ()
    """Other ways to say it; plurals need not be named."""
    says: str
    see: tuple[str, ...] = ()
    here: Here = Here()


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
