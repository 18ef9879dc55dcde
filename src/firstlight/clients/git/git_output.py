"""What Git prints for programs: fields and records that end with a NUL, so that no name of a file can pretend.

Names are bytes in Git. Here they are what ``os.fsdecode`` makes of them, as in every listing of Python.
"""

import dataclasses
import datetime
import os
from collections.abc import Iterator, Mapping

from firstlight.model import git

LOG_FORMAT = "%H%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%s%x00%b%x00"
_LOG_FIELDS = 10

_STATUSES: Mapping[str, git.FileStatus] = {
    "A": "added",
    "M": "modified",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "T": "type-changed",
    "U": "unmerged",
}
_KINDS: Mapping[str, git.FileKind] = {
    "100644": "file",
    "100664": "file",
    "100755": "executable",
    "120000": "symlink",
    "160000": "submodule",
}


@dataclasses.dataclass(frozen=True)
class WorkTreeStatus:
    """What ``status --porcelain=v2 --branch -z`` says."""

    commit: str
    branch: str
    changes: tuple[git.FileChange, ...]


def last_commits(output: bytes) -> dict[str, datetime.datetime]:
    """When each file was in a commit last: of ``log -z --name-only --format=tformat:%cI%x00``, the newest first.

    Raises:
        ValueError: It is something else.
    """
    first, *chunks = output.split(b"\0\0\n")
    found: dict[str, datetime.datetime] = {}
    for chunk in chunks:
        when = datetime.datetime.fromisoformat(first.decode())
        *files, first = chunk.split(b"\0")
        for name in files:
            found.setdefault(os.fsdecode(name), when)
    return found


def log(output: bytes) -> tuple[git.Commit, ...]:
    """The commits of ``log`` in our format, in the order in which they came.

    Raises:
        ValueError: It is something else.
    """
    fields = output.decode(errors="replace").split("\0")
    if fields.pop().strip() or len(fields) % _LOG_FIELDS:
        raise ValueError("a commit is incomplete")
    commits = []
    for start in range(0, len(fields), _LOG_FIELDS):
        id_, parents, name, email, authored, by, by_email, committed, subject, body = fields[
            start : start + _LOG_FIELDS
        ]
        commits.append(
            git.Commit(
                id=id_.lstrip("\n"),
                parents=tuple(parents.split()),
                author=git.GitPerson(name, email),
                authored=_time(authored),
                committer=git.GitPerson(by, by_email),
                committed=_time(committed),
                subject=subject,
                body=body.strip("\n"),
            )
        )
    return tuple(commits)


def raw_diff(output: bytes) -> tuple[git.FileChange, ...]:
    """The changes of ``diff --raw -z``.

    Raises:
        ValueError: It is something else.
    """
    changes = []
    fields = _fields(output)
    for head in fields:
        if not head.startswith(":"):
            raise ValueError(f"{head[:80]!r} is no change")
        older, newer, *_, letter = head[1:].split(" ")
        letter = letter[:1]
        status = _STATUSES.get(letter)
        if status is None:
            raise ValueError(f"the status {letter!r} is not known")
        first = _next(fields)
        if status in {"renamed", "copied"}:
            changes.append(git.FileChange(status, _next(fields), first, modes=(older, newer)))
        else:
            changes.append(git.FileChange(status, first, modes=(older, newer)))
    return tuple(changes)


def status(output: bytes) -> WorkTreeStatus:
    """What ``status`` says.

    Raises:
        ValueError: It is something else.
    """
    commit, branch = "", ""
    changes: list[git.FileChange] = []
    fields = _fields(output)
    for record in fields:
        kind, _, rest = record.partition(" ")
        if kind == "#":
            name, _, value = rest.partition(" ")
            if name == "branch.oid":
                commit = "" if value == "(initial)" else value
            elif name == "branch.head":
                branch = "" if value == "(detached)" else value
        elif kind == "1":
            letters, path = rest[:2], _after(rest, 7)
            changes.append(git.FileChange(_of_letters(letters), path))
        elif kind == "2":
            letters, path = rest[:2], _after(rest, 8)
            changes.append(git.FileChange(_of_letters(letters), path, _next(fields)))
        elif kind == "u":
            changes.append(git.FileChange("unmerged", _after(rest, 9)))
        elif kind == "?":
            changes.append(git.FileChange("untracked", rest))
        else:
            raise ValueError(f"{record[:80]!r} is no status")
    return WorkTreeStatus(commit, branch, tuple(changes))


def tree(output: bytes) -> tuple[git.TreeEntry, ...]:
    """The files of ``ls-tree -r -l -z``.

    Raises:
        ValueError: It is something else.
    """
    entries = []
    for record in _fields(output):
        head, tab, path = record.partition("\t")
        parts = head.split()
        if not tab or len(parts) != 4:
            raise ValueError(f"{record[:80]!r} is no entry of a tree")
        mode, kind, id_, size = parts
        if kind == "tree":
            continue
        if mode not in _KINDS:
            raise ValueError(f"the mode {mode!r} is not known")
        entries.append(git.TreeEntry(path, _KINDS[mode], id_, int(size) if size.isdigit() else 0))
    return tuple(entries)


