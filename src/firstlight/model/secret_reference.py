"""References of firstlight.yaml: where a secret value is, never the value itself.

A text that is no reference may be a secret that somebody pasted in its place, so no message repeats it.
"""

import dataclasses
import re

from firstlight import errors

FORMS = "op://vault/item/field, sops:FILE#key, vault:PATH#key, env:NAME or file:PATH"
_SCHEME = re.compile(r"(?P<scheme>op|sops|vault|env|file):(?P<rest>.*)", re.DOTALL)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OP_FORBIDDEN = re.compile(r"[^A-Za-z0-9_. -]")
"""What op does not take in the parts of a reference; such items are named by their ids."""
_LONGEST = 1024


@dataclasses.dataclass(frozen=True, slots=True)
class OnePasswordReference:
    """A field, or a file, of a 1Password item."""

    vault: str
    item: str
    field: str
    section: str = ""
    attribute: str = ""
    """``otp``, ``private-key`` …: what follows ``?attribute=``."""

    def __str__(self) -> str:
        path = "/".join(each for each in (self.vault, self.item, self.section, self.field) if each)
        return f"op://{path}" + (f"?attribute={self.attribute}" if self.attribute else "")


@dataclasses.dataclass(frozen=True, slots=True)
class SopsReference:
    """A value in a file that sops encrypted, or all of it."""

    path: str
    """Relative to the repo."""
    key: str = ""
    """Dotted; empty for the whole decrypted file."""

    def __str__(self) -> str:
        return f"sops:{self.path}" + (f"#{self.key}" if self.key else "")


@dataclasses.dataclass(frozen=True, slots=True)
class VaultReference:
    """A key of a secret in Vault's KV engine."""

    path: str
    """With the mount, without ``data/``: ``secret/home/cloudflare``."""
    key: str

    def __str__(self) -> str:
        return f"vault:{self.path}#{self.key}"


@dataclasses.dataclass(frozen=True, slots=True)
class EnvironmentReference:
    """A variable of the environment."""

    name: str

    def __str__(self) -> str:
        return f"env:{self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class FileReference:
    """A file: in the repo, or, with ``/`` or ``~/`` in front, anywhere."""

    path: str

    @property
    def is_outside(self) -> bool:
        """Whether it names a file by its whole path."""
        return self.path.startswith(("/", "~"))

    def __str__(self) -> str:
        return f"file:{self.path}"


Reference = OnePasswordReference | SopsReference | VaultReference | EnvironmentReference | FileReference


def parse(text: str) -> Reference:
    """A reference in its parts.

    Raises:
        errors.UsageError: It is none.
    """
    match = _SCHEME.fullmatch(text)
    if match is None:
        raise errors.UsageError("this is no reference", hint=f"write {FORMS}")
    scheme, rest = match["scheme"], match["rest"]
    if len(text) > _LONGEST or not text.isprintable():
        raise _refused(scheme, "is too long, or has letters that cannot be printed", _FORMS[scheme])
    if not rest.strip() or rest != rest.strip():
        raise _refused(scheme, "names nothing, or has spaces at an end", _FORMS[scheme])
    match scheme:
        case "op":
            return _one_password(rest)
        case "sops":
            return _sops(rest)
        case "vault":
            return _vault(rest)
        case "env":
            if not _VARIABLE.fullmatch(rest):
                raise _refused(scheme, "does not name a variable", _FORMS[scheme])
            return EnvironmentReference(rest)
        case _:
            return _file(rest)


_FORMS = {
    "op": "write op://vault/item/field or op://vault/item/section/field",
    "sops": "write sops:FILE#key, or sops:FILE for all of it",
    "vault": "write vault:MOUNT/PATH#key",
    "env": "write env:NAME, with letters, digits and _",
    "file": "write file:PATH with a path in the repo, or one that begins with / or ~/",
}


def _one_password(rest: str) -> OnePasswordReference:
    if not rest.startswith("//"):
        raise _refused("op", "has no // after its colon", _FORMS["op"])
    path, _, query = rest.removeprefix("//").partition("?")
    parts = path.split("/")
    if not all(parts) or len(parts) not in (3, 4):
        few = "not all of vault, item and field" if len(parts) < 4 else "more than vault, item, section and field"
        raise _refused("op", f"has {few}", _FORMS["op"])
    if any(_OP_FORBIDDEN.search(each) for each in parts):
        hint = "write the id of the vault, item or field whose name has other letters than A-Z a-z 0-9 - _ . and space"
        raise _refused("op", "has letters that op does not take", hint)
    attribute = ""
    if query:
        name, _, attribute = query.partition("=")
        if name not in ("attribute", "attr") or not re.fullmatch(r"[a-z-]+", attribute):
            raise _refused("op", "has an unknown part after ?", "write ?attribute=otp, or leave it out")
    section = parts[2] if len(parts) == 4 else ""
    return OnePasswordReference(parts[0], parts[1], parts[-1], section, attribute)


def _sops(rest: str) -> SopsReference:
    path, separator, key = rest.partition("#")
    if separator and not key.strip("."):
        raise _refused("sops", "has no key after #", _FORMS["sops"])
    _inside("sops", path)
    return SopsReference(_plain(path), key)


def _vault(rest: str) -> VaultReference:
    path, _, key = rest.partition("#")
    parts = path.strip("/").split("/")
    if not key or len(parts) < 2 or any(each in ("", ".", "..") for each in parts):
        raise _refused("vault", "does not name a mount, a path and a key", _FORMS["vault"])
    if "?" in path or "%" in path:
        raise _refused("vault", "has ? or % in its path", _FORMS["vault"])
    return VaultReference("/".join(parts), key)


def _file(rest: str) -> FileReference:
    if rest.startswith("~") and not rest.startswith("~/"):
        raise _refused("file", "names the home of somebody else", _FORMS["file"])
    if rest.startswith(("/", "~/")):
        return FileReference(rest)
    _inside("file", rest)
    return FileReference(_plain(rest))


def _inside(scheme: str, path: str) -> None:
    parts = path.split("/")
    if not path or path.startswith(("/", "~")) or ".." in parts or not any(each not in ("", ".") for each in parts):
        raise _refused(scheme, "does not name a file in the repo", _FORMS[scheme])


def _plain(path: str) -> str:
    return "/".join(each for each in path.split("/") if each not in ("", "."))


def _refused(scheme: str, what: str, hint: str) -> errors.UsageError:
    return errors.UsageError(f"a reference of {scheme}: {what}", hint=hint)
