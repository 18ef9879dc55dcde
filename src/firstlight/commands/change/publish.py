"""A change in Git: committed on its branch, pushed, approved, and merged into the branch that engines follow.

The commit has the files of the decided change and nothing else, and is made as the user's own git makes it.
"""

import dataclasses
import itertools
import re
import textwrap
from collections.abc import Iterable

from firstlight import errors
from firstlight.clients import git
from firstlight.clients import git as clients_git
from firstlight.commands.change import change_checks, followed_branch
from firstlight.commands.change.change_record import ChangePart, ChangeRecord
from firstlight.commands.change.followed_branch import FollowedRepository
from firstlight.commands.change.ongoing_change import ChangeHost, ChangeRequest, OngoingChange
from firstlight.commands.change.record_store import recorded_step
from firstlight.commands.decide import approval, decide, git_names
from firstlight.commands.decide.change_source import DecisionFacts
from firstlight.commands.decide.decide import Decided
from firstlight.drawing import safe
from firstlight.model.decision import Approved


class Unmerged(errors.FirstlightError):
    """It is pushed, and nobody has merged it so far; that is no failure."""


def clone_of(carrying: OngoingChange) -> FollowedRepository:
    """The clone of a change that goes through Git."""
    assert carrying.repository is not None
    return carrying.repository


async def commit(carrying: OngoingChange) -> None:
    """All of the change made a commit on its branch, unless it is one."""
    record, clone = carrying.record, clone_of(carrying)
    is_one = len(record.parts) == 1
    if record.commit and (record.parts[0].commit or not is_one):
        return
    branch = record.branch
    async with recorded_step(carrying.keeper, "git:commit", title=f"commit on {branch}") as told:
        made = await make_commit(carrying.decided, clone, branch=branch, message=commit_message(record), id=record.id)
        told.says = f"{made[:12]} has {len(record.files)} file{'' if len(record.files) == 1 else 's'}"
        whole = (dataclasses.replace(record.parts[0], commit=made),)
        carrying.keeper.set(commit=made, parts=whole if is_one else record.parts)


async def push(carrying: OngoingChange, number: int, host: ChangeHost) -> None:
    """Push the branch of a part, and say how it gets to be looked at."""
    clone, part = clone_of(carrying), carrying.record.parts[number]
    if part.merged:
        return
    async with recorded_step(
        carrying.keeper, f"git:push{_of(part)}", title=f"push {part.branch}", cluster=part.cluster
    ) as told:
        there = await clone.own.fetch(clone.root, clone.remote, part.branch)
        if there == part.commit or await _is_landed(carrying, part):
            told.says = "it was pushed before"
            return
        try:
            await clone.own.push(clone.root, clone.remote, part.branch, commit=part.commit)
        except git.GitRejected as error:
            if not error.is_behind:
                raise
            raise errors.Refused(
                f"{part.branch} of {clone.remote} has other commits than this clone",
                hint=f"git pull --rebase {clone.remote} {part.branch}, then firstlight change resume",
            ) from error
        told.says = f"{part.commit[:12]} to {clone.remote}"
    host.say(f"pushed {part.branch} to {clone.remote}")


async def approved(carrying: OngoingChange, number: int, *, tip: str = "") -> Approved:
    """Who has approved a part of the change, as its commits and those say whose word counts; it is recorded.

    Args:
        carrying: The change.
        number: Of the part.
        tip: A commit whose rules and owners count, in place of those when the change was decided.
    """
    part = carrying.record.parts[number]
    decision, scene = carrying.decided.decision, change_checks.scene(carrying)
    if tip:
        decision, authority = await decide.judged_at(carrying.decided, tip, git=clone_of(carrying).git)
        scene = dataclasses.replace(scene, authorities=(authority,))
    if scene.history is not None:
        history = dataclasses.replace(scene.history, base=base_of(carrying, part), head=part.commit)
        scene = dataclasses.replace(scene, history=history)
    found = await approval.approved(decision, scene)
    by = f", by {'; '.join(found.by)}" if found.by else ""
    carrying.keeper.set(approval=f"{found.needed}: {found.says}{by}")
    return found


