"""What differs between a commit and the index, the work tree or a patch, and many files of one state at once.

Nothing here changes a repository: a patch is applied to an index of our own, and its objects vanish with it.
"""

import dataclasses
import datetime
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients.git import git_arguments, git_errors, git_output, repository
from firstlight.clients.git.git_program import READ, GitSession, parsed
from firstlight.clients.git.history import PLAIN_DIFF, RAW_DIFF
from firstlight.clients.git.trees import FILE, GitTrees
from firstlight.model import git

_PORTION = 500
"""Paths on one command line."""
# A submodule would be asked by a Git of its own, which obeys the submodule's config.
_SHALLOW = (*(each for each in PLAIN_DIFF if not each.startswith("--ignore-submodules")), "--ignore-submodules=all")


class GitStates(GitTrees):
    """A commit against what is about to become one."""

    async def merge_base(self, path: Path, one: str, other: str) -> str:
        """The last commit that two have in common, with which a review compares.

        Raises:
            git_errors.NotFound: There is no such commit, or they have none in common.
        """
        async with self._at(path) as session:
            return (await self._between(session, one, other, since_fork=True))[0]

    async def staged(self, path: Path, base: str = "HEAD", *, timeout: float = READ) -> tuple[git.FileChange, ...]:
        """What the index has that a commit has not; all of it, where there is no commit so far."""
        async with self._at(path) as session:
            return await self._cached(self._hooked(session), await self._base(session, base), timeout=timeout)

    async def changed_since(
        self, path: Path, base: str = "HEAD", *, timeout: float = READ
    ) -> tuple[git.FileChange, ...]:
        """What the work tree has that a commit has not, also files that nobody added so far; never ignored ones.

        No filter is run, as with ``status``.
        """
        async with self._at(path) as session:
            return await self._against_disk(session, [await self._base(session, base)], timeout=timeout)

    async def unstaged(self, path: Path, *, timeout: float = READ) -> tuple[git.FileChange, ...]:
        """What the work tree has that the index has not, in the same way."""
        async with self._at(path) as session:
            return await self._against_disk(self._hooked(session), [], timeout=timeout)

    async def _against_disk(
        self, session: GitSession, base: Sequence[str], *, timeout: float
    ) -> tuple[git.FileChange, ...]:
        done = await self._run(session, ["diff", *RAW_DIFF, *_SHALLOW, *base, "--"], timeout=timeout)
        found = parsed(git_output.raw_diff, done, name="diff", target=session.target)
        arguments = ["ls-files", "-z", "--others", "--exclude-standard", "--full-name", "--", "."]
        done = await self._run(session, arguments, timeout=timeout)
        others = os.fsdecode(done.stdout).split("\0")[:-1]
        return (*found, *(git.FileChange("untracked", name) for name in others if not name.endswith("/")))

    async def index(self, path: Path, *, under: str = "", timeout: float = READ) -> tuple[git.TreeEntry, ...]:
        """The files of the index, perhaps only those of a directory; their sizes are not told."""
        async with self._at(path) as session:
            only = [git_arguments.path(under)] if under else []
            return await self._entries(self._hooked(session), only, timeout)

    async def contents(
        self, path: Path, revision: str, files: Iterable[str], *, timeout: float = READ
    ) -> dict[str, git.FileContent]:
        """Files as they are in a commit; those that it has not are left out, and of too large ones the bytes.

        Args:
            path: The repository.
            revision: The commit.
            files: Their paths, relative to the top.
            timeout: Seconds for each question.
        """
        wanted = list(dict.fromkeys(git_arguments.path(each) for each in files))
        async with self._at(path) as session:
            commit = await self._resolve(session, revision)
            entries: list[git.TreeEntry] = []
            for portion in _portions(wanted):
                entries += await self._ls_tree(session, commit, portion, timeout=timeout)
            asked = set(wanted)
            return await self._contents(session, [each for each in entries if each.path in asked], timeout)

    async def staged_contents(
        self, path: Path, files: Iterable[str], *, timeout: float = READ
    ) -> dict[str, git.FileContent]:
        """Files as they are in the index; those that it has not are left out."""
        wanted = list(dict.fromkeys(git_arguments.path(each) for each in files))
        async with self._at(path) as session:
            return await self._indexed(self._hooked(session), wanted, timeout)

    async def patched(self, path: Path, patch: bytes, *, base: str = "HEAD", timeout: float = READ) -> git.Patched:
        """What a patch would make of a commit, as ``git diff`` and ``git format-patch`` write them.

        Args:
            path: The repository, of which nothing is touched.
            patch: The patch.
            base: The commit that it is for.
            timeout: Seconds for each question.

        Raises:
            git_errors.Rejected: It is no patch, or does not fit.
        """
        async with self._at(path) as session:
            older = await self._base(session, base)
            index = {"GIT_INDEX_FILE": str(session.home / "index")}
            own = dataclasses.replace(session, environment={**session.environment, **index})
            await self._run(own, ["read-tree", older], timeout=timeout)
            arguments = ["apply", "--cached", "--whitespace=nowarn", "-"]
            done = await self._run(own, arguments, stdin=patch, timeout=timeout, check=False)
            if done.code != 0:
                detail = f"the patch does not fit {base}: {_first(done.stderr)}"
                raise git_errors.GitRejected(
                    "apply", detail=detail, target=session.target, hint="make it again from this commit"
                )
            changes = await self._cached(own, older, timeout=timeout)
            touched = [each.path for each in changes if each.status != "deleted"]
            files = await self._indexed(own, touched, timeout)
        return git.Patched(changes=changes, files=files)

    def _hooked(self, session: GitSession) -> GitSession:
        """With the index that ``git commit -a`` has made for its hooks, if we run in one and it lies beside our own."""
        given, own = Path(os.path.abspath(self._index)), Path(session.environment["GIT_INDEX_FILE"])
        if not self._index or given.parent.resolve() != own.parent.resolve():
            return session
        return dataclasses.replace(session, environment={**session.environment, "GIT_INDEX_FILE": str(given)})

    async def _base(self, session: GitSession, base: str) -> str:
        """A commit; the tree without files for the head of a repository that has none."""
        if base == "HEAD" and not await self._tip(session):
            done = await self._run(session, ["hash-object", "-t", "tree", "--stdin"])
            return done.text.strip()
        return await self._resolve(session, base)

    async def _cached(self, session: GitSession, base: str, *, timeout: float) -> tuple[git.FileChange, ...]:
        done = await self._run(session, ["diff", "--cached", *RAW_DIFF, *PLAIN_DIFF, base, "--"], timeout=timeout)
        return parsed(git_output.raw_diff, done, name="diff", target=session.target)

    async def _indexed(self, session: GitSession, wanted: Sequence[str], timeout: float) -> dict[str, git.FileContent]:
        entries: list[git.TreeEntry] = []
        for portion in _portions(wanted):
            entries += await self._entries(session, portion, timeout)
        asked = set(wanted)
        entries = [each for each in entries if each.path in asked]
        ids = "".join(f"{each.id}\n" for each in entries if each.kind != "submodule").encode()
        done = await self._run(session, ["cat-file", "--batch-check"], stdin=ids, timeout=timeout)
        sizes = git_output.sizes(done.stdout)
        entries = [dataclasses.replace(each, size=sizes.get(each.id, 0)) for each in entries]
        return await self._contents(session, entries, timeout)

    async def _entries(self, session: GitSession, only: Sequence[str], timeout: float) -> tuple[git.TreeEntry, ...]:
        done = await self._run(session, ["ls-files", "--stage", "-z", "--full-name", "--", *only], timeout=timeout)
        return parsed(git_output.staged, done, name="ls-files", target=session.target)

    async def _contents(
        self, session: GitSession, entries: Sequence[git.TreeEntry], timeout: float
    ) -> dict[str, git.FileContent]:
        read = [each for each in entries if each.kind != "submodule" and each.size <= FILE]
        data = {each.path: content async for each, content in self._blobs(session, read, timeout=timeout)}
        return {each.path: git.FileContent(each.path, each.kind, data.get(each.path)) for each in entries}


