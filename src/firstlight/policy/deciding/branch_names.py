"""On which branch a change is made: the one that it is on already, else a new one named after what changes."""

import dataclasses
import posixpath
import re
from collections.abc import Iterable, Sequence

from firstlight.model.change import Change, Level, Verb
from firstlight.model.decision import Item
from firstlight.policy.deciding.facts import Facts

_USUAL = {"main", "master"}
"""Branches that nobody works on directly, whoever follows them."""
_NO_BRANCH = re.compile(r"[0-9a-f]{7,40}|v?\d+(\.\d+)+.*|HEAD.*|-.*|.*[~^:@{}\s\\].*", re.DOTALL)
"""Commits, versions and other things that revisions are called by."""
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MOST = 40
_VERBS = {Verb.ADDED: "add", Verb.REMOVED: "remove", Verb.MOVED: "move"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Branches:
    """The branches of a change; empty where there is none."""

    topic: str = ""
    fresh: str = ""
    """The topic, where it has to be made first."""


def branches(items: Sequence[Item], facts: Facts, *, followed: Iterable[str]) -> Branches:
    """Where a change is and where it should be; never on a branch that an engine follows."""
    kept = {*_USUAL, *followed}
    current = "" if _NO_BRANCH.fullmatch(facts.topic) else facts.topic.removeprefix("origin/")
    if current and current not in kept:
        return Branches(topic=current)
    if facts.is_committed and not current:  # somewhere, and nobody knows on which branch
        return Branches()
    made = _name(items)
    made = f"{made}-change" if made in kept else made
    return Branches(topic=made, fresh=made)


def _name(items: Sequence[Item]) -> str:
    """What the gravest change of a file is about: ``whoami-replicas``, ``add-whoami``."""
    item = next((each for each in items if each.change.level is Level.SOURCE), items[0] if items else None)
    if item is None:
        return "change"
    subject, verb = _plain(_subject(item)), _VERBS.get(item.change.verb, "")
    words = [verb, subject] if verb else [subject, _plain(_field(item))]
    found = "-".join(each for each in words if each)[:_MOST].strip("-")
    return found if found and found not in _VERBS.values() else "change"


def _subject(item: Item) -> str:
    change = item.change
    if len(item.touched) == 1 or (item.touched and change.object is None):
        return item.touched[0].component.rpartition("/")[2]
    if change.object is not None and change.object.name:
        return change.object.name
    return _stem(change) or change.title


def _stem(change: Change) -> str:
    return posixpath.basename(change.place.path).lstrip(".").partition(".")[0]


def _field(item: Item) -> str:
    """The last word of the way to the gravest field that is a name."""
    field = next((each.field for each in item.rulings if each.field is not None), None)
    steps = field.steps if field is not None else ()
    plain = [each for each in steps if not each.startswith(("[", "line "))]
    return plain[-1].rpartition("/")[2] if plain else ""


def _plain(text: str) -> str:
    return _NOT_IN_NAMES.sub("-", _CAPITAL.sub("-", text).lower()).strip("-")
