"""What a command of a repo is, by content: its words, and every file of the repo with its mode.

What a program reads, nobody can tell from its words: a script includes others, an interpreter finds modules, make finds
a Makefile, kubectl expands globs. So the whole repo counts. The exception are a few programs that read nothing of the
directory where they run, with words that name nothing of the repo.
"""

import asyncio
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import program_path
from firstlight.clients.git import Git, git_errors, repository
from firstlight.model import repo_command

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
class CommandDigest:
    """The content of a command."""

    value: str
    """``sha256:`` and 64 digits."""
    files: tuple[str, ...] = ()
    """The files of the repo that count, from its top."""
    is_whole: bool = False
    """Whether all files of the repo count; none do otherwise."""
    named: tuple[str, ...] = ()
    """Those of them that the words and scripts name: what to look at first."""


def command_digest(words: Sequence[str], root: Path, *, known: frozenset[str] | None = None) -> CommandDigest:
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
    found = repo_entries(root, named, known=known) if is_whole else ()
    files = tuple(each.path for each in found)
    told = json.dumps(["firstlight command 3", is_whole, list(words), [[each.path, each.content] for each in found]])
    value = hashlib.sha256(told.encode(errors="surrogateescape")).hexdigest()
    return CommandDigest(f"sha256:{value}", files, is_whole, _look_at(words, root, files))


def _look_at(words: Sequence[str], root: Path, files: Sequence[str]) -> tuple[str, ...]:
    def text(path: str) -> str | None:
        try:
            with open(root / path, "rb") as file:
                return file.read(repo_command.LARGEST).decode(errors="replace")
        except OSError:
            return None

    return repo_command.command_files(words, files, text=text)


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


# Every file of a repo with its content and mode, as an allowance covers it.
#
# Those are the files that Git tracks, and those that it neither tracks nor ignores. A commit cannot change a file
# that is ignored. Where Git cannot be asked, all files count. Links are followed: one that leads out of what is
# covered counts with the content that is there.


LARGEST = 1 << 30
"""Bytes that count for one command: a repo with its charts and pictures, not with disk images."""
MOST = 50_000
"""Files of a repo; more is a home directory."""
_LEFT_OUT = {".git", ".firstlight"}
"""What is nobody's script where there is no Git to ask; a ``.firstlight`` that Git tracks counts."""
_SETTLED = 2.0
"""Seconds after which a file whose times did not change has the content that it had: clocks of disks are coarse."""

_hashes: dict[tuple[int, ...], str] = {}
"""Of contents, by what changes with them: a gate that is a command asks every few seconds."""


@dataclasses.dataclass(frozen=True, slots=True)
class RepoEntry:
    """One path of a repo, and what counts of it."""

    path: str
    content: str
    """``file`` or ``program`` with a hash; ``link`` with where it leads and, outside, what is there."""


def repo_names(root: Path) -> frozenset[str]:
    """The paths of a repo that count.

    Raises:
        errors.Refused: There are too many.
    """
    found = frozenset(_listed(os.path.realpath(root)))
    if len(found) > MOST:
        raise _too_much(root)
    return found


def repo_entries(root: Path, also: Iterable[str] = (), *, known: frozenset[str] | None = None) -> tuple[RepoEntry, ...]:
    """Every file of a repo, sorted by path.

    Args:
        root: The top of the repo.
        also: Paths that count even if Git ignores them, since a command names them.
        known: The paths that count, where they were listed before; all that are there now if it is not given.

    Raises:
        errors.Refused: There is more than counts can be told of, or a link whose target cannot be covered.
    """
    top = os.path.realpath(root)
    covered = (repo_names(root) if known is None else known) | {each for named in also for each in _below(top, named)}
    if len(covered) > MOST:
        raise _too_much(root)
    left = LARGEST
    found = []
    for name in sorted(covered):
        try:
            content, size = _content(top, name, covered)
        except FileNotFoundError:
            continue  # tracked and deleted
        except OSError as error:
            raise errors.Refused(f"{name} counts for what a command reads, and cannot be read: {error}") from error
        left -= size
        if left < 0:
            raise _too_much(root)
        found.append(RepoEntry(name, content))
    return tuple(found)


