"""The files of a commit, without a checkout: no filter, no hook and no line ending gets in between.

And the names of those in a work tree.
"""

import os
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import command, path_safety
from firstlight.clients.git import git_arguments, git_errors, git_output
from firstlight.clients.git.git_program import READ, TRANSFER, GitSession, parsed
from firstlight.clients.git.history import GitHistory
from firstlight.model import git

FILE = 16 << 20
"""Bytes of the largest file that is read unless it is told otherwise."""

_BATCH = command.OUTPUT_LIMIT // 2


class GitTrees(GitHistory):
    """What is in a commit."""

    async def ls_tree(
        self, path: Path, revision: str = "HEAD", *, under: str = "", timeout: float = READ
    ) -> tuple[git.TreeEntry, ...]:
        """The files of a commit, perhaps only those of a directory, or a single one."""
        async with self._at(path) as session:
            return await self._ls_tree(session, await self._resolve(session, revision), _only(under), timeout=timeout)

    async def tracked(self, path: Path, *, timeout: float = READ) -> frozenset[str]:
        """The files below a directory that Git tracks, relative to it, be they in the work tree or not.

        Raises:
            git_errors.NotARepository: There is no work tree.
        """
        return frozenset(await self._listed(path, ["--cached"], timeout=timeout))

    async def ignored(self, path: Path, *, timeout: float = READ) -> tuple[str, ...]:
        """What is on the disk below a directory and ignored; of a directory that is, its name with a slash alone.

        Raises:
            git_errors.NotARepository: There is no work tree.
        """
        return await self._listed(path, ["--others", "--ignored", "--exclude-standard", "--directory"], timeout=timeout)

    async def ls_files(self, path: Path, *, timeout: float = READ) -> tuple[str, ...]:
        """What is in a work tree: what is tracked, and what is neither tracked nor ignored.

        Names are relative to ``path``, which may be a directory in the work tree. Deleted files are still named while
        they are tracked, a submodule is named like a file, and another repository in the tree ends with a slash.

        Raises:
            git_errors.NotARepository: There is no work tree.
        """
        return await self._listed(path, ["--cached", "--others", "--exclude-standard"], timeout=timeout)

    async def _listed(self, path: Path, which: Sequence[str], *, timeout: float) -> tuple[str, ...]:
        """What ``ls-files`` names below a directory, relative to it."""
        path = path.resolve()
        async with self._at(path) as session:
            if not path.is_relative_to(session.cwd):
                raise git_errors.NotARepository("ls-files", detail="it has no work tree", target=session.target)
            inside = path.relative_to(session.cwd).as_posix()
            done = await self._run(session, ["ls-files", "-z", *which, "--full-name", "--", inside], timeout=timeout)
        names_ = os.fsdecode(done.stdout).split("\0")[:-1]
        prefix = "" if inside == "." else f"{inside}/"
        return tuple(dict.fromkeys(name.removeprefix(prefix) for name in names_ if name.startswith(prefix)))

    async def knows(self, path: Path, file: str, *, timeout: float = READ) -> bool:
        """Whether a file is in the last commit, or tracked, be it in the work tree or not.

        Args:
            path: A work tree, or a directory in one.
            file: Relative to ``path``.
            timeout: Seconds for each question.

        Raises:
            git_errors.NotARepository: There is no work tree.
        """
        path = path.resolve()
        async with self._at(path) as session:
            if not path.is_relative_to(session.cwd):
                raise git_errors.NotARepository("ls-files", detail="it has no work tree", target=session.target)
            name = git_arguments.path((path.relative_to(session.cwd) / file).as_posix())
            arguments = ["ls-files", "-z", "--cached", "--full-name", "--", name]
            tracked = await self._run(session, arguments, timeout=timeout)
            if name in os.fsdecode(tracked.stdout).split("\0"):
                return True
            try:
                commit = await self._resolve(session, "HEAD")
            except git_errors.GitNotFound:
                return False  # nobody has committed anything yet
            return any(entry.path == name for entry in await self._ls_tree(session, commit, [name], timeout=timeout))

    async def show(self, path: Path, revision: str, file: str, *, limit: int = FILE) -> bytes:
        """A file as it is in a commit; of a symbolic link the path to which it leads.

        Raises:
            git_errors.NotFound: The commit has no such file.
            git_errors.TooLarge: It has more bytes than ``limit``.
        """
        async with self._at(path) as session:
            commit = await self._resolve(session, revision)
            entries = await self._ls_tree(session, commit, _only(file), timeout=READ)
            found = [entry for entry in entries if entry.path == file]
            if not found or found[0].kind == "submodule":
                raise git_errors.GitNotFound("show", detail=f"{revision} has no file {file!r}", target=session.target)
            if found[0].size > limit:
                detail = f"{file!r} has {found[0].size} bytes, more than {limit}"
                raise git_errors.GitTooLarge("show", detail=detail, target=session.target)
            return (await self._run(session, ["cat-file", "blob", found[0].id])).stdout

    async def export(
        self,
        path: Path,
        revision: str,
        into: Path,
        *,
        under: str = "",
        limits: path_safety.TreeLimits = path_safety.TREE_LIMITS,
        timeout: float = TRANSFER,
    ) -> git.Exported:
        """Put the files of a commit into a directory that is not there yet: all of them, or none.

        Args:
            path: The repository.
            revision: The commit.
            into: The directory, which must not exist; the one that it is in must.
            under: Only what is in this directory of the commit; its path stays.
            limits: How much there may be.
            timeout: Seconds for Git.

        Raises:
            errors.Refused: A path or a link in the commit leads out of it, or there is too much.
        """
        async with self._at(path) as session:
            commit = await self._resolve(session, revision)
            entries = await self._ls_tree(session, commit, _only(under), timeout=timeout)
            check_entries(entries, limits, target=session.target)
            with path_safety.landing(into) as made:
                made.mkdir()
                await self._write(session, entries, made, timeout=timeout)
                path_safety.check_tree(made, limits=limits)
        kept = [entry for entry in entries if entry.kind != "submodule"]
        return git.Exported(
            commit=commit,
            path=into,
            files=len(kept),
            size=sum(entry.size for entry in kept),
            submodules=tuple(entry.path for entry in entries if entry.kind == "submodule"),
        )

    async def _ls_tree(
        self, session: GitSession, commit: str, only: Sequence[str] = (), *, timeout: float
    ) -> tuple[git.TreeEntry, ...]:
        """All files of a commit, or those of some paths."""
        arguments = ["ls-tree", "-r", "-l", "-z", "--full-tree", "--", commit, *only]
        done = await self._run(session, arguments, timeout=timeout)
        return parsed(git_output.tree, done, name="ls-tree", target=session.target)

    async def _write(
        self, session: GitSession, entries: Sequence[git.TreeEntry], into: Path, *, timeout: float
    ) -> None:
        files = [entry for entry in entries if entry.kind in {"file", "executable"}]
        links = [entry for entry in entries if entry.kind == "symlink"]
        # Links last, so that no file is written through one.
        async for entry, content in self._blobs(session, [*files, *links], timeout=timeout):
            _put(entry, content, into)

    async def _blobs(
        self, session: GitSession, entries: Sequence[git.TreeEntry], *, timeout: float
    ) -> AsyncIterator[tuple[git.TreeEntry, bytes]]:
        """The bytes of files, in portions, so that not all of them are in memory at once."""
        for batch in _batches(entries):
            asked = "".join(f"{entry.id}\n" for entry in batch).encode()
            done = await self._run(session, ["cat-file", "--batch"], stdin=asked, timeout=timeout)
            contents = parsed(
                lambda output: tuple(git_output.blobs(output)), done, name="cat-file", target=session.target
            )
            if [id_ for id_, _ in contents] != [entry.id for entry in batch]:
                raise git_errors.GitUnreadable("cat-file", detail="files are missing", target=session.target)
            for entry, (_, content) in zip(batch, contents, strict=True):
                yield entry, content


