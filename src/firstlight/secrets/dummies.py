"""Values for rehearsals: made up, always the same, and of the kind that the name of a key promises. Nobody is asked.

An encrypted file in the repo shows its keys, and so a rehearsal still finds that one is missing.
"""

import asyncio
import re
from pathlib import Path, PurePosixPath
from typing import Any

from firstlight.clients import safe_yaml
from firstlight.clients import secret_errors as problems
from firstlight.document import writing
from firstlight.model import reference as references
from firstlight.model.secret import Secret
from firstlight.secrets import dummy_values, files, picking

_ENCRYPTED = re.compile(r"ENC\[AES256_GCM,.*,type:(?P<type>\w+)\]")
_TYPED: dict[str, Any] = {"int": 1, "float": 1.5, "bool": False}


class Dummies:
    """In the place of a ``Resolver``; also callable, as ``World.resolve`` is."""

    def __init__(self, root: Path | None = None) -> None:
        """Prepare.

        Args:
            root: The repo, if the keys of its encrypted files are to be looked at.
        """
        self._root = root

    async def resolve(self, reference: str) -> Secret:
        """A dummy for a reference.

        Raises:
            errors.UsageError: It is no reference.
            problems.NotFound: It names a file of the repo, or a key in one, that is not there.
        """
        parsed = references.parse(reference)
        if isinstance(parsed, references.Sops) and self._root is not None:
            path = files.locate(parsed, self._root, environ={})
            return await asyncio.to_thread(_of_file, path, parsed)
        return dummy_values.make(_name(parsed), base=_base(parsed))

    __call__ = resolve

    async def close(self) -> None:
        """Nothing is open."""


def _name(reference: references.Reference) -> str:
    """What the value is called: the last part of a reference, and a little of what stands before it."""
    match reference:
        case references.OnePassword():
            return f"{reference.item}/{reference.field}"
        case references.Sops():
            return reference.key or PurePosixPath(reference.path).name.replace(".sops.", ".")
        case references.Vault():
            return f"{PurePosixPath(reference.path).name}/{reference.key}"
        case references.Environment():
            return reference.name
        case references.File():
            return PurePosixPath(reference.path).name


def _base(reference: references.Reference) -> str:
    """What belongs together: a certificate and its key, a key and its public half."""
    match reference:
        case references.OnePassword():
            return f"op://{reference.vault}/{reference.item}"
        case references.Sops():
            return f"sops:{reference.path}#{reference.key.rpartition('.')[0] if '.' in reference.key else ''}"
        case references.Vault():
            return f"vault:{reference.path}"
        case references.Environment():
            return f"env:{reference.name.partition('_')[0]}"
        case references.File():
            return f"file:{PurePosixPath(reference.path).parent}"


def _of_file(path: Path, reference: references.Sops) -> Secret:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise problems.NoSuchFile("sops", str(reference), "there is no such file") from None
    except OSError as error:
        raise problems.Unreadable("sops", str(reference), f"it cannot be read: {error.strerror}") from None
    if path.suffix not in (".yaml", ".yml", ".json"):
        return dummy_values.make(_name(reference), base=_base(reference))
    try:
        documents = [_replaced(each, reference.path, "") for each in safe_yaml.load_all(data)]
    except ValueError:
        raise problems.Unreadable("sops", str(reference), "it is no YAML") from None
    if not reference.key:
        return Secret(writing.dump_all([each for each in documents if each is not None]))
    found, _ = picking.find(documents, reference.key)
    if picking.is_missing(found):
        raise problems.NotFound("sops", str(reference), "the file has no such key")
    if isinstance(found, dict | list):
        raise problems.Unreadable("sops", str(reference), "the key holds a mapping or a list, and no text")
    return Secret(picking.text(found))


def _replaced(value: Any, path: str, key: str) -> Any:
    """A document without what sops added, and with dummies for what it encrypted."""
    if isinstance(value, dict):
        return {
            name: _replaced(each, path, f"{key}.{name}" if key else str(name))
            for name, each in value.items()
            if key or name != "sops"
        }
    if isinstance(value, list):
        return [_replaced(each, path, f"{key}.{index}") for index, each in enumerate(value)]
    match = _ENCRYPTED.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    if match["type"] in _TYPED:
        return _TYPED[match["type"]]
    made = dummy_values.make(key, base=_base(references.Sops(path, key)))
    return made.reveal().decode()
