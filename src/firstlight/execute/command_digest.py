"""What a command of a repo is, by content: its words, and every file of the repo that one of them names."""

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from firstlight import errors

LARGEST = 64 * 1024 * 1024
"""Bytes that one command may name: a script and what it applies, not a disk image."""
MOST = 2000
"""Files that one command may name."""
_LEFT_OUT = {".git", ".firstlight"}
"""What changes with every run, and is nobody's script."""


@dataclasses.dataclass(frozen=True, slots=True)
class Digest:
    """The content of a command."""

    value: str
    """``sha256:`` and 64 digits."""
    files: tuple[str, ...] = ()
    """The files of the repo that count, from its top."""


def digest(words: Sequence[str], root: Path) -> Digest:
    """The digest of a command: another word, or another byte in a file that it names, makes another one.

    What a script reads by itself is not known; only what the words name counts.

    Raises:
        errors.Refused: It names more than anybody could look at.
    """
    files = sorted({found for word in words for found in _named(word, root)})
    left = LARGEST
    contents = []
    for file in files:
        try:
            left -= (root / file).stat().st_size
            if left < 0 or len(files) > MOST:
                raise errors.Refused(
                    f"the command {words[0]} names {len(files)} files, too many or too large to be allowed by content",
                    hint="Name the files that it needs, not the directory of everything.",
                )
            contents.append([file, hashlib.sha256((root / file).read_bytes()).hexdigest()])
        except OSError as error:
            raise errors.Refused(f"the command {words[0]} names {file}, which cannot be read: {error}") from error
    told = json.dumps(["firstlight command 1", list(words), contents])
    return Digest(f"sha256:{hashlib.sha256(told.encode()).hexdigest()}", tuple(files))


def _named(word: str, root: Path) -> Iterator[str]:
    """The files that a word names, as ``--values=FILE`` does, too; those below it if it is a directory."""
    top = os.path.abspath(root)
    for text in {word, word.partition("=")[2]}:
        if not text or "\0" in text:
            continue
        path = os.path.normpath(os.path.join(top, text))
        if path != top and not path.startswith(f"{top}{os.sep}"):
            continue
        if os.path.isfile(path):
            yield os.path.relpath(path, top)
        elif os.path.isdir(path):
            yield from _below(path, top)


def _below(path: str, top: str) -> Iterator[str]:
    for directory, inner, names in os.walk(path):
        inner[:] = [each for each in inner if each not in _LEFT_OUT]
        for name in names:
            file = os.path.join(directory, name)
            if os.path.isfile(file):
                yield os.path.relpath(file, top)
