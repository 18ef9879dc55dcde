"""Vaults, items, fields and files: what both stand-ins show, whoever asks."""

import dataclasses
from typing import Literal

from firstlight.model.secret import MASK

FieldType = Literal[
    "STRING", "EMAIL", "CONCEALED", "URL", "OTP", "TOTP", "DATE", "MONTH_YEAR", "MENU", "PHONE", "REFERENCE", "SSHKEY"
]
Purpose = Literal["", "USERNAME", "PASSWORD", "NOTES"]


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of an item."""

    id: str
    label: str


@dataclasses.dataclass(frozen=True)
class Field:
    """A value with a name; it is not shown when it is printed."""

    id: str
    label: str
    value: str = dataclasses.field(repr=False)
    type: str
    purpose: Purpose = ""
    section: Section | None = None


@dataclasses.dataclass(frozen=True)
class File:
    """An attached file; its content is not shown when it is printed."""

    id: str
    name: str
    content: bytes = dataclasses.field(repr=False)
    section: Section | None = None

    def __str__(self) -> str:
        return f"{self.name} ({MASK})"


@dataclasses.dataclass(frozen=True)
class Item:
    """What belongs together."""

    id: str
    title: str
    category: str
    fields: tuple[Field, ...] = ()
    files: tuple[File, ...] = ()
    sections: tuple[Section, ...] = ()
    tags: tuple[str, ...] = ()
    created: str = ""
    updated: str = ""
    version: int = 1

    def find(self, name: str, section: str = "") -> Field | File | None:
        """A field or a file by id or label, as the references of ``op`` mean it: without regard to case.

        Without a section, fields that are in none come first.
        """
        every: tuple[Field | File, ...] = (*self.fields, *self.files)
        found = [
            each
            for each in every
            if _is_called(name, each.id, each.label if isinstance(each, Field) else each.name)
            and (not section or (each.section and _is_called(section, each.section.id, each.section.label)))
        ]
        return min(found, key=lambda each: each.section is not None, default=None)


@dataclasses.dataclass(frozen=True)
class Vault:
    """Items that the same people may see."""

    id: str
    name: str
    description: str = ""
    items: tuple[Item, ...] = ()

    def called(self, name: str) -> tuple[Item, ...]:
        """The items of a name, or the one of an id."""
        return tuple(each for each in self.items if _is_called(name, each.id, each.title))


def called(vaults: tuple[Vault, ...], name: str) -> Vault | None:
    """The vault of a name or an id."""
    return next((each for each in vaults if _is_called(name, each.id, each.name)), None)


def _is_called(name: str, identifier: str, label: str) -> bool:
    return name == identifier or name.casefold() == label.casefold()
