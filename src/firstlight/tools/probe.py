"""Asking a program for its version, and remembering the answer for as long as the file is the same."""

import dataclasses
import hashlib
import os
import re
import tempfile
from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.clients import command
from firstlight.clients.sandbox import limits
from firstlight.tools import catalogue, workshop

_TIMEOUT = 20
"""Seconds. The slowest answer seen was 0.4 s; a busy machine with cold disks may need many times that."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """The version that a program told, or why it did not."""

    version: str
    problem: str = ""


@dataclasses.dataclass(frozen=True)
class _Remembered:
    path: str
    modified: int
    size: int
    question: str
    version: str


async def ask(path: Path, tool: catalogue.Tool, shop: workshop.Workshop) -> Answer:
    """The version of the program at ``path``; from memory if the file has not changed."""
    if not tool.ask:
        return Answer("")
    status = path.stat()
    question = f"{' '.join(tool.ask)} {tool.answer}"
    note = shop.cache.versions / hashlib.sha256(str(path).encode()).hexdigest()[:16]
    remembered = _recall(note)
    if remembered is not None and dataclasses.replace(remembered, version="") == _Remembered(
        str(path), status.st_mtime_ns, status.st_size, question, ""
    ):
        return Answer(remembered.version)
    answer = await ask_now(path, tool, shop)
    if answer.version:
        _remember(note, _Remembered(str(path), status.st_mtime_ns, status.st_size, question, answer.version))
    return answer


async def ask_now(path: Path, tool: catalogue.Tool, shop: workshop.Workshop) -> Answer:
    """The version of the program at ``path``, asked in any case."""
    try:
        # Away from the working directory, where some look for settings of a project.
        completed = await command.run(
            [str(path), *tool.ask],
            env=shop.environ,
            cwd=Path("/"),
            timeout=_TIMEOUT,
            check=False,
            within=limits.READER,
        )
    except (errors.ClientError, OSError) as error:
        return Answer("", f"it does not run: {error}")
    printed = completed.stdout.decode(errors="replace") + completed.stderr
    match = re.search(tool.answer, printed)
    if match is None:
        return Answer("", f"it does not tell its version when asked with {' '.join(tool.ask)}")
    return Answer(match[1])


def _recall(note: Path) -> _Remembered | None:
    try:
        return msgspec.json.decode(note.read_bytes(), type=_Remembered)
    except (OSError, msgspec.DecodeError):
        return None


def _remember(note: Path, remembered: _Remembered) -> None:
    # A cache that cannot be written only makes the next listing slower.
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(dir=note.parent)
        with os.fdopen(fd, "wb") as file:
            file.write(msgspec.json.encode(remembered))
        Path(name).replace(note)
    except OSError:
        return
