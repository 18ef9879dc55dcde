"""What was committed, what changed, and what is not committed so far. Nothing here changes a repository."""

import contextlib
import datetime
import re
from collections.abc import Sequence
from pathlib import Path

from firstlight.clients.git import git_arguments, git_errors, git_output
from firstlight.clients.git.git_program import READ, GitProgram, GitSession, parsed
from firstlight.model import git, remote_url

MANY = 1000
"""Commits that ``log`` gives unless it is told otherwise."""

PLAIN_DIFF = ("--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--submodule=short")

RAW_DIFF = ("--raw", "-z", "--no-abbrev", "--find-renames")
"""What ``records.raw_diff`` reads."""
_LOCAL, _REMOTE, _TAGS = "refs/heads/", "refs/remotes/", "refs/tags/"
_SHORT_HASH = re.compile(r"[0-9a-f]{4,63}", re.IGNORECASE)


class GitHistory(GitProgram):
    """The past of a repository, and the difference of its work tree from it."""

    async def head(self, path: Path, *, timeout: float = READ) -> git.Head:
        """Where a work tree or a bare repository stands."""
        async with self._at(path) as session:
            work_tree = session.environment.get("GIT_WORK_TREE")
            if work_tree is None:
                commit = await self._tip(session)
                done = await self._run(session, ["symbolic-ref", "--quiet", "--short", "HEAD"], check=False)
                found = git_output.WorkTreeStatus(commit, done.text.strip(), ())
            else:
                found = await self._status(session, timeout=timeout)
            return git.Head(
                commit=found.commit,
                branch=found.branch,
                is_dirty=bool(found.changes),
                remote_url=remote_url.without_credentials(session.settings.get("remote.origin.url", "")),
                work_tree=Path(work_tree) if work_tree is not None else None,
            )

    async def status(self, path: Path, *, timeout: float = READ) -> tuple[git.FileChange, ...]:
        """What the work tree has that its commit has not, untracked files included.

        No filter is run: a file that one would change, such as one of LFS, counts as modified as soon as its time
        stamp differs from the one in the index.
        """
        async with self._at(path) as session:
            return (await self._status(session, timeout=timeout)).changes

    async def unwatched(self, path: Path, *, timeout: float = READ) -> tuple[str, ...]:
        """Files of a work tree that Git was told not to look at, so that ``status`` never names them.

        ``update-index`` does so by ``--assume-unchanged`` and ``--skip-worktree``; a sparse checkout does, too.
        """
        async with self._at(path) as session:
            if "GIT_WORK_TREE" not in session.environment:
                return ()
            done = await self._run(session, ["ls-files", "-v", "-z", "--full-name"], timeout=timeout)
        return parsed(git_output.unwatched, done, name="ls-files", target=session.target)

    async def resolve(self, path: Path, revision: str) -> str:
        """The commit that a revision names.

        Raises:
            git_errors.NotFound: It names none.
        """
        async with self._at(path) as session:
            return await self._resolve(session, revision)

    async def log(
        self, path: Path, base: str = "", head: str = "HEAD", *, files: Sequence[str] = (), limit: int | None = MANY,
        timeout: float = READ,
    ) -> tuple[git.Commit, ...]:  # fmt: skip
        """Return the commits that ``head`` has and ``base`` has not, the newest first; all of ``head`` without a base.

        Args:
            path: A repository.
            base: What the commits are not in.
            head: What they are in.
            files: Only commits that touch one of these files or directories, from the top of the repository.
            limit: More are left out; None gives all.
            timeout: Seconds.
        """
        async with self._at(path) as session:
            revisions = [await self._resolve(session, head)]
            if base:
                revisions.append(f"^{await self._resolve(session, base)}")
            count = [f"--max-count={limit}"] if limit is not None else []
            arguments = ["log", f"--format=tformat:{git_output.LOG_FORMAT}", *count, "--no-show-signature"]
            only = [git_arguments.path(each) for each in files]
            done = await self._run(session, [*arguments, *revisions, "--", *only], timeout=timeout)
        return parsed(git_output.log, done, name="log", target=session.target)

    async def last_commits(
        self, path: Path, files: Sequence[str], *, timeout: float = READ
    ) -> dict[str, datetime.datetime]:
        """When files were committed last, by one look at the past; those that never were are left out.

        Args:
            path: A work tree, or a directory in one.
            files: Relative to ``path``.
            timeout: Seconds.
        """
        path = path.resolve()
        async with self._at(path) as session:
            inside = path.relative_to(session.cwd).as_posix() if path.is_relative_to(session.cwd) else "."
            prefix = "" if inside == "." else f"{inside}/"
            only = [git_arguments.path(f"{prefix}{each}") for each in files]
            if not only or not await self._tip(session):
                return {}
            arguments = ["log", "-z", "--name-only", "--no-merges", "--no-renames", "--format=tformat:%cI%x00"]
            done = await self._run(session, [*arguments, "--no-show-signature", "HEAD", "--", *only], timeout=timeout)
        found = parsed(git_output.last_commits, done, name="log", target=session.target)
        return {name.removeprefix(prefix): when for name, when in found.items()}

    async def has_merges(self, path: Path, base: str, head: str = "HEAD", *, timeout: float = READ) -> bool:
        """Whether merges are among the commits that ``head`` has and ``base`` has not."""
        async with self._at(path) as session:
            revisions = [await self._resolve(session, head), f"^{await self._resolve(session, base)}"]
            arguments = ["rev-list", "--merges", "--max-count=1", *revisions, "--"]
            return bool((await self._run(session, arguments, timeout=timeout)).stdout)

    async def branches(self, path: Path, *, holding: str = "", timeout: float = READ) -> tuple[str, ...]:
        """Branches, those of remotes as ``origin/main``; where a revision is given, only those that have it."""
        async with self._at(path) as session:
            asked = [f"--contains={await self._resolve(session, holding)}"] if holding else []
            arguments = ["for-each-ref", "--format=%(refname)", *asked, _LOCAL, _REMOTE]
            found = (await self._run(session, arguments, timeout=timeout)).text.split()
        return tuple(each.removeprefix(_LOCAL).removeprefix(_REMOTE) for each in found)

    async def meanings(self, path: Path, revision: str) -> dict[str, str]:
        """Everything that a short name can mean, as full names with their commits.

        Git takes a tag before a branch of the same name, a branch before a remote one, and either before a hash that
        begins like it. So whoever may push a name can make another one mean something else.
        """
        name = git_arguments.revision(revision)
        if name in {"HEAD", "@"} or git_arguments.is_hash(name) or "~" in name or "^" in name:
            return {}
        async with self._at(path) as session:
            wanted = [f"{prefix}{name}" for prefix in (_TAGS, _LOCAL, _REMOTE)]
            arguments = ["for-each-ref", "--format=%(refname)", *wanted]
            listed = (await self._run(session, arguments)).text.split()
            full = [each for each in listed if each in wanted]
            if full and _SHORT_HASH.fullmatch(name):
                full += (await self._run(session, ["rev-parse", f"--disambiguate={name}"], check=False)).text.split()
            found = {}
            for each in full:
                with contextlib.suppress(git_errors.GitNotFound):  # a tag of a tree, or a hash of a file
                    found[each] = await self._resolve(session, each)
        return found

    async def upstream(self, path: Path, revision: str) -> str:
        """The remote branch that a local one follows, as its full name; empty where there is none, or it is not local.

        Args:
            path: The repository.
            revision: A branch as people name it, or ``HEAD`` for the one that is checked out.
        """
        async with self._at(path) as session:
            asked = ["rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options"]
            full = (await self._run(session, [*asked, git_arguments.revision(revision)], check=False)).text.strip()
            if not full.startswith(_LOCAL):
                return ""
            branch = full.removeprefix(_LOCAL)
            remote = session.settings.get(f"branch.{branch}.remote", "origin")
            followed = session.settings.get(f"branch.{branch}.merge", full)
            if remote == "." or not followed.startswith(_LOCAL):
                return ""
            wanted = f"{_REMOTE}{remote}/{followed.removeprefix(_LOCAL)}"
            done = await self._run(session, ["for-each-ref", "--format=%(refname)", wanted], check=False)
            return wanted if wanted in done.text.split() else ""

    async def changed_files(
        self, path: Path, base: str, head: str = "HEAD", *, since_fork: bool = True, timeout: float = READ
    ) -> tuple[git.FileChange, ...]:
        """What differs between two commits, renames recognised.

        Args:
            path: The repository.
            base: The older commit.
            head: The newer one.
            since_fork: Compare with the last commit that both have in common, as a review does, not with ``base``.
            timeout: Seconds.

        Raises:
            git_errors.NotFound: There is no such commit, or they have none in common.
        """
        async with self._at(path) as session:
            between = await self._between(session, base, head, since_fork=since_fork)
            arguments = ["diff", *RAW_DIFF, *PLAIN_DIFF, *between, "--"]
            done = await self._run(session, arguments, timeout=timeout)
        return parsed(git_output.raw_diff, done, name="diff", target=session.target)

    async def diff(
        self,
        path: Path,
        base: str,
        head: str = "HEAD",
        *,
        paths: Sequence[str] = (),
        since_fork: bool = True,
        timeout: float = READ,
    ) -> str:
        """The same as text, perhaps of some files only."""
        async with self._at(path) as session:
            between = await self._between(session, base, head, since_fork=since_fork)
            options = ["--patch", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/", *PLAIN_DIFF]
            only = [git_arguments.path(each) for each in paths]
            done = await self._run(session, ["diff", *options, *between, "--", *only], timeout=timeout)
        return done.text

    async def is_ancestor(self, path: Path, older: str, newer: str) -> bool:
        """Whether a commit has another one in its past, or is that one."""
        async with self._at(path) as session:
            return await self._is_ancestor(
                session, await self._resolve(session, older), await self._resolve(session, newer)
            )

    async def _status(self, session: GitSession, *, timeout: float) -> git_output.WorkTreeStatus:
        # A submodule would be asked by a Git of its own, which obeys the submodule's config.
        arguments = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=all"]
        done = await self._run(session, [*arguments, "--no-ahead-behind", "--find-renames"], timeout=timeout)
        return parsed(git_output.status, done, name="status", target=session.target)

    async def _tip(self, session: GitSession) -> str:
        done = await self._run(session, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], check=False)
        return done.text.strip() if done.code == 0 else ""

    async def _resolve(self, session: GitSession, revision: str) -> str:
        wanted = f"{git_arguments.revision(revision)}^{{commit}}"
        done = await self._run(session, ["rev-parse", "--verify", "--quiet", "--end-of-options", wanted], check=False)
        found = done.text.strip()
        if done.code != 0 or not git_arguments.is_hash(found):
            detail = f"{revision!r} names no commit"
            raise git_errors.GitNotFound("rev-parse", detail=detail, target=session.target, stderr=done.stderr)
        return found

    async def _between(self, session: GitSession, base: str, head: str, *, since_fork: bool) -> list[str]:
        older, newer = await self._resolve(session, base), await self._resolve(session, head)
        if since_fork:
            done = await self._run(session, ["merge-base", older, newer], check=False)
            if done.code != 0:
                detail = f"{base!r} and {head!r} have no commit in common"
                raise git_errors.GitNotFound(
                    "merge-base", detail=detail, target=session.target, hint="is the clone deep enough?"
                )
            older = done.text.split()[0]
        return [older, newer]

    async def _is_ancestor(self, session: GitSession, older: str, newer: str) -> bool:
        done = await self._run(session, ["merge-base", "--is-ancestor", older, newer], check=False)
        if done.code > 1:
            raise git_errors.from_output("merge-base", done.stderr, target=session.target)
        return done.code == 0
