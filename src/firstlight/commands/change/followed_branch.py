"""The user's clone of the repo and the branch that the engine follows, as the clone reaches it."""

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path

from firstlight import errors
from firstlight.clients import git as clients_git
from firstlight.clients.git import Git
from firstlight.clients.git.user_git import MergeConflict, UserGit
from firstlight.engines import revisions
from firstlight.model.cluster import Cluster


@dataclasses.dataclass(frozen=True, kw_only=True)
class FollowedRepository:
    """The clone, and what of its remote the engine follows."""

    git: Git
    """For looking: it obeys nothing of the clone."""
    own: UserGit
    """For what the user would type."""
    root: Path
    """The repo: the clone's top, or a directory in it."""
    prefix: str
    """Where the repo lies in the clone: empty, or with a slash at its end."""
    remote: str
    url: str
    """Of the remote, without credentials."""
    followed: str
    """The branch that the engine follows."""

    @property
    def tracked(self) -> str:
        """The remote's branch as the clone calls it."""
        return f"{self.remote}/{self.followed}"

    def inside(self, files: Iterable[str]) -> list[str]:
        """Files of the repo from the clone's top."""
        return [f"{self.prefix}{each}" for each in files]

    async def fetched(self) -> str:
        """The tip of the followed branch as the remote has it now.

        Raises:
            errors.Refused: There is no such branch.
            git_errors.GitError: The remote does not answer, or says no.
        """
        tip = await self.own.fetch(self.root, self.remote, self.followed)
        if not tip:
            raise errors.Refused(
                f"the engine follows {self.followed}, which {self.remote} ({self.url}) does not have",
                hint=f"Push it: git push {self.remote} HEAD:{self.followed}; or name another one as gitops.branch.",
            )
        return tip


async def followed_repository(root: Path, clusters: Iterable[Cluster], git: Path | None) -> FollowedRepository:
    """The clone around a repo.

    Args:
        root: The repo.
        clusters: Those that follow it; all must follow the same branch.
        git: The program.

    Raises:
        errors.Refused: There is no clone or no remote, or the clusters follow different branches.
    """
    if git is None:
        raise errors.ToolError("a change is carried through Git, which is not installed", hint="install git")
    own, looking = UserGit(git), Git(git)
    head = await looking.head(root)
    top = (head.work_tree or root).resolve()
    below = root.resolve().relative_to(top).as_posix() if root.resolve().is_relative_to(top) else "."
    found = await own.remotes(root)
    if not found:
        raise errors.Refused(
            "this clone has no remote, so that no engine can get what is committed here",
            hint="git remote add origin URL",
        )
    following = [each for each in clusters if each.engine is not None]
    branches = {each.branch or "main" for each in following} or {"main"}
    if len(branches) > 1:
        raise errors.Refused(
            f"the clusters follow different branches: {', '.join(sorted(branches))}",
            hint="Carry it through one cluster after the other: firstlight change start --cluster NAME",
        )
    urls = [each.url for each in following]
    same = [each for each in found if any(revisions.is_same_repository(each.url, url) for url in urls)]
    chosen = next(iter([*same, *(each for each in found if each.name == "origin"), *found]))
    return FollowedRepository(
        git=looking, own=own, root=root, prefix="" if below == "." else f"{below}/", remote=chosen.name,
        url=chosen.url, followed=branches.pop(),
    )  # fmt: skip


# Whether the followed branch has a change, however it came there; and merging it, where that is allowed.


TRIES = 5
"""Attempts to push a merge while others push, too."""
PAUSES = (1.0, 2.0, 5.0, 10.0, 20.0)
"""Seconds between two looks at the remote; the last one for all further ones."""
_FEW = 3


async def landed_commit(repository: FollowedRepository, *, base: str, commit: str, tip: str) -> str:
    """The first commit of a branch that has a change; empty if none has.

    A merge has the commit in its past. After a squash or a rebase the commit is another one, and then its files are as
    the change has them, or what differs there is what the change differs in.

    Args:
        repository: The clone, which has all of the commits.
        base: What the change stands on.
        commit: The change.
        tip: Of the branch.

    Raises:
        git_errors.GitError: The clone does not have them.
    """
    git, root = repository.git, repository.root
    line = await git.first_parents(root, base, tip)
    if await git.is_ancestor(root, commit, tip):
        for each in line:
            if await git.is_ancestor(root, commit, each):
                return each
        return tip
    changes = await git.changed_files(root, base, commit, since_fork=False)
    files = [name for each in changes for name in (each.path, each.old_path) if name]
    if not files:
        return ""
    wanted, patch = await git.file_ids(root, commit, files), await git.patch_id(root, base, commit)
    before = base
    for each in line:
        if await git.file_ids(root, each, files) == wanted:
            return each
        if patch and await git.patch_id(root, before, each) == patch:
            return each
        before = each
    return await _rebased(repository, base=base, commit=commit, line=line)


