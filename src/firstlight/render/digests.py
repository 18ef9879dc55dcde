"""Hashes by which content is known again."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder(order="deterministic", enc_hook=lambda value: _plain(value))


def of_bytes(data: bytes) -> str:
    """The SHA-256 of a content."""
    return hashlib.sha256(data).hexdigest()


def of_value(value: Any) -> str:
    """The SHA-256 of plain data, whatever the order of its keys."""
    return of_bytes(_ENCODER.encode(value))


def of_files(files: Mapping[str, bytes]) -> str:
    """The SHA-256 of files with their names; each has its length before it, so that no two sets look the same."""
    made = hashlib.sha256()
    for path, content in sorted(files.items()):
        name = path.encode(errors="surrogateescape")
        made.update(b"%d %d\n" % (len(name), len(content)))
        made.update(name)
        made.update(content)
    return made.hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be hashed")
