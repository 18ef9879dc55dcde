"""What determines a binary, as a hash.

A *recipe* is everything that firstlight decides: sources, package, flags, target. A *key* adds what else made
the binary, the version of Go or the checksum of a download, and names the directory in the cache. A cached
binary serves if its recipe is the present one: a newer Go on PATH is no reason to compile for ten minutes.
"""

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from firstlight.tools import catalogue, content_entry, sources, target

_LENGTH = 16
"""Hexadecimal digits: enough against accidents, and short enough for a path that people read."""

_FINISH = "1"
"""Another number for a change in how charts and manifests are finished that changes what comes out."""


def build_recipe(
    module: sources.Module, build: catalogue.Build, *, flags: Sequence[str], machine: target.Target
) -> str:
    """The recipe of a binary built from a module."""
    parts: list[bytes | str] = ["build", build.package, machine.system, machine.machine, *flags]
    for name, content in module.files:
        parts += [name, content]
    if build.copy is not None:
        parts += ["copy", build.copy.to, build.copy.sum]
    return _digest(parts)


def download_recipe(tool: catalogue.Tool, *, machine: target.Target) -> str:
    """The recipe of a binary that its project published; the host it came from does not matter, its hash does."""
    pinned = tool.download.pinned(machine.system, machine.machine) if tool.download is not None else ""
    return _digest(["download", tool.name, tool.version, machine.system, machine.machine, pinned])


def content_recipe(content: content_entry.Content, *, files: Sequence[tuple[str, bytes]]) -> str:
    """The recipe of content: its modules, what is taken and how it is finished; ``files`` are those of its recipe."""
    said = dataclasses.replace(content, summary="", used_by=(), sets=())
    parts: list[bytes | str] = ["content", _FINISH, msgspec.json.encode(said, order="deterministic")]
    for name, text in files:
        parts += [name, text]
    return _digest(parts)


def of(recipe: str, contribution: str) -> str:
    """The key of a binary: its recipe and what the machine contributed."""
    return _digest([recipe, contribution])


def _digest(parts: Iterable[bytes | str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        # With lengths, or ("ab", "c") and ("a", "bc") would be the same.
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()[:_LENGTH]
