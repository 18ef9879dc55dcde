"""Whether a change has the approval that it needs: its commits, and who may approve as the tip of the base says."""

import dataclasses
import functools
import re
from collections.abc import Sequence

from firstlight.clients.git import git_errors
from firstlight.commands.decide import owners_file, trailers
from firstlight.commands.decide.checks.check_input import CheckInput, CommitRange
from firstlight.commands.decide.owners_file import Approver, ChangeOwners
from firstlight.commands.decide.team_rules import RuleAuthority
from firstlight.commands.decide.trailers import TrailerPerson
from firstlight.model.decision import Approval, Approved, Decision
from firstlight.model.git import Commit
from firstlight.repo import team_files
from firstlight.repo.work_tree import WorkTree


async def approved(decision: Decision, scene: CheckInput) -> Approved:
    """Who has approved, and whether that suffices.

    Args:
        decision: What was decided.
        scene: With those whose owners count, and the commits that are asked about.

    Raises:
        errors.ConfigError: A list of owners is wrong.
        git_errors.GitError: The commits cannot be read.
    """
    history = scene.history
    commits = await _commits(history) if history is not None and decision.approval != Approval.SELF else ()
    base = history.base[:12] if history is not None else ""
    return judged_approval(decision.approval, commits, owners_of(scene.authorities), base=base)


def owners_of(authorities: Sequence[RuleAuthority]) -> ChangeOwners | None:
    """Who may approve, as all of those say whose word counts: a change must not choose its own judges.

    Raises:
        errors.ConfigError: The file is wrong.
    """
    found = [_owners(each.tree) for each in authorities]
    agreed = [each for each in found if each is not None]
    return functools.reduce(owners_file.both, agreed) if agreed and len(agreed) == len(found) else None


def _owners(tree: WorkTree) -> ChangeOwners | None:
    if not tree.is_file(owners_file.FILE):
        return None
    team_files.check_links(tree)
    data = tree.bytes(owners_file.FILE)
    return owners_file.load(data) if data is not None else None


async def _commits(history: CommitRange) -> tuple[Commit, ...]:
    if not history.head:
        return ()
    try:
        # All of them: who wrote any of it cannot approve it.
        return await history.git.log(history.path, history.base, history.head, limit=None)
    except git_errors.GitNotFound:
        if history.base:
            raise
        return ()


# Whether a change has the approval that it needs, by the trailers of its commits.
#
# What counts stands in the newest commit, since only that one covers all of the change: what was approved before
# another commit came was approved without that one. Nobody approves what they wrote, committed or merged themselves,
# nor what somebody did whose name or address looks like theirs.


