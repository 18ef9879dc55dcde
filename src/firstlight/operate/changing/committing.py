"""A decided change made a commit on a branch of its own: its files and nothing else, as the user's git commits."""

import itertools
from collections.abc import Iterable

from firstlight import errors
from firstlight.clients import git as gits
from firstlight.operate.changing.repository import Repository
from firstlight.operate.deciding.asked import Staged
from firstlight.operate.deciding.deciding import Decided
from firstlight.policy.deciding import branch_names
from firstlight.policy.deciding.facts import Facts
from firstlight.report import change_message

PREFIX = "change/"


async def branch_of(decided: Decided, repository: Repository) -> str:
    """On which branch a change is or will be: the one that somebody has begun for it, else ``change/NAME``."""
    known = await repository.git.branches(repository.root)
    states = decided.states
    own = frozenset(each.removeprefix(f"{repository.remote}/").removeprefix(PREFIX) for each in known)
    facts = Facts(topic=states.topic, is_committed=states.is_committed, branches=own)
    found = branch_names.branches(decided.decision.items, facts, followed=[repository.followed])
    if found.fresh or not found.topic:
        return f"{PREFIX}{found.fresh or _unused(found.undo.removeprefix('revert-'), own)}"
    return found.topic


def _unused(name: str, known: Iterable[str]) -> str:
    tries = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(each for each in tries if each not in known)


async def check_base(decided: Decided, repository: Repository) -> None:
    """See that the followed branch has all that the change stands on: else more would be merged than was decided.

    Raises:
        errors.Refused: It has not.
    """
    base = decided.states.base
    if not base:
        raise errors.Refused(
            "there is no commit that the change could stand on", hint="Commit and push the repo first."
        )
    tip = await repository.fetched()
    if await repository.git.is_ancestor(repository.root, base, tip):
        return
    more = await repository.git.log(repository.root, tip, base)
    count = "a commit" if len(more) == 1 else f"{len(more)} commits"
    raise errors.Refused(
        f"the change stands on {count} that {repository.tracked} does not have, and that nobody has decided",
        hint=f"Carry them through with it: commit, then firstlight change start --diff {repository.tracked}...HEAD",
    )


async def committed(decided: Decided, repository: Repository, *, branch: str, message: str, id: str) -> str:
    """The commit of a change, made if it is not there; then what is not of it is as it was.

    Args:
        decided: The change.
        repository: The clone.
        branch: Where it belongs.
        message: Of the commit.
        id: The id of the change, by which its commit is known again.

    Raises:
        errors.Refused: Another branch is checked out, or somebody else's branch has that name.
        gits.Rejected: A hook has said no.
    """
    git, own, root = repository.git, repository.own, repository.root
    states = decided.states
    local = set(await git.branches(root))
    if states.head:
        if branch not in local:
            await own.put_branch(root, branch, states.head)
        return states.head
    if branch in local and (found := await made(repository, branch, id)):
        return found
    head = await git.head(root)
    if head.commit != states.base:
        raise errors.Refused("something was committed since the change was decided", hint="Run the same again.")
    if head.branch != branch:
        if branch in local:
            raise errors.Refused(f"there is a branch {branch} already", hint=f"git switch {branch}, or remove it.")
        await own.switch(root, branch)
    files = None if states.title == Staged().title else states.paths
    return await own.commit(root, message, files=files)


async def made(repository: Repository, branch: str, id: str) -> str:
    """The commit of a change that an earlier run has made on a branch; empty if none has."""
    try:
        commits = await repository.git.log(repository.root, head=branch, limit=1)
    except gits.NotFound:
        return ""
    mark = f"{change_message.TRAILER}: {id}"
    return next((each.id for each in commits if mark in each.body.splitlines()), "")