def staged(output: bytes) -> tuple[git.TreeEntry, ...]:
    """The files of ``ls-files --stage -z``, each once; their sizes are not said.

    Raises:
        ValueError: It is something else.
    """
    entries: dict[str, git.TreeEntry] = {}
    for record in _fields(output):
        head, tab, path = record.partition("\t")
        parts = head.split()
        if not tab or len(parts) != 3:
            raise ValueError(f"{record[:80]!r} is no entry of an index")
        mode, id_, _ = parts
        if mode not in _KINDS:
            raise ValueError(f"the mode {mode!r} is not known")
        entries.setdefault(path, git.TreeEntry(path, _KINDS[mode], id_, 0))
    return tuple(entries.values())


def unwatched(output: bytes) -> tuple[str, ...]:
    """The files of ``ls-files -v -z`` that have a flag by which nobody looks at them: a small letter, or an S.

    Raises:
        ValueError: It is something else.
    """
    found = {}
    for record in _fields(output):
        tag, space, path = record.partition(" ")
        if len(tag) != 1 or not space:
            raise ValueError(f"{record[:80]!r} is no entry of an index")
        if tag == "S" or tag.islower():
            found[path] = True
    return tuple(found)


def sizes(output: bytes) -> dict[str, int]:
    """Bytes of objects, by id, as ``cat-file --batch-check`` prints them; what is missing is not among them."""
    found = {}
    for line in output.decode(errors="replace").splitlines():
        parts = line.split(" ")
        if len(parts) == 3 and parts[2].isdigit():
            found[parts[0]] = int(parts[2])
    return found


class MissingObject(ValueError):
    """The repository has no object of this id."""


def blobs(output: bytes) -> Iterator[tuple[str, bytes]]:
    """The ids and contents that ``cat-file --batch`` prints.

    Raises:
        Missing: The repository has no such object.
        ValueError: Something else is wrong.
    """
    position = 0
    while position < len(output):
        end = output.find(b"\n", position)
        head = output[position:end].decode(errors="replace").split(" ")
        if end >= 0 and head[1:] == ["missing"]:
            raise MissingObject(head[0])
        if end < 0 or len(head) != 3 or head[1] != "blob" or not head[2].isdigit():
            raise ValueError(f"{' '.join(head)[:80]!r} is no file")
        start, size = end + 1, int(head[2])
        if start + size + 1 > len(output):
            raise ValueError("a file is cut off")
        yield head[0], output[start : start + size]
        position = start + size + 1


def remote_refs(output: bytes) -> git.RemoteRefs:
    """What ``ls-remote --symref`` prints.

    Raises:
        ValueError: It is something else.
    """
    head, refs = "", {}
    for line in output.decode(errors="replace").split("\n"):
        if not line:
            continue
        value, tab, name = line.partition("\t")
        if not tab:
            raise ValueError(f"{line[:80]!r} is no branch")
        if value.startswith("ref: "):
            head = value.removeprefix("ref: refs/heads/") if name == "HEAD" else head
        else:
            refs[name] = value
    return git.RemoteRefs(head, refs)


def pushed(output: bytes, ref: str) -> tuple[str, str]:
    """The flag and the words of ``push --porcelain`` about a branch.

    Raises:
        ValueError: It says nothing about it.
    """
    for line in output.decode(errors="replace").split("\n"):
        flag, _, rest = line.partition("\t")
        names, _, words = rest.partition("\t")
        if len(flag) == 1 and names.rpartition(":")[2] == ref:
            return flag, words
    raise ValueError(f"nothing is said about {ref}")


def _time(text: str) -> datetime.datetime:
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return datetime.datetime.fromtimestamp(0, datetime.UTC)  # a year that no calendar has: anybody may commit one


def _of_letters(letters: str) -> git.FileStatus:
    """What a file is on the whole, by the letters of the index and of the work tree."""
    for letter in ("R", "C", "D", "A", "T", "M"):
        if letter in letters:
            return _STATUSES[letter]
    raise ValueError(f"the status {letters!r} is not known")


def _fields(output: bytes) -> Iterator[str]:
    text = os.fsdecode(output)
    if text and not text.endswith("\0"):
        raise ValueError("the last record has no end")
    return iter(text.split("\0")[:-1])


def _next(fields: Iterator[str]) -> str:
    try:
        return next(fields)
    except StopIteration:
        raise ValueError("a name is missing") from None


def _after(record: str, count: int) -> str:
    """What follows a number of fields; it may have spaces itself."""
    parts = record.split(" ", count)
    if len(parts) <= count:
        raise ValueError(f"{record[:80]!r} is incomplete")
    return parts[count]
