"""What a command of a repo is, by content: its words, and every file of the repo with its mode.

What a program reads, nobody can tell from its words: a script includes others, an interpreter finds modules, make finds
a Makefile, kubectl expands globs. So the whole repo counts. The exception are a few programs that read nothing of the
directory where they run, with words that name nothing of the repo.
"""

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from firstlight.clients import program_path
from firstlight.execute import repo_content
from firstlight.model import command_files

_FRUGAL = {
    "curl": r"-[A-Za-z]*[KFTd].*|--(config|form|upload-file|data|json|url-query|variable|expand).*|.*[\[{].*",
    "echo": "", "false": "", "getent": "", "nc": "-[A-Za-z]*[ec].*", "nslookup": "", "ping": "", "printf": "",
    "kubectl": r"-[A-Za-z]*[fkR].*|--(filename|kustomize|recursive|kubeconfig|from-|patch-file|template|cache-dir).*",
    "sleep": "", "talosctl": r"-[A-Za-z]*[fp].*|--(file|patch|talosconfig|config|with-).*", "true": "",
}  # fmt: skip
"""Programs that read nothing of where they run but what they are told to, and the options by which they are told."""
_SUBCOMMANDS = {
    "kubectl": {
        "annotate", "api-resources", "api-versions", "auth", "cluster-info", "delete", "describe", "get", "label",
        "logs", "rollout", "scale", "version", "wait",
    },
    "talosctl": {"get", "health", "service", "version"},
}  # fmt: skip
"""Of programs that may have plugins, and commands that read files as words."""
_SIGNS = re.compile(r"[\s,;:=@<>|&\"'(){}\[\]]")
_LONGEST = 4096
"""Characters of a word that is searched for paths; a longer one is not a line that somebody looks at."""


@dataclasses.dataclass(frozen=True, slots=True)
class Digest:
    """The content of a command."""

    value: str
    """``sha256:`` and 64 digits."""
    files: tuple[str, ...] = ()
    """The files of the repo that count, from its top."""
    is_whole: bool = False
    """Whether all files of the repo count; none do otherwise."""
    named: tuple[str, ...] = ()
    """Those of them that the words and scripts name: what to look at first."""


def digest(words: Sequence[str], root: Path, *, known: frozenset[str] | None = None) -> Digest:
    """The digest of a command: another word, or another byte or mode of a file that counts, makes another one.

    Args:
        words: The program and its arguments.
        root: The top of the repo.
        known: The files that count, where they were listed before; those that are there now if it is not given.

    Raises:
        errors.Refused: More counts than can be told, or a link leads to what cannot be covered.
    """
    is_whole = not _is_frugal(words, root)
    # What Git ignores counts where it is named; the top is not a name for all of that.
    named = {*_named(words, root)} - {"."}
    found = repo_content.entries(root, named, known=known) if is_whole else ()
    files = tuple(each.path for each in found)
    told = json.dumps(["firstlight command 3", is_whole, list(words), [[each.path, each.content] for each in found]])
    value = hashlib.sha256(told.encode(errors="surrogateescape")).hexdigest()
    return Digest(f"sha256:{value}", files, is_whole, _look_at(words, root, files))


def _look_at(words: Sequence[str], root: Path, files: Sequence[str]) -> tuple[str, ...]:
    def text(path: str) -> str | None:
        try:
            with open(root / path, "rb") as file:
                return file.read(command_files.LARGEST).decode(errors="replace")
        except OSError:
            return None

    return command_files.files(words, files, text=text)


def _is_frugal(words: Sequence[str], root: Path) -> bool:
    """Whether a command reads nothing of the repo."""
    program, *others = words
    name = os.path.basename(program)
    if name not in _FRUGAL or (program != name and not os.path.isabs(program)):
        return False
    # A PATH may lead into the repo: then the program is a file of it.
    if _is_inside((program if os.path.isabs(program) else program_path.find(program)) or "", root):
        return False
    if name in _SUBCOMMANDS and (not others or others[0] not in _SUBCOMMANDS[name]):
        return False
    if any(_FRUGAL[name] and re.fullmatch(_FRUGAL[name], each, re.DOTALL) for each in others):
        return False
    return "file:" not in "".join(others).lower() and not any(_named(others, root))


def _is_inside(path: str, root: Path) -> bool:
    if not os.path.isabs(path):
        return False
    top = os.path.realpath(root)
    real = os.path.realpath(path)
    return real == top or real.startswith(f"{top}{os.sep}")


def _named(words: Sequence[str], root: Path) -> Iterator[str]:
    """The paths of the repo that words name, wherever in a word, also of files that Git ignores; ``.`` is all of it."""
    top = os.path.realpath(root)
    for word in words:
        if len(word) > _LONGEST:
            yield "."
            continue
        # From every character on, to the end of the word and to the next sign that may part names in it.
        texts = {word[start:] for start in range(len(word))}
        texts |= {text for part in _SIGNS.split(word) for start in range(len(part)) if (text := part[start:])}
        for text in sorted(texts):
            path = os.path.normpath(os.path.join(top, text)) if "\0" not in text else ""
            if path == top and text not in ("", "/"):
                yield "."
            elif path.startswith(f"{top}{os.sep}") and os.path.lexists(path):
                yield os.path.relpath(path, top)
