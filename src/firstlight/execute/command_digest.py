"""What a command of a repo is, by content: its words, and every file of the repo that one of them names.

Of a program that finds by itself what it does, such as ``make``, every file of the repo counts.
"""

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from firstlight import errors

LARGEST = 64 * 1024 * 1024
"""Bytes that count for one command: a script and what it applies, not a disk image."""
MOST = 2000
"""Files that one command may name."""
MOST_OF_ALL = 20_000
"""Files of a repo for a command of which all of them count."""
_LEFT_OUT = {".git", ".firstlight"}
"""What changes with every run, and is nobody's script."""
_FRUGAL = {
    "[", "cat", "cmp", "curl", "diff", "dig", "echo", "false", "getent", "grep", "host", "jq", "kubectl", "nc",
    "nslookup", "omnictl", "openssl", "ping", "printf", "sleep", "talosctl", "test", "true", "wget",
}  # fmt: skip
"""Programs that read nothing of a repo but what their words name."""
_INTERPRETERS = re.compile(r"(ba|da|k|z)?sh|python[0-9.]*|perl|ruby|node")
_QUIET = re.compile(r"-[eux]+")
"""Options of a shell that name nothing to run."""
_KUSTOMIZE = re.compile(r"-k.*|--kustomize.*|kustomize")
"""A kustomization leads to files beside its directory."""


@dataclasses.dataclass(frozen=True, slots=True)
class Digest:
    """The content of a command."""

    value: str
    """``sha256:`` and 64 digits."""
    files: tuple[str, ...] = ()
    """The files of the repo that count, from its top."""
    is_whole: bool = False
    """Whether all files of the repo count, since the words do not tell what is read."""


def digest(words: Sequence[str], root: Path) -> Digest:
    """The digest of a command: another word, or another byte in a file that counts, makes another one.

    What a script reads by itself is not known: where the words name a script, only what they name counts.

    Raises:
        errors.Refused: More counts than anybody could look at.
    """
    is_whole = not _tells_all(words, root)
    named = _below(os.path.abspath(root), os.path.abspath(root)) if is_whole else ()
    files = sorted({*named, *(found for word in words for found in _named(word, root))})
    left = LARGEST
    contents = []
    for file in files:
        try:
            left -= (root / file).stat().st_size if (root / file).is_file() else 0
            if left < 0 or len(files) > (MOST_OF_ALL if is_whole else MOST):
                raise _too_much(words, len(files), is_whole=is_whole)
            contents.append([file, _content(root / file)])
        except OSError as error:
            raise errors.Refused(f"the command {words[0]} names {file}, which cannot be read: {error}") from error
    told = json.dumps(["firstlight command 2", is_whole, list(words), contents])
    return Digest(f"sha256:{hashlib.sha256(told.encode()).hexdigest()}", tuple(files), is_whole)


def _content(file: Path) -> str:
    """What counts of a file; of a link to a directory, where it leads."""
    if not file.is_file():
        return f"link to {os.readlink(file)}"
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _too_much(words: Sequence[str], count: int, *, is_whole: bool) -> errors.Refused:
    if not is_whole:
        return errors.Refused(
            f"the command {words[0]} names {count} files, too many or too large to be allowed by content",
            hint="Name the files that it needs, not the directory of everything.",
        )
    return errors.Refused(
        f"the command {words[0]} may read all {count} files of the repo, too much to be allowed by content",
        hint="Put what it does into a script of the repo, and name that: [./scripts/seed.sh].",
    )


def _tells_all(words: Sequence[str], root: Path) -> bool:
    """Whether the words tell what is run and read: a script of the repo, or a program that reads what they name."""
    program, *others = words
    if "/" in program:
        if _is_inside(program, root):
            return os.path.isfile(os.path.join(root, program))
        program = os.path.basename(program)
    if program in _FRUGAL:
        return program != "kubectl" or not any(map(_KUSTOMIZE.fullmatch, others))
    if _INTERPRETERS.fullmatch(program):
        script = next((each for each in others if not _QUIET.fullmatch(each)), "")
        return _is_inside(script, root) and os.path.isfile(os.path.join(root, script))
    return False


def _is_inside(text: str, root: Path) -> bool:
    top = os.path.abspath(root)
    return "\0" not in text and os.path.normpath(os.path.join(top, text)).startswith(f"{top}{os.sep}")


def _named(word: str, root: Path) -> Iterator[str]:
    """The files that a word names, as ``--values=FILE``, ``-fFILE``, ``@FILE`` and ``A,B`` do, too.

    Those below it, if it is a directory.
    """
    top = os.path.abspath(root)
    parts = {word, word.partition("=")[2], *re.split("[=,@]", word)}
    for text in parts | {each[2:] for each in parts if re.match("-[A-Za-z]", each)}:
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
        links = [each for each in inner if os.path.islink(os.path.join(directory, each))]
        for name in (*names, *links):
            file = os.path.join(directory, name)
            if os.path.isfile(file) or name in links:
                yield os.path.relpath(file, top)