async def _rebased(repository: FollowedRepository, *, base: str, commit: str, line: tuple[str, ...]) -> str:
    """The last of a row of commits that are those of the change, each for itself."""
    git, root = repository.git, repository.root
    own = await git.first_parents(root, base, commit)
    if len(own) < 2:
        return ""
    wanted = {await git.patch_id(root, f"{each}^", each) for each in own} - {""}
    for each in line:
        wanted.discard(await git.patch_id(root, f"{each}^", each))
        if not wanted:
            return each
    return ""


async def wait_merged(
    repository: FollowedRepository,
    *,
    base: str,
    commit: str,
    branch: str,
    say: Callable[[str], None],
    timeout: float | None = None,
) -> str:
    """Wait until the followed branch has a change, and give the commit by which it has it; empty if time is over.

    Args:
        repository: The clone.
        base: What the change stands on.
        commit: The change.
        branch: Its branch at the remote.
        say: Told what is waited for.
        timeout: Seconds; for ever if it is not given.

    Raises:
        errors.Refused: The branch has other commits by now, which nobody has decided.
    """
    looks, told = 0, ""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout):
            while True:
                said = f"waits for {repository.followed} of {repository.remote} to have {commit[:12]}"
                try:
                    tip = await repository.fetched()
                    if found := await landed_commit(repository, base=base, commit=commit, tip=tip):
                        return found
                    await _check_unmoved(repository, commit=commit, branch=branch)
                except (errors.Unreachable, errors.TimedOut) as error:
                    said = f"tries again: {error.message}"
                if said != told:
                    say(told := said)
                await asyncio.sleep(PAUSES[min(looks, len(PAUSES) - 1)])
                looks += 1
    return ""


async def _check_unmoved(repository: FollowedRepository, *, commit: str, branch: str) -> None:
    there = await repository.own.fetch(repository.root, repository.remote, branch)
    if there and there != commit:
        raise errors.Refused(
            f"{branch} has moved on to {there[:12]}, and what was decided is {commit[:12]}",
            hint="firstlight change resume decides it anew, and goes on with it",
        )


async def merge_change(
    repository: FollowedRepository, *, base: str, commit: str, message: str, say: Callable[[str], None]
) -> str:  # fmt: skip
    """Merge a change into the followed branch and push it: forward where that suffices, else by a merge.

    Args:
        repository: The clone; the user's work tree is not touched.
        base: What the change stands on.
        commit: The change.
        message: Of the merge.
        say: Told what is done.

    Raises:
        errors.Refused: It conflicts with what the branch has by now.
        gits.Rejected: The remote has rules against it.
    """
    own, root = repository.own, repository.root
    for attempt in range(1, TRIES + 1):
        tip = await repository.fetched()
        if found := await landed_commit(repository, base=base, commit=commit, tip=tip):
            return found
        made = commit
        if not await repository.git.is_ancestor(root, tip, commit):
            made = await _merged(repository, tip=tip, commit=commit, message=message)
        try:
            await own.push(root, repository.remote, repository.followed, commit=made)
        except clients_git.GitRejected as error:
            if not error.is_behind or attempt == TRIES:
                raise
            say(f"{repository.followed} has moved meanwhile: merged anew")
            continue
        await repository.fetched()
        return made
    raise AssertionError("unreachable")


async def _merged(repository: FollowedRepository, *, tip: str, commit: str, message: str) -> str:
    async with repository.own.beside(repository.root, tip) as tree:
        try:
            return await repository.own.merge(tree, commit, message)
        except MergeConflict as error:
            raise errors.Refused(
                f"{commit[:12]} conflicts with what {repository.followed} has by now, in "
                f"{', '.join(error.files[:_FEW])}{' …' if len(error.files) > _FEW else ''}",
                hint=f"git merge {repository.tracked} on the branch, mend the files, commit, git push; then "
                "firstlight change resume",
            ) from error
