"""Vaults, items, fields and files: what both stand-ins show, whoever asks."""

import base64
import dataclasses
import hashlib
import stat
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import yaml

from firstlight import errors
from firstlight.document import yaml_values
from firstlight.model.secret import MASK

FieldType = Literal[
    "STRING", "EMAIL", "CONCEALED", "URL", "OTP", "TOTP", "DATE", "MONTH_YEAR", "MENU", "PHONE", "REFERENCE", "SSHKEY"
]
Purpose = Literal["", "USERNAME", "PASSWORD", "NOTES"]


@dataclasses.dataclass(frozen=True)
class VaultSection:
    """A part of an item."""

    id: str
    label: str


@dataclasses.dataclass(frozen=True)
class VaultField:
    """A value with a name; it is not shown when it is printed."""

    id: str
    label: str
    value: str = dataclasses.field(repr=False)
    type: str
    purpose: Purpose = ""
    section: VaultSection | None = None


@dataclasses.dataclass(frozen=True)
class VaultAttachment:
    """An attached file; its content is not shown when it is printed."""

    id: str
    name: str
    content: bytes = dataclasses.field(repr=False)
    section: VaultSection | None = None

    def __str__(self) -> str:
        return f"{self.name} ({MASK})"


@dataclasses.dataclass(frozen=True)
class VaultItem:
    """What belongs together."""

    id: str
    title: str
    category: str
    fields: tuple[VaultField, ...] = ()
    files: tuple[VaultAttachment, ...] = ()
    sections: tuple[VaultSection, ...] = ()
    tags: tuple[str, ...] = ()
    created: str = ""
    updated: str = ""
    version: int = 1

    def find(self, name: str, section: str = "") -> VaultField | VaultAttachment | None:
        """A field or a file by id or label, as the references of ``op`` mean it: without regard to case.

        Without a section, fields that are in none come first.
        """
        every: tuple[VaultField | VaultAttachment, ...] = (*self.fields, *self.files)
        found = [
            each
            for each in every
            if _is_called(name, each.id, each.label if isinstance(each, VaultField) else each.name)
            and (not section or (each.section and _is_called(section, each.section.id, each.section.label)))
        ]
        return min(found, key=lambda each: each.section is not None, default=None)


@dataclasses.dataclass(frozen=True)
class StandinVault:
    """Items that the same people may see."""

    id: str
    name: str
    description: str = ""
    items: tuple[VaultItem, ...] = ()

    def called(self, name: str) -> tuple[VaultItem, ...]:
        """The items of a name, or the one of an id."""
        return tuple(each for each in self.items if _is_called(name, each.id, each.title))


def vault_called(vaults: tuple[StandinVault, ...], name: str) -> StandinVault | None:
    """The vault of a name or an id."""
    return next((each for each in vaults if _is_called(name, each.id, each.name)), None)


def _is_called(name: str, identifier: str, label: str) -> bool:
    return name == identifier or name.casefold() == label.casefold()


# The file that declares the vaults, ``LAB/standins/vault.yaml``: read anew at every question, by its owner alone.


VAULT_FILE = "vault.yaml"
CREATED = "2024-01-01T00:00:00Z"
"""When everything was made, if nothing else is declared."""
PURPOSES: dict[str, Purpose] = {"username": "USERNAME", "password": "PASSWORD", "notesPlain": "NOTES"}
"""Fields of the categories' own, whose ids are their labels."""
Id = Annotated[str, msgspec.Meta(pattern="^([a-z0-9]{26})?$")]
Text = Annotated[str, msgspec.Meta(min_length=1)]


