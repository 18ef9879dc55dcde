"""Whether the followed branch has a change, however it came there; and merging it, where that is allowed."""

import asyncio
import contextlib
from collections.abc import Callable

from firstlight import errors
from firstlight.clients import git as gits
from firstlight.clients.git.own import Conflict
from firstlight.operate.changing.repository import Repository

TRIES = 5
"""Attempts to push a merge while others push, too."""
PAUSES = (1.0, 2.0, 5.0, 10.0, 20.0)
"""Seconds between two looks at the remote; the last one for all further ones."""
_FEW = 3


async def landed(repository: Repository, *, base: str, commit: str, tip: str) -> str:
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


async def _rebased(repository: Repository, *, base: str, commit: str, line: tuple[str, ...]) -> str:
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


async def wait(
    repository: Repository,
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
                    if found := await landed(repository, base=base, commit=commit, tip=tip):
                        return found
                    await _check_unmoved(repository, commit=commit, branch=branch)
                except (errors.Unreachable, errors.TimedOut) as error:
                    said = f"tries again: {error.message}"
                if said != told:
                    say(told := said)
                await asyncio.sleep(PAUSES[min(looks, len(PAUSES) - 1)])
                looks += 1
    return ""


async def _check_unmoved(repository: Repository, *, commit: str, branch: str) -> None:
    there = await repository.own.fetch(repository.root, repository.remote, branch)
    if there and there != commit:
        raise errors.Refused(
            f"{branch} has moved on to {there[:12]}, and what was decided is {commit[:12]}",
            hint="firstlight change resume decides it anew, and goes on with it",
        )


async def merge(
    repository: Repository, *, base: str, commit: str, message: str, say: Callable[[str], None]
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
        if found := await landed(repository, base=base, commit=commit, tip=tip):
            return found
        made = commit
        if not await repository.git.is_ancestor(root, tip, commit):
            made = await _merged(repository, tip=tip, commit=commit, message=message)
        try:
            await own.push(root, repository.remote, repository.followed, commit=made)
        except gits.Rejected as error:
            if not error.is_behind or attempt == TRIES:
                raise
            say(f"{repository.followed} has moved meanwhile: merged anew")
            continue
        await repository.fetched()
        return made
    raise AssertionError("unreachable")


async def _merged(repository: Repository, *, tip: str, commit: str, message: str) -> str:
    async with repository.own.beside(repository.root, tip) as tree:
        try:
            return await repository.own.merge(tree, commit, message)
        except Conflict as error:
            raise errors.Refused(
                f"{commit[:12]} conflicts with what {repository.followed} has by now, in "
                f"{', '.join(error.files[:_FEW])}{' …' if len(error.files) > _FEW else ''}",
                hint=f"git merge {repository.tracked} on the branch, mend the files, commit, git push; then "
                "firstlight change resume",
            ) from error