def overlay(
    files: Mapping[str, git.FileContent], paths: Iterable[str]
) -> tuple[dict[str, bytes | None], dict[str, str]]:
    """Contents of files by path, None for those that are not there, and symbolic links apart, by what they say."""
    plain: dict[str, bytes | None] = {}
    links: dict[str, str] = {}
    for path in paths:
        found = files.get(path)
        if found is not None and found.kind == "symlink":
            links[path] = os.fsdecode(found.data or b"")
        else:
            plain[path] = found.data if found is not None and found.kind != "submodule" else None
    return plain, links


def _first(stderr: str) -> str:
    return next((line.removeprefix("error: ") for line in stderr.splitlines() if line.strip()), "it says nothing")


def _portions(items: Sequence[str]) -> list[Sequence[str]]:
    return [items[start : start + _PORTION] for start in range(0, len(items), _PORTION)]


# Making commits: in a new repository, or in the user's own work tree.
#
# Nothing of the repository is obeyed here either: no hook says no, no filter changes a file, nothing is signed. A file
# that has a filter, such as one of LFS, is therefore not added at all rather than added wrongly.


class GitCommits(GitStates):
    """What adds to a repository."""

    async def init(self, path: Path, *, branch: str = "main", bare: bool = False) -> None:
        """Make a repository in a directory that is empty or not there."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise errors.UsageError(f"{path} is not empty")
        async with self._nowhere(str(path)) as session:
            options = [
                "--quiet",
                "--template=",
                f"--initial-branch={git_arguments.branch(branch)}",
                *(["--bare"] if bare else []),
            ]
            await self._run(session, ["init", *options, "--", str(path.absolute())])

    async def add(self, path: Path, files: Sequence[str], *, timeout: float = READ) -> None:
        """Put files into the index as they are in the work tree, or take out those that are gone.

        Args:
            path: The work tree.
            files: Paths relative to its top; a directory means everything in it that is not ignored.
            timeout: Seconds.

        Raises:
            errors.Refused: A file has a filter, which would have to be run.
        """
        wanted = [git_arguments.path(file) for file in files]
        async with self._at(path, writes=True) as session:
            for portion in _writing_portions(wanted):
                listed = await self._run(
                    session,
                    ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *portion],
                    timeout=timeout,
                )
                done = await self._run(
                    session, ["check-attr", "-z", "--stdin", "filter"], stdin=listed.stdout, timeout=timeout
                )
                fields = done.stdout.split(b"\0")[:-1]
                for file, value in zip(fields[::3], fields[2::3], strict=True):
                    if value not in {b"unspecified", b"unset"}:
                        raise errors.Refused(
                            f"{file.decode(errors='replace')!r} has the filter {value.decode(errors='replace')!r}, "
                            "and filters are not run",
                            hint="add it with git",
                        )
            for portion in _writing_portions(wanted):
                await self._run(session, ["add", "--all", "--", *portion], timeout=timeout)

    async def commit(
        self,
        path: Path,
        message: str,
        *,
        author: git.GitPerson,
        when: datetime.datetime | None = None,
        files: Sequence[str] = (),
        timeout: float = READ,
    ) -> str | None:
        """Commit what is in the index, and give the commit; None if there is nothing to commit.

        Args:
            path: The work tree.
            message: The whole message, kept as it is.
            author: Who commits.
            when: The time of the commit; now if it is not given.
            files: Commit only these, as they are in the work tree, and leave the rest of the index for later.
            timeout: Seconds.

        Raises:
            errors.Refused: A merge or rebase is under way, or no branch is checked out.
        """
        if not message.strip() or "\0" in message:
            raise errors.UsageError("a commit needs a message")
        found = repository.locate(path)
        if found.unfinished:
            raise errors.Refused(
                f"something is under way in {found.place}: there is a {found.unfinished}", hint="end it with git first"
            )
        only = [git_arguments.path(file) for file in files]
        async with self._at(path, writes=True) as session:
            attached = await self._run(session, ["symbolic-ref", "--quiet", "HEAD"], check=False)
            if attached.code != 0:
                raise errors.Refused(f"no branch is checked out in {found.place}", hint="git switch to a branch first")
            before = await self._tip(session)
            against = ["diff-index", "--quiet", *([] if only else ["--cached"]), "HEAD", "--", *only]
            if before and (await self._run(session, against, check=False)).code == 0:
                return None
            moment = f"@{int(when.timestamp())} {when.strftime('%z') or '+0000'}" if when is not None else ""
            who = {
                "NAME": git_arguments.person(author.name),
                "EMAIL": git_arguments.person(author.email),
                "DATE": moment,
            }
            environment = {
                f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in who.items() if value
            }
            options = ["--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=verbatim", "--no-status", "--file=-"]
            await self._run(
                session,
                ["commit", *options, *(["--only"] if only else []), "--", *only],
                stdin=message.encode(),
                environment=environment,
                timeout=timeout,
            )
            return await self._tip(session)


def _writing_portions(items: Sequence[str]) -> list[list[str]]:
    return [list(items[start : start + _PORTION]) for start in range(0, len(items), _PORTION)]
