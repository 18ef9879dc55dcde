"""Whether a change has the approval that it needs, by the trailers of its commits.

What counts stands in the newest commit, since only that one covers all of the change: what was approved before another
commit came was approved without that one. Nobody approves what they wrote themselves.
"""

import dataclasses
from collections.abc import Sequence

from firstlight.model.decision import Approval, Approved
from firstlight.model.git import Commit
from firstlight.policy.checking import owners as owning
from firstlight.policy.checking import trailers
from firstlight.policy.checking.owners import Owners, Person
from firstlight.policy.checking.trailers import Named

KEYS = ("reviewed-by", "approved-by")
WORDS_ONLY = (
    "trailers are words that whoever commits writes: that they are true is for the forge's reviews and signatures"
)
_CO_AUTHOR = "co-authored-by"


@dataclasses.dataclass(frozen=True, slots=True)
class _Given:
    """One approval that somebody wrote down."""

    key: str
    text: str
    who: Named | None


def judged(needed: Approval, commits: Sequence[Commit], owners: Owners | None, *, base: str = "") -> Approved:
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
        says = f"there is no {owning.FILE} in the base{where}, so that nobody is known who may approve"
        return Approved(needed=needed, is_given=False, says=f"{says}; write there {owning.EXAMPLE}")
    return _judged(needed, commits, owners)


def _judged(needed: Approval, commits: Sequence[Commit], owners: Owners) -> Approved:
    newest = commits[0]
    authors = _authors(commits)
    counted: dict[Person, str] = {}
    aside: list[str] = []
    for given in _approvals(newest):
        person = owners.by_email(given.who.email) if given.who else None
        if given.who is None:
            aside.append(f"{given.key}: {given.text!r} is no Name <address>")
        elif person is None:
            aside.append(f"{given.who} is not in {owning.FILE}")
        elif _is_author(person, given.who, authors):
            aside.append(f"{person} has written a part of it, and cannot approve that")
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


def _missing(needed: Approval, people: Sequence[Person], owners: Owners) -> str:
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


def _who(owners: Owners) -> str:
    names = [each.name for each in owners.people if each.is_lead]
    return f" ({', '.join(names)})" if names else f" ({owning.FILE} has none)"


def _given(needed: Approval, people: Sequence[Person]) -> str:
    return f"{needed} approval by {' and '.join(_names(people).values())}"


def _names(people: Sequence[Person]) -> dict[str, str]:
    """Everybody once, also those who are listed with several addresses."""
    return {_folded(each.name): each.name for each in people}


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


def _approvals(commit: Commit) -> list[_Given]:
    found = (each for each in trailers.of_body(commit.body) if each.key.lower() in KEYS)
    return [_Given(each.key.capitalize(), each.value, trailers.person(each.value)) for each in found]


def _authors(commits: Sequence[Commit]) -> list[Named]:
    """Who wrote any of it; also whoever merged, since a merge can bring what none of its parents has."""
    found = [Named(each.author.name, each.author.email) for each in commits]
    for commit in commits:
        written = (
            trailers.person(each.value) for each in trailers.of_body(commit.body) if each.key.lower() == _CO_AUTHOR
        )
        found += [each for each in written if each is not None]
    return found


def _is_author(person: Person, given: Named, authors: Sequence[Named]) -> bool:
    """By address or by name: people commit from several addresses."""
    emails = {person.email.casefold(), given.email.casefold()}
    names = {_folded(each) for each in (person.name, given.name)} - {""}
    return any(each.email.casefold() in emails or _folded(each.name) in names for each in authors)


def _earlier(commits: Sequence[Commit], counted: dict[Person, str], owners: Owners) -> list[str]:
    """What was approved before the last commit came, and covers it no longer."""
    said = []
    for number, commit in enumerate(commits[1:], 1):
        for given in _approvals(commit):
            person = owners.by_email(given.who.email) if given.who else None
            if person is not None and person not in counted:
                after = "1 commit came" if number == 1 else f"{number} commits came"
                said.append(f"{person.name} has approved {commit.id[:7]}, and {after} after it: the newest must say so")
    return said