def _too_much(root: Path) -> errors.Refused:
    return errors.Refused(
        f"{root} has more than {MOST:,} files or {LARGEST >> 20:,} MiB, too much to allow a command by content",
        hint="Let Git ignore what is not part of the repo.",
    )


def _listed(top: str) -> Iterator[str]:
    asked = _asked(top)
    if asked is None:
        yield from _below(top, ".")
        return
    for name in asked:
        path = name.rstrip("/")
        # Of a submodule, and of another repository in the tree, Git names the directory alone.
        if name.endswith("/") or (os.path.isdir(f"{top}/{path}") and not os.path.islink(f"{top}/{path}")):
            yield from _below(top, path)
        else:
            yield path


def _asked(top: str) -> tuple[str, ...] | None:
    """What Git names; None where it cannot be asked."""
    program = program_path.find("git")
    try:
        work_tree = repository.locate(Path(top)).work_tree
        if program is None or work_tree is None:
            return None
        with concurrent.futures.ThreadPoolExecutor(1) as pool:  # perhaps an event loop runs in this thread
            found = pool.submit(asyncio.run, Git(Path(program)).ls_files(Path(top))).result()
    except (git_errors.NotARepository, errors.ClientError, errors.ToolError):
        return None
    # A directory that the repository around it ignores stands alone.
    return found if found or str(work_tree) == top else None


def _below(top: str, name: str) -> Iterator[str]:
    """A file, or all files below a directory; links are named, and not followed."""
    start = os.path.join(top, name)
    if not os.path.isdir(start) or os.path.islink(start):
        if os.path.lexists(start):
            yield os.path.relpath(start, top)
        return
    count = 0
    for directory, inner, files in os.walk(start, onerror=_refuse):
        links = [each for each in inner if os.path.islink(os.path.join(directory, each))]
        inner[:] = [each for each in inner if each not in _LEFT_OUT and each not in links]
        for each in (*files, *links):
            if each not in _LEFT_OUT:
                count += 1
                yield os.path.relpath(os.path.join(directory, each), top)
        if count > MOST:
            raise _too_much(Path(top))


def _refuse(error: OSError) -> None:
    raise errors.Refused(f"{error.filename} counts for what a command reads, and cannot be read: {error.strerror}")


def _content(top: str, name: str, covered: frozenset[str]) -> tuple[str, int]:
    """What counts of a path, and how many bytes were looked at."""
    path = os.path.join(top, name)
    found = os.lstat(path)
    if stat.S_ISREG(found.st_mode):
        kind = "program" if found.st_mode & 0o111 else "file"
        return f"{kind} {_hash(path, found)}", found.st_size
    if not stat.S_ISLNK(found.st_mode):
        return f"special {stat.S_IFMT(found.st_mode):o}", 0
    leads = f"link to {os.readlink(path)}"
    real = os.path.realpath(path)
    if not os.path.exists(real):
        return f"{leads}, nowhere", 0
    inside = os.path.relpath(real, top)
    if inside in covered or (os.path.isdir(real) and not inside.startswith("..") and _is_covered(inside, covered)):
        return leads, 0
    target = os.stat(real)
    if not stat.S_ISREG(target.st_mode):
        raise errors.Refused(
            f"the link {name} leads to {real}, whose content an allowance cannot cover",
            hint="Remove the link, or let Git ignore it; a link to a file of the repo is covered.",
        )
    return f"{leads}, mode {target.st_mode:o}, {_hash(real, target)}", target.st_size


def _is_covered(directory: str, covered: frozenset[str]) -> bool:
    """Whether a directory of the repo has files that count; a directory that Git ignores has none."""
    return directory == "." or any(each.startswith(f"{directory}/") for each in covered)


def _hash(path: str, found: os.stat_result) -> str:
    key = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    known = _hashes.get(key)
    if known is not None:
        return known
    with open(path, "rb") as file:
        value = hashlib.file_digest(file, "sha256").hexdigest()
    if found.st_ctime < time.time() - _SETTLED:
        _hashes[key] = value
    return value
