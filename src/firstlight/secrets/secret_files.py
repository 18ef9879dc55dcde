"""Files that references name: of the repo and not beyond it, or wherever the user says."""

import base64
import binascii
import json
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients import secret_errors
from firstlight.document import yaml_reader
from firstlight.model.secret import Secret
from firstlight.model.secret_reference import FileReference, Reference, SopsReference

SIZE = 8 << 20
"""Bytes of the largest file that is read: Kubernetes takes 1 MiB in a Secret."""


def locate(reference: FileReference | SopsReference, root: Path, *, environ: Mapping[str, str]) -> Path:
    """Where the file of a reference is.

    Raises:
        errors.Refused: It is said to be in the repo, and a link leads out of it.
        problems.NoSuchFile: It begins with ~, and there is no home.
    """
    if isinstance(reference, FileReference) and reference.is_outside:
        if reference.path.startswith("/"):
            return Path(reference.path)
        home = environ.get("HOME", "")
        if not home:
            raise secret_errors.SecretFileNotFound(
                "file", str(reference), "HOME is not set", hint="write the whole path"
            )
        return Path(home) / reference.path.removeprefix("~/")
    path = root / reference.path
    refuse_outside(path, root, reference)
    return path


def refuse_outside(path: Path, root: Path, about: Reference | str) -> None:
    """See that a path of the repo does not lead out of it.

    Raises:
        errors.Refused: It does.
    """
    if not path.resolve().is_relative_to(root.resolve()):
        raise errors.Refused(f"{about}: a link leads out of the repo", hint="put the file itself there")


def read_secret_file(path: Path, reference: FileReference) -> Secret:
    """The content of a file, as it is.

    Raises:
        problems.NoSuchFile: It is not there.
        problems.Unreadable: It is no file, too large, or may not be read.
    """
    about = str(reference)
    try:
        # A pipe that nobody writes to would be waited for.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise secret_errors.SecretFileNotFound("file", about, "there is no such file") from None
    except OSError as error:
        raise secret_errors.SecretUnreadable("file", about, f"it cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise secret_errors.SecretUnreadable("file", about, "it is no regular file")
    with os.fdopen(fd, "rb") as file:
        content = file.read(SIZE + 1)
    if len(content) > SIZE:
        raise secret_errors.SecretUnreadable("file", about, f"it has more than {SIZE >> 20} MiB")
    return Secret(content)


# One value out of what sops decrypted, by a dotted key.
#
# Keys may have dots themselves, as those of Kubernetes Secrets do: ``stringData.age.agekey`` finds ``age.agekey`` in
# ``stringData``. The longest key that fits wins.


_MISSING = object()
_LISTED = 8


def is_structured(path: Path) -> bool:
    """Whether a file can have keys; all others are one value."""
    return path.suffix in (".yaml", ".yml", ".json", ".env", ".ini")


def needs_json(path: Path) -> bool:
    """Whether sops must turn it into JSON to be read here."""
    return path.suffix in (".env", ".ini")


def value_of_key(content: Secret, reference: SopsReference) -> Secret:
    """The value of a key.

    Raises:
        problems.NotFound: There is no such key.
        problems.Unreadable: It is no text, or the content cannot be read.
    """
    found, document = find_key(_documents(content, reference), reference.key)
    about = str(reference)
    if found is _MISSING:
        keys = ", ".join(sorted(str(each) for each in document)[:_LISTED]) if isinstance(document, dict) else ""
        hint = f"on its highest level it has: {keys}" if keys else ""
        raise secret_errors.SecretNotFound("sops", about, "the file has no such key", hint=hint)
    if isinstance(found, dict | list):
        what = "the key holds a mapping or a list, and no text"
        raise secret_errors.SecretUnreadable(
            "sops", about, what, hint="name a key in it, or leave out #key for the whole file"
        )
    if _is_data_of_secret(document, reference.key):
        return _decoded(found, about)
    return Secret(scalar_text(found))


def find_key(documents: Sequence[Any], key: str) -> tuple[Any, Any]:
    """The value of a key and the document that has it; the first document if none does."""
    for each in documents:
        found = _step(each, key.split("."))
        if found is not _MISSING:
            return found, each
    return _MISSING, documents[0] if documents else None


def is_missing(found: Any) -> bool:
    """Whether ``find`` found nothing."""
    return found is _MISSING


def scalar_text(found: Any) -> str:
    """A scalar as text: ``true``, ``5432``."""
    if found is None:
        return ""
    return found if isinstance(found, str) else json.dumps(found)


def _documents(content: Secret, reference: SopsReference) -> list[Any]:
    try:
        return yaml_reader.load_all(content.reveal())
    except ValueError as error:
        # Its message may quote the content.
        _, line = yaml_reader.problem_of(error)
        what = "what it decrypts to is no YAML" + (f" (line {line})" if line else "")
        raise secret_errors.SecretUnreadable("sops", str(reference), what) from None


def _step(value: Any, steps: list[str]) -> Any:
    if not steps:
        return value
    if isinstance(value, list):
        is_index = steps[0].isdecimal() and int(steps[0]) < len(value)
        return _step(value[int(steps[0])], steps[1:]) if is_index else _MISSING
    if not isinstance(value, dict):
        return _MISSING
    for count in range(len(steps), 0, -1):
        name = ".".join(steps[:count])
        if name in value:
            found = _step(value[name], steps[count:])
            if found is not _MISSING:
                return found
    return _MISSING


def _is_data_of_secret(document: Any, key: str) -> bool:
    """Whether a key is among ``data`` of a Kubernetes Secret, whose values are in base64."""
    is_secret = isinstance(document, dict) and (document.get("apiVersion"), document.get("kind")) == ("v1", "Secret")
    return is_secret and key.startswith("data.")


def _decoded(found: Any, about: str) -> Secret:
    try:
        return Secret(base64.b64decode(scalar_text(found), validate=True))
    except binascii.Error:
        raise secret_errors.SecretUnreadable(
            "sops", about, "data of a Secret must be base64, and this is not"
        ) from None