KEYS = ("reviewed-by", "approved-by")
WORDS_ONLY = (
    "trailers are words that whoever commits writes: that they are true is for the forge's reviews and signatures"
)
_TOOK_PART = re.compile(
    r"\s*(?:(?:co-)?(?:authored|developed|committed)|merged|pair-programmed)-(?:by|with)[ \t]*:(?P<who>.*)",
    re.IGNORECASE,
)
"""Wherever it stands in a message: what keeps somebody from approving need not be a trailer by Git's rules."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Given:
    """One approval that somebody wrote down."""

    key: str
    text: str
    who: TrailerPerson | None


def judged_approval(
    needed: Approval, commits: Sequence[Commit], owners: ChangeOwners | None, *, base: str = ""
) -> Approved:
    """Whether the needed approval is there.

    Args:
        needed: Who must agree.
        commits: Those that are asked about, the newest first.
        owners: Who may approve, as the base has it; None where it has no such file.
        base: What the base is called.
    """
    if needed == Approval.SELF:
        return Approved(needed=needed, is_given=True, says="low risk: the author's own word suffices")
    if not commits:
        says = "nothing is committed, so that nobody can have approved it"
        return Approved(
            needed=needed, is_given=False, says=f"{says}; commit it with an Approved-by: Name <address> line"
        )
    if owners is None:
        where = f" of {base}" if base else ""
        says = f"there is no {owners_file.FILE} in the base{where}, so that nobody is known who may approve"
        return Approved(needed=needed, is_given=False, says=f"{says}; write there {owners_file.EXAMPLE}")
    return _judged(needed, commits, owners)


def _judged(needed: Approval, commits: Sequence[Commit], owners: ChangeOwners) -> Approved:
    newest = commits[0]
    hands = _hands(commits)
    counted: dict[Approver, str] = {}
    aside: list[str] = []
    for given in _approvals(newest):
        person = owners.by_email(given.who.email) if given.who else None
        if given.who is None:
            aside.append(f"{given.key}: {given.text!r} is no Name <address>")
        elif person is None:
            aside.append(f"{given.who} is not in {owners_file.FILE}")
        elif own := _own_hand(person, given.who, hands, owners):
            aside.append(f"{person} {own}, and cannot approve that")
        else:
            counted.setdefault(person, f"{person}, {given.key} of {newest.id[:7]}")
    missing = _missing(needed, tuple(counted), owners)
    says = missing if missing else _given(needed, tuple(counted))
    word = () if missing else (WORDS_ONLY,)
    return Approved(
        needed=needed,
        is_given=not missing,
        says="; ".join([says, *dict.fromkeys([*aside, *_earlier(commits, counted, owners)]), *word]),
        by=tuple(counted.values()),
    )


def _missing(needed: Approval, people: Sequence[Approver], owners: ChangeOwners) -> str:
    """What is still needed; empty where nothing is."""
    leads = [each for each in people if each.is_lead]
    if needed == Approval.PEER:
        return "" if people else "one other person must approve it"
    if needed == Approval.LEAD:
        return "" if leads else f"a lead must approve it{_who(owners)}"
    lacking = owners.approvals - len(_names(people))
    wanted = [f"{lacking} more of {owners.approvals} people"] if lacking > 0 else []
    wanted += [] if leads else [f"a lead{_who(owners)}"]
    return f"{' and '.join(wanted)} must approve it" if wanted else ""


def _who(owners: ChangeOwners) -> str:
    names = [each.name for each in owners.people if each.is_lead]
    return f" ({', '.join(names)})" if names else f" ({owners_file.FILE} has none)"


def _given(needed: Approval, people: Sequence[Approver]) -> str:
    return f"{needed} approval by {' and '.join(_names(people).values())}"


def _names(people: Sequence[Approver]) -> dict[str, str]:
    """Everybody once, also those who are listed with several addresses, or under names that look alike."""
    found: list[Approver] = []
    for each in people:
        if not any(trailers.may_be_same(_named(each), _named(other)) for other in found):
            found.append(each)
    return {each.email: each.name for each in found}


def _named(person: Approver) -> TrailerPerson:
    return TrailerPerson(person.name, person.email)


def _approvals(commit: Commit) -> list[_Given]:
    found = (each for each in trailers.trailers_of(commit.body) if each.key.lower() in KEYS)
    return [_Given(each.key.capitalize(), each.value, trailers.person(each.value)) for each in found]


def _hands(commits: Sequence[Commit]) -> list[tuple[str, TrailerPerson]]:
    """Who had a hand in any of it, and what they did; a merge, too, can bring what none of its parents has."""
    found = []
    for each in commits:
        merged = len(each.parents) > 1
        found.append(("has merged a part of it" if merged else "has written a part of it", each.author))
        found.append(("has merged a part of it" if merged else "has committed a part of it", each.committer))
    hands = [(did, TrailerPerson(who.name, who.email)) for did, who in found]
    for each in commits:
        for line in each.body.splitlines():
            if part := _TOOK_PART.match(line):
                who = trailers.person(part["who"]) or TrailerPerson(part["who"].strip(), "")
                hands.append(("has written a part of it", who))
    return list(dict.fromkeys(hands))


def _own_hand(
    person: Approver, given: TrailerPerson, hands: Sequence[tuple[str, TrailerPerson]], owners: ChangeOwners
) -> str:
    """What somebody who approves has done to it; empty where that is nothing.

    Whoever is listed with several addresses is the same by all of them.
    """
    own = [each for each in map(_named, owners.people) if trailers.may_be_same(each, _named(person))]
    for did, who in hands:
        if any(trailers.may_be_same(each, who) for each in (*own, given)):
            return did if who.email.casefold() == person.email.casefold() else f"{did} as {who}"
    return ""


def _earlier(commits: Sequence[Commit], counted: dict[Approver, str], owners: ChangeOwners) -> list[str]:
    """What was approved before the last commit came, and covers it no longer."""
    said = []
    for number, commit in enumerate(commits[1:], 1):
        for given in _approvals(commit):
            person = owners.by_email(given.who.email) if given.who else None
            if person is not None and person not in counted:
                after = "1 commit came" if number == 1 else f"{number} commits came"
                said.append(f"{person.name} has approved {commit.id[:7]}, and {after} after it: the newest must say so")
    return said
