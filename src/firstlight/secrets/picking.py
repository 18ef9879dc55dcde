"""One value out of what sops decrypted, by a dotted key.

Keys may have dots themselves, as those of Kubernetes Secrets do: ``stringData.age.agekey`` finds ``age.agekey`` in
``stringData``. The longest key that fits wins.
"""

import base64
import binascii
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from firstlight.clients import safe_yaml
from firstlight.clients import secret_errors as problems
from firstlight.model.reference import Sops
from firstlight.model.secret import Secret

_MISSING = object()
_LISTED = 8


def is_structured(path: Path) -> bool:
    """Whether a file can have keys; all others are one value."""
    return path.suffix in (".yaml", ".yml", ".json", ".env", ".ini")


def needs_json(path: Path) -> bool:
    """Whether sops must turn it into JSON to be read here."""
    return path.suffix in (".env", ".ini")


def value(content: Secret, reference: Sops) -> Secret:
    """The value of a key.

    Raises:
        problems.NotFound: There is no such key.
        problems.Unreadable: It is no text, or the content cannot be read.
    """
    found, document = find(_documents(content, reference), reference.key)
    about = str(reference)
    if found is _MISSING:
        keys = ", ".join(sorted(str(each) for each in document)[:_LISTED]) if isinstance(document, dict) else ""
        hint = f"on its highest level it has: {keys}" if keys else ""
        raise problems.NotFound("sops", about, "the file has no such key", hint=hint)
    if isinstance(found, dict | list):
        what = "the key holds a mapping or a list, and no text"
        raise problems.Unreadable("sops", about, what, hint="name a key in it, or leave out #key for the whole file")
    if _is_data_of_secret(document, reference.key):
        return _decoded(found, about)
    return Secret(text(found))


def find(documents: Sequence[Any], key: str) -> tuple[Any, Any]:
    """The value of a key and the document that has it; the first document if none does."""
    for each in documents:
        found = _step(each, key.split("."))
        if found is not _MISSING:
            return found, each
    return _MISSING, documents[0] if documents else None


def is_missing(found: Any) -> bool:
    """Whether ``find`` found nothing."""
    return found is _MISSING


def text(found: Any) -> str:
    """A scalar as text: ``true``, ``5432``."""
    if found is None:
        return ""
    return found if isinstance(found, str) else json.dumps(found)


def _documents(content: Secret, reference: Sops) -> list[Any]:
    try:
        return safe_yaml.load_all(content.reveal())
    except ValueError as error:
        # Its message may quote the content.
        _, line = safe_yaml.problem_of(error)
        what = "what it decrypts to is no YAML" + (f" (line {line})" if line else "")
        raise problems.Unreadable("sops", str(reference), what) from None


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
        return Secret(base64.b64decode(text(found), validate=True))
    except binascii.Error:
        raise problems.Unreadable("sops", about, "data of a Secret must be base64, and this is not") from None
