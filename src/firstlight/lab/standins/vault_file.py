"""The file that declares the vaults, ``LAB/standins/vault.yaml``: read anew at every question, by its owner alone."""

import base64
import hashlib
import stat
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import yaml

from firstlight import errors
from firstlight.document import depth
from firstlight.lab.standins import vaults
from firstlight.model.secret import MASK

NAME = "vault.yaml"
CREATED = "2024-01-01T00:00:00Z"
"""When everything was made, if nothing else is declared."""
PURPOSES: dict[str, vaults.Purpose] = {"username": "USERNAME", "password": "PASSWORD", "notesPlain": "NOTES"}
"""Fields of the categories' own, whose ids are their labels."""
Id = Annotated[str, msgspec.Meta(pattern="^([a-z0-9]{26})?$")]
Text = Annotated[str, msgspec.Meta(min_length=1)]


class _Struct(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What all declarations share."""


class Field(_Struct, frozen=True):
    """A field; the value is not shown when it is printed."""

    label: Text
    value: str = ""
    type: vaults.FieldType | None = None
    """Concealed if it is left out, unless it is a user name or a note."""
    section: str = ""
    id: str = ""

    def __repr__(self) -> str:
        return f"Field({self.label!r}, {MASK})"


class File(_Struct, frozen=True):
    """An attached file."""

    name: Text
    content: str = ""
    section: str = ""
    id: Id = ""

    def __repr__(self) -> str:
        return f"File({self.name!r}, {MASK})"


class Item(_Struct, frozen=True):
    """An item."""

    title: Text
    category: Annotated[str, msgspec.Meta(pattern="^[A-Z_]+$")] = "LOGIN"
    fields: tuple[Field, ...] | dict[str, str] = ()
    files: tuple[File, ...] = ()
    tags: tuple[str, ...] = ()
    id: Id = ""
    created: str = CREATED
    updated: str = CREATED
    version: int = 1


class Vault(_Struct, frozen=True):
    """A vault."""

    name: Text
    items: tuple[Item, ...] = ()
    description: str = ""
    id: Id = ""


class Token(_Struct, frozen=True):
    """A token, of a service account or of Connect, and what it may see: everything, unless vaults are named."""

    token: Text
    vaults: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Token({MASK}, vaults={self.vaults!r})"


class User(_Struct, frozen=True):
    """A person's account on this machine, as the desktop application would give it to ``op``."""

    email: str = "me@lab.firstlight.dev"
    signed_in: bool = True


class Declared(_Struct, frozen=True):
    """The whole file."""

    vaults: tuple[Vault, ...] = ()
    service_accounts: tuple[Token, ...] = ()
    connect_tokens: tuple[Token, ...] = ()
    user: User | None = None
    url: str = "https://lab-standin.1password.invalid"


def load(path: Path) -> Declared:
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
        if line := depth.too_deep(text):
            raise errors.ConfigError(f"nested deeper than {depth.LIMIT} levels", path=str(path), line=line)
        return msgspec.convert(yaml.load(text, Loader=yaml.CSafeLoader) or {}, Declared)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise errors.ConfigError("is no YAML", path=str(path), line=line) from None  # the parser would quote a value
    except yaml.YAMLError:
        raise errors.ConfigError("is no YAML", path=str(path)) from None
    except msgspec.ValidationError as error:
        raise errors.ConfigError(str(error), path=str(path)) from None


def contents(declared: Declared) -> tuple[vaults.Vault, ...]:
    """The vaults with every id filled in; an id that is not declared follows from the names."""
    return tuple(_vault(vault) for vault in declared.vaults)


def visible(declared: Declared, allowed: tuple[str, ...]) -> tuple[vaults.Vault, ...]:
    """What a token may see: the vaults that it names, by name or id; all if it names none."""
    return tuple(each for each in contents(declared) if not allowed or each.name in allowed or each.id in allowed)


def made_id(*names: str) -> str:
    """26 letters and digits, always the same for the same names."""
    digest = hashlib.sha256("\0".join(names).encode()).digest()
    return base64.b32encode(digest).decode().lower()[:26]


def _vault(declared: Vault) -> vaults.Vault:
    identifier = declared.id or made_id("vault", declared.name)
    counts: dict[str, int] = {}
    items = []
    for item in declared.items:
        number = counts[item.title] = counts.get(item.title, 0) + 1
        items.append(_item(item, item.id or made_id("item", identifier, item.title, str(number))))
    return vaults.Vault(identifier, declared.name, declared.description, tuple(items))


def _item(declared: Item, identifier: str) -> vaults.Item:
    pairs = declared.fields
    fields = tuple(Field(label, value) for label, value in pairs.items()) if isinstance(pairs, dict) else pairs
    every: tuple[Field | File, ...] = (*fields, *declared.files)
    labels = dict.fromkeys(each.section for each in every if each.section)
    sections = {label: vaults.Section(made_id("section", identifier, label), label) for label in labels}
    return vaults.Item(
        id=identifier, title=declared.title, category=declared.category, tags=declared.tags,
        created=declared.created, updated=declared.updated, version=declared.version,
        sections=tuple(sections.values()),
        fields=tuple(_field(each, identifier, sections.get(each.section)) for each in fields),
        files=tuple(
            vaults.File(
                each.id or made_id("file", identifier, each.section, each.name), each.name, each.content.encode(),
                sections.get(each.section),
            )
            for each in declared.files
        ),
    )  # fmt: skip


def _field(declared: Field, item: str, section: vaults.Section | None) -> vaults.Field:
    purpose: vaults.Purpose = "" if section else PURPOSES.get(declared.label, "")
    own = declared.label if purpose else made_id("field", item, declared.section, declared.label)
    usual: Literal["STRING", "CONCEALED"] = "STRING" if purpose in {"USERNAME", "NOTES"} else "CONCEALED"
    return vaults.Field(declared.id or own, declared.label, declared.value, declared.type or usual, purpose, section)
