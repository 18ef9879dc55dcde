"""A decided change made a commit on a branch of its own: its files and nothing else, as the user's git commits."""

import itertools
import re
import textwrap
from collections.abc import Iterable

from firstlight import errors
from firstlight.clients import git as clients_git
from firstlight.commands.change.change_record import ChangeRecord
from firstlight.commands.change.followed_branch import FollowedRepository
from firstlight.commands.decide import git_names
from firstlight.commands.decide.change_source import DecisionFacts
from firstlight.commands.decide.decide import Decided
from firstlight.drawing import safe

PREFIX = "change/"


async def branch_of(decided: Decided, repository: FollowedRepository) -> str:
    """On which branch a change is or will be: the one that somebody has begun for it, else ``change/NAME``."""
    known = await repository.git.branches(repository.root)
    states = decided.states
    own = frozenset(each.removeprefix(f"{repository.remote}/").removeprefix(PREFIX) for each in known)
    facts = DecisionFacts(topic=states.topic, is_committed=states.is_committed, branches=own)
    found = git_names.branches(decided.decision.items, facts, followed=[repository.followed])
    if found.fresh or not found.topic:
        return f"{PREFIX}{found.fresh or _unused(found.undo.removeprefix('revert-'), own)}"
    return found.topic


def _unused(name: str, known: Iterable[str]) -> str:
    tries = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(each for each in tries if each not in known)


async def check_base(decided: Decided, repository: FollowedRepository) -> None:
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


async def make_commit(decided: Decided, repository: FollowedRepository, *, branch: str, message: str, id: str) -> str:
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
    if branch in local and (found := await existing_commit(repository, branch, id)):
        return found
    head = await git.head(root)
    if head.commit != states.base:
        raise errors.Refused("something was committed since the change was decided", hint="Run the same again.")
    if head.branch != branch:
        if branch in local:
            raise errors.Refused(f"there is a branch {branch} already", hint=f"git switch {branch}, or remove it.")
        await own.switch(root, branch)
    files = None if states.is_staged else states.paths
    return await own.commit(root, message, files=files)


async def existing_commit(repository: FollowedRepository, branch: str, id: str) -> str:
    """The commit of a change that an earlier run has made on a branch; empty if none has."""
    try:
        commits = await repository.git.log(repository.root, head=branch, limit=1)
    except clients_git.GitNotFound:
        return ""
    mark = f"{TRAILER}: {id}"
    return next((each.id for each in commits if mark in each.body.splitlines()), "")


# What the commit of a change says: its title, why, what was decided, and by what it is known again.


TRAILER = "Firstlight-Change"
BACK = "Firstlight-Reverts"
_SUBJECT = 72
_WIDTH = 72
_SPACE = re.compile(r"\s+")


def commit_message(record: ChangeRecord, *, part: str = "") -> str:
    """The whole message of the commit of a change, or of a part of it.

    Args:
        record: With what was decided.
        part: The cluster that the part is for; empty for all of it.
    """
    about = f"For the cluster {part}, after those before it." if part else ""
    decided = f"Decided as {record.side or 'no side'}, risk {record.risk}, approval {_needed(record)}"
    rules = f", {_listed(record.rules)}" if record.rules else ""
    emergency = f"Emergency ({record.emergency}): without waiting for a review." if record.emergency else ""
    body = [record.why, about, emergency, f"{decided}{rules}."]
    return _written(_subject(record.title, part), body, f"{TRAILER}: {record.id}")


def merge_message(record: ChangeRecord, branch: str) -> str:
    """The message of a merge into the followed branch."""
    return _written(_subject(f"Merge {branch}: {record.title}", ""), [record.why], f"{TRAILER}: {record.id}")


def revert_message(record: ChangeRecord, *, why: str, part: str = "") -> str:
    """The message of the commit that takes a change back, or a part of it."""
    said = f"This takes back the change {record.id}{f' for the cluster {part}' if part else ''}."
    return _written(_subject(f"Revert: {record.title}", part), [why, said], f"{BACK}: {record.id}")


def _subject(title: str, part: str) -> str:
    made = _SPACE.sub(" ", safe.text(title)).strip() + (f" ({part})" if part else "")
    # A line that begins so would be taken for a comment, and vanish.
    made = made.lstrip("#").strip() or "A change"
    return made if len(made) <= _SUBJECT else f"{made[: _SUBJECT - 1].rstrip()}…"


def _written(subject: str, body: list[str], trailer: str) -> str:
    paragraphs = ["\n".join(_wrapped(line) for line in safe.text(each).strip().splitlines()) for each in body if each]
    return "\n\n".join([subject, *(each for each in paragraphs if each), trailer]) + "\n"


def _wrapped(line: str) -> str:
    # No line may look like a trailer or a comment: who approved is for those who approve to write.
    plain = re.sub(r"^([A-Za-z][A-Za-z-]*)(?=:\s)", r"\1 ", line.strip().lstrip("#").strip())
    return "\n".join(textwrap.wrap(plain, _WIDTH, break_long_words=False, break_on_hyphens=False))


def _needed(record: ChangeRecord) -> str:
    return record.approval.partition(":")[0] or "unknown"


def _listed(rules: tuple[str, ...]) -> str:
    shown = ", ".join(rules[:3])
    return f"rule {shown}" if len(rules) == 1 else f"rules {shown}{' …' if len(rules) > 3 else ''}"