def check_entries(entries: Sequence[git.TreeEntry], limits: path_safety.TreeLimits, *, target: str) -> None:
    """Refuse what Git itself would never check out, and what is too much, before anything is read."""
    for entry in entries:
        parts = entry.path.split("/")
        if any(part in {"", ".", ".."} or part.lower() == ".git" for part in parts):
            raise errors.Refused(f"the commit of {target} has a path that leads out of it: {entry.path!r}")
        if len(parts) > limits.depth:
            raise errors.Refused(f"{entry.path!r} in {target} is deeper than {limits.depth} directories")
        if entry.size > _BATCH:
            raise errors.Refused(f"{entry.path!r} in {target} has more than {_BATCH >> 20} MiB")
    if len(entries) > limits.files:
        raise errors.Refused(f"the commit of {target} has more than {limits.files} files")
    if sum(entry.size for entry in entries) > limits.size:
        raise errors.Refused(f"the commit of {target} has more than {limits.size >> 20} MiB")


def _only(path: str) -> list[str]:
    return [git_arguments.path(path)] if path else []


def _batches(entries: Sequence[git.TreeEntry]) -> Iterator[list[git.TreeEntry]]:
    """The entries in portions of which each fits into one answer."""
    batch: list[git.TreeEntry] = []
    size = 0
    for entry in entries:
        if batch and size + entry.size > _BATCH:
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size + 128
    if batch:
        yield batch


def _put(entry: git.TreeEntry, content: bytes, into: Path) -> None:
    place = into / entry.path
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if entry.kind == "symlink":
            os.symlink(content, bytes(place))
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(place, flags, 0o755 if entry.kind == "executable" else 0o644)
    except (OSError, ValueError) as error:
        # Two entries of one name, a file where a directory must be, a link to nothing: no Git writes such a commit.
        raise errors.Refused(f"the commit has an entry that cannot be: {entry.path!r} ({error})") from error
    with os.fdopen(fd, "wb") as file:
        file.write(content)
