"""Schematics of the image factory: their ids, computed here as the factory does, and the installer images that follow.

An id is the SHA-256 of a schematic as Go writes it. The factory must have seen the schematic once before it serves the
image; firstlight asks nobody.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from firstlight.model import talos_names, versions

INSTALLER = "ghcr.io/siderolabs/installer"
"""The image without extensions that was published until Talos 1.13."""

_ORDER = {
    "": ("overlay", "customization"),
    "overlay": ("image", "name"),
    "customization": ("extraKernelArgs", "systemExtensions", "secureboot"),
    "systemExtensions": ("officialExtensions",),
    "secureboot": ("includeWellKnownCertificates",),
}
"""The fields in the order in which Go writes them; others make the id unknown here."""
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9._/@=,:+-]*[A-Za-z0-9=/]|-[a-z][A-Za-z0-9._=]*")
"""What Go writes without quotes for certain."""
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def identify(schematic: Mapping[str, Any]) -> str | None:
    """The id of a schematic; None where only the factory can tell."""
    lines = _lines(schematic, "", 0)
    if lines is None:
        return None
    if not any(each.startswith("customization:") for each in lines):
        lines.append("customization: {}")
    return hashlib.sha256(("\n".join(lines) + "\n").encode()).hexdigest()


def installer(id: str, version: str, *, factory: str = talos_names.IMAGE_FACTORY, is_secure: bool = False) -> str:
    """The installer image of a schematic."""
    return f"{factory}/installer{'-secureboot' if is_secure else ''}/{id}:v{version.removeprefix('v')}"


def plain_installer(version: str, *, factory: str = talos_names.IMAGE_FACTORY) -> str:
    """The installer image of Talos without extensions: from 1.14 on only the factory has it."""
    number = version.removeprefix("v")
    line = versions.minor(number)
    if line is not None and line >= (1, 14):
        return f"{factory}/metal-installer/{identify({})}:v{number}"
    return f"{INSTALLER}:v{number}"


def _lines(value: Mapping[str, Any], name: str, column: int) -> list[str] | None:
    """A mapping as Go's encoder writes it, with four columns a step; empty values are left out."""
    known = _ORDER[name]
    if any(key not in known for key, each in value.items() if each not in (None, "", [], {}, False)):
        return None
    found: list[str] = []
    indent = " " * column
    for key in known:
        each = value.get(key)
        if each in (None, "", [], {}, False):
            continue
        if isinstance(each, Mapping) and key in _ORDER:
            inner = _lines(each, key, column + 4)
            if inner is None:
                return None
            found += [f"{indent}{key}:", *inner] if inner else []
        elif isinstance(each, list):
            if not all(_is_plain(item) for item in each):
                return None
            found += [f"{indent}{key}:", *(f"{indent}    - {item}" for item in each)]
        elif each is True or _is_plain(each):
            found.append(f"{indent}{key}: {'true' if each is True else each}")
        else:
            return None
    return found


def _is_plain(value: Any) -> bool:
    if not isinstance(value, str) or not _PLAIN.fullmatch(value) or len(value) > 70:
        return False
    return value.lower() not in _WORDS and ": " not in value and not value.endswith(":")