class _Struct(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What all declarations share."""


class DeclaredField(_Struct, frozen=True):
    """A field; the value is not shown when it is printed."""

    label: Text
    value: str = ""
    type: FieldType | None = None
    """Concealed if it is left out, unless it is a user name or a note."""
    section: str = ""
    id: str = ""

    def __repr__(self) -> str:
        return f"Field({self.label!r}, {MASK})"


class DeclaredAttachment(_Struct, frozen=True):
    """An attached file."""

    name: Text
    content: str = ""
    section: str = ""
    id: Id = ""

    def __repr__(self) -> str:
        return f"File({self.name!r}, {MASK})"


class DeclaredItem(_Struct, frozen=True):
    """An item."""

    title: Text
    category: Annotated[str, msgspec.Meta(pattern="^[A-Z_]+$")] = "LOGIN"
    fields: tuple[DeclaredField, ...] | dict[str, str] = ()
    files: tuple[DeclaredAttachment, ...] = ()
    tags: tuple[str, ...] = ()
    id: Id = ""
    created: str = CREATED
    updated: str = CREATED
    version: int = 1


class DeclaredVault(_Struct, frozen=True):
    """A vault."""

    name: Text
    items: tuple[DeclaredItem, ...] = ()
    description: str = ""
    id: Id = ""


class DeclaredToken(_Struct, frozen=True):
    """A token, of a service account or of Connect, and what it may see: everything, unless vaults are named."""

    token: Text
    vaults: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Token({MASK}, vaults={self.vaults!r})"


class DeclaredUser(_Struct, frozen=True):
    """A person's account on this machine, as the desktop application would give it to ``op``."""

    email: str = "me@lab.firstlight.dev"
    signed_in: bool = True


class DeclaredVaults(_Struct, frozen=True):
    """The whole file."""

    vaults: tuple[DeclaredVault, ...] = ()
    service_accounts: tuple[DeclaredToken, ...] = ()
    connect_tokens: tuple[DeclaredToken, ...] = ()
    user: DeclaredUser | None = None
    url: str = "https://lab-standin.1password.invalid"


def load_vaults(path: Path) -> DeclaredVaults:
    """Read the file.

    Raises:
        errors.ConfigError: It is not there, others may read it, or something in it is wrong; no value is quoted.
    """
    try:
        with path.open() as file:
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & 0o077:
                raise errors.ConfigError(
                    f"others may read it (mode {mode:04o})", path=str(path), hint=f"Run: chmod 600 {path}"
                )
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.ConfigError(
            f"cannot be read: {error}", path=str(path), hint="docs/lab.md says what it looks like."
        ) from error
    try:
        if line := yaml_values.too_deep(text):
            raise errors.ConfigError(f"nested deeper than {yaml_values.DEPTH_LIMIT} levels", path=str(path), line=line)
        return msgspec.convert(yaml.load(text, Loader=yaml.CSafeLoader) or {}, DeclaredVaults)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise errors.ConfigError("is no YAML", path=str(path), line=line) from None  # the parser would quote a value
    except yaml.YAMLError:
        raise errors.ConfigError("is no YAML", path=str(path)) from None
    except msgspec.ValidationError as error:
        raise errors.ConfigError(str(error), path=str(path)) from None


def declared_vaults(declared: DeclaredVaults) -> tuple[StandinVault, ...]:
    """The vaults with every id filled in; an id that is not declared follows from the names."""
    return tuple(_vault(vault) for vault in declared.vaults)


def visible_vaults(declared: DeclaredVaults, allowed: tuple[str, ...]) -> tuple[StandinVault, ...]:
    """What a token may see: the vaults that it names, by name or id; all if it names none."""
    return tuple(
        each for each in declared_vaults(declared) if not allowed or each.name in allowed or each.id in allowed
    )


def made_id(*names: str) -> str:
    """26 letters and digits, always the same for the same names."""
    digest = hashlib.sha256("\0".join(names).encode()).digest()
    return base64.b32encode(digest).decode().lower()[:26]


def _vault(declared: DeclaredVault) -> StandinVault:
    identifier = declared.id or made_id("vault", declared.name)
    counts: dict[str, int] = {}
    items = []
    for item in declared.items:
        number = counts[item.title] = counts.get(item.title, 0) + 1
        items.append(_item(item, item.id or made_id("item", identifier, item.title, str(number))))
    return StandinVault(identifier, declared.name, declared.description, tuple(items))


def _item(declared: DeclaredItem, identifier: str) -> VaultItem:
    pairs = declared.fields
    fields = tuple(DeclaredField(label, value) for label, value in pairs.items()) if isinstance(pairs, dict) else pairs
    every: tuple[DeclaredField | DeclaredAttachment, ...] = (*fields, *declared.files)
    labels = dict.fromkeys(each.section for each in every if each.section)
    sections = {label: VaultSection(made_id("section", identifier, label), label) for label in labels}
    return VaultItem(
        id=identifier, title=declared.title, category=declared.category, tags=declared.tags,
        created=declared.created, updated=declared.updated, version=declared.version,
        sections=tuple(sections.values()),
        fields=tuple(_field(each, identifier, sections.get(each.section)) for each in fields),
        files=tuple(
            VaultAttachment(
                each.id or made_id("file", identifier, each.section, each.name), each.name, each.content.encode(),
                sections.get(each.section),
            )
            for each in declared.files
        ),
    )  # fmt: skip


def _field(declared: DeclaredField, item: str, section: VaultSection | None) -> VaultField:
    purpose: Purpose = "" if section else PURPOSES.get(declared.label, "")
    own = declared.label if purpose else made_id("field", item, declared.section, declared.label)
    usual: Literal["STRING", "CONCEALED"] = "STRING" if purpose in {"USERNAME", "NOTES"} else "CONCEALED"
    return VaultField(declared.id or own, declared.label, declared.value, declared.type or usual, purpose, section)
