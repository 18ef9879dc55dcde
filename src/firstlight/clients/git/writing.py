"""Making commits: in a new repository, or in the user's own work tree.

Nothing of the repository is obeyed here either: no hook says no, no filter changes a file, nothing is signed. A file
that has a filter, such as one of LFS, is therefore not added at all rather than added wrongly.
"""

import datetime
from collections.abc import Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients.git import names, repository
from firstlight.clients.git.program import READ
from firstlight.clients.git.states import States
from firstlight.model import git

_PORTION = 500
"""Paths on one command line."""


class Writing(States):
    """What adds to a repository."""

    async def init(self, path: Path, *, branch: str = "main", bare: bool = False) -> None:
        """Make a repository in a directory that is empty or not there."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise errors.UsageError(f"{path} is not empty")
        async with self._nowhere(str(path)) as session:
            options = [
                "--quiet",
                "--template=",
                f"--initial-branch={names.branch(branch)}",
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
        wanted = [names.path(file) for file in files]
        async with self._at(path, writes=True) as session:
            for portion in _portions(wanted):
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
            for portion in _portions(wanted):
                await self._run(session, ["add", "--all", "--", *portion], timeout=timeout)

    async def commit(
        self,
        path: Path,
        message: str,
        *,
        author: git.Person,
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
        only = [names.path(file) for file in files]
        async with self._at(path, writes=True) as session:
            attached = await self._run(session, ["symbolic-ref", "--quiet", "HEAD"], check=False)
            if attached.code != 0:
                raise errors.Refused(f"no branch is checked out in {found.place}", hint="git switch to a branch first")
            before = await self._tip(session)
            against = ["diff-index", "--quiet", *([] if only else ["--cached"]), "HEAD", "--", *only]
            if before and (await self._run(session, against, check=False)).code == 0:
                return None
            moment = f"@{int(when.timestamp())} {when.strftime('%z') or '+0000'}" if when is not None else ""
            who = {"NAME": names.person(author.name), "EMAIL": names.person(author.email), "DATE": moment}
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


def _portions(items: Sequence[str]) -> list[list[str]]:
    return [list(items[start : start + _PORTION]) for start in range(0, len(items), _PORTION)]