async def merge(carrying: OngoingChange, number: int, wishes: ChangeRequest, host: ChangeHost) -> None:
    """Wait until a part is merged, or merge it where that was asked for and is allowed.

    Raises:
        Unmerged: It is not merged, and is not to be waited for.
        errors.Refused: It is to be merged here, and is not approved, or conflicts.
    """
    clone, part = clone_of(carrying), carrying.record.parts[number]
    if part.merged:
        return
    base = base_of(carrying, part)
    title = f"merge into {clone.followed}"
    async with recorded_step(carrying.keeper, f"git:merge{_of(part)}", title=title, cluster=part.cluster) as told:
        found = await _is_landed(carrying, part)
        is_now = wishes.is_merging or bool(carrying.record.emergency)
        if not found and is_now:
            await _allow(carrying, number)
            message = merge_message(carrying.record, part.branch)
            found = await followed_branch.merge_change(
                clone, base=base, commit=part.commit, message=message, say=host.say
            )
        elif not found and wishes.is_waiting:
            for line in how(clone, part):
                host.say(line)
            found = await followed_branch.wait_merged(
                clone, base=base, commit=part.commit, branch=part.branch, say=host.say
            )
        if not found:
            told.verdict, told.says = "waiting", f"{clone.tracked} does not have it so far"
            raise Unmerged(
                f"{part.branch} is pushed, and {clone.followed} does not have it so far",
                hint=f"Have it merged, then: firstlight change resume {carrying.record.id}",
            )
        told.says = f"{clone.followed} has it at {found[:12]}"
        put(carrying, number, merged=found)
        if not is_now:
            await _note_merge(carrying, number, found)
    host.say(f"{clone.followed} has it at {found[:12]}")


async def _note_merge(carrying: OngoingChange, number: int, merged: str) -> None:
    """Who has merged it: who reviewed it before, the forge knows."""
    found = await approved(carrying, number)
    if not found.is_given:
        clone = clone_of(carrying)
        (made,) = await clone.git.log(clone.root, head=merged, limit=1)
        by = f"{made.committer.name} <{made.committer.email}>"
        carrying.keeper.set(approval=f"{found.needed}: merged by {by}; who has reviewed it, the forge knows")


async def _allow(carrying: OngoingChange, number: int) -> None:
    # By the branch as it is now: rules and owners may have changed while the change waited.
    found = await approved(carrying, number, tip=await clone_of(carrying).fetched())
    if found.is_given:
        return
    if carrying.record.emergency:
        carrying.keeper.set(
            approval=f"{found.needed}: not waited for in an emergency ({carrying.record.emergency}): {found.says}"
        )
        return
    raise errors.Refused(
        f"it needs the approval of {_whom(found)} before it is merged: {found.says}",
        hint=f"Have it approved and merged; then firstlight change resume {carrying.record.id}",
    )


def _whom(found: Approved) -> str:
    return {"peer": "a peer", "lead": "a lead", "team": "the team"}.get(str(found.needed), str(found.needed))


def how(clone: FollowedRepository, part: ChangePart) -> list[str]:
    """How a branch gets to be reviewed and merged, as far as its host is known."""
    url = clone.url.removesuffix(".git").removesuffix("/")
    if url.startswith("git@"):
        url = "https://" + url.removeprefix("git@").replace(":", "/", 1)
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2].lower()
    if host == "github.com":
        return [f"open a pull request: {url}/compare/{clone.followed}...{part.branch}?expand=1"]
    if host.startswith("gitlab"):
        return [f"open a merge request: {url}/-/merge_requests/new?merge_request[source_branch]={part.branch}"]
    return [f"have {part.branch} reviewed and merged into {clone.followed}"]


def base_of(carrying: OngoingChange, part: ChangePart) -> str:
    """What the commit of a part stands on."""
    return carrying.record.base if part.commit == carrying.record.commit else f"{part.commit}^"


def put(carrying: OngoingChange, number: int, **fields: str) -> None:
    """Change fields of a part in the record."""
    parts = list(carrying.record.parts)
    parts[number] = dataclasses.replace(parts[number], **fields)  # type: ignore[arg-type]
    carrying.keeper.set(parts=tuple(parts))


async def _is_landed(carrying: OngoingChange, part: ChangePart) -> str:
    clone = clone_of(carrying)
    tip = await clone.fetched()
    return await followed_branch.landed_commit(clone, base=base_of(carrying, part), commit=part.commit, tip=tip)


def _of(part: ChangePart) -> str:
    return f":{part.cluster}" if part.cluster else ""


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
