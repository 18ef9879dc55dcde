"""On which branch a change is made: the one that it is on already, else a new one named after what changes."""

import dataclasses
import itertools
import posixpath
import re
from collections.abc import Iterable, Sequence

from firstlight.model.change import Change, Field, Level, Matter, Verb
from firstlight.model.decision import Item
from firstlight.policy.deciding.facts import Facts

_USUAL = {"main", "master"}
"""Branches that nobody works on directly, whoever follows them."""
_NO_BRANCH = re.compile(r"[0-9a-f]{7,40}|v?\d+(\.\d+)+.*|HEAD.*|-.*|.*[~^:@{}\s\\].*", re.DOTALL)
"""Commits, versions and other things that revisions are called by."""
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MOST = 40
_NAMED = 2
"""Steps of a way that has an item of a list, and its name."""
_VERBS = {Verb.ADDED: "add", Verb.REMOVED: "remove", Verb.MOVED: "move"}
_DECLARING = ("Kustomization", "HelmRelease", "Application")
"""Kinds that are a component rather than a part of one."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Branches:
    """The branches of a change; empty where there is none."""

    topic: str = ""
    fresh: str = ""
    """The topic, where it has to be made first."""
    undo: str = ""
    """Where it is taken back."""
    is_merged: bool = False
    """Whether an engine's branch has it already."""


def branches(items: Sequence[Item], facts: Facts, *, followed: Iterable[str]) -> Branches:
    """Where a change is and where it should be; never on a branch that an engine follows."""
    engines = tuple(dict.fromkeys(followed))
    kept = {*_USUAL, *engines}
    current = "" if _NO_BRANCH.fullmatch(facts.topic) else facts.topic.removeprefix("origin/")
    made = _name(items)
    is_merged = facts.is_committed and any(_holds(facts, each) for each in engines or _USUAL)
    is_own = bool(current) and current not in kept
    undo = _unused(f"revert-{current if is_own else made}", facts)
    if is_own or is_merged:
        return Branches(topic=current if is_own else "", undo=undo, is_merged=is_merged)
    if facts.is_committed and not current:  # somewhere, and nobody knows on which branch
        return Branches(undo=undo)
    made = _unused(f"{made}-change" if made in kept else made, facts)
    return Branches(topic=made, fresh=made, undo=_unused(f"revert-{made}", facts))


def _holds(facts: Facts, branch: str) -> bool:
    """Whether a branch has the change where others see it; without a remote, whether it has it at all."""
    remote = f"origin/{branch}"
    return remote in facts.holding or (branch in facts.holding and remote not in facts.branches)


def _unused(name: str, facts: Facts) -> str:
    """A name that no branch has."""
    tries = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(each for each in tries if not facts.branches & {each, f"origin/{each}"})


def _name(items: Sequence[Item]) -> str:
    """What the gravest change of a file is about: ``whoami-replicas``, ``add-whoami-network-policy``."""
    sources = [each for each in items if each.change.level is Level.SOURCE]
    # That a kustomization lists another file says less than what is in that file.
    own = [each for each in sources if each.change.matter is not Matter.KUSTOMIZE or len(sources) == 1]
    item = next(iter([*own, *sources, *items]), None)
    if item is None:
        return "change"
    subject, verb = _subject(item), _VERBS.get(item.change.verb, "")
    if verb and item.change.object is not None and not _is_whole(item, own):
        words = [verb, _joined([item.change.object.name, item.change.kind])]
    elif entry := _entry(item):
        words = [*map(_plain, entry)]
    else:
        words = [verb, _plain(subject)] if verb else [_plain(subject), _plain(_field(item))]
    found = "-".join(each for each in words if each)[:_MOST].strip("-")
    return found if found and found not in _VERBS.values() else "change"


def _is_whole(item: Item, items: Sequence[Item]) -> bool:
    """Whether a component comes, goes or moves with it, and not only a part of one."""
    if item.change.kind in _DECLARING:
        return True
    names = {each.component for each in item.touched}
    alike = [each for each in items if names & {one.component for one in each.touched}]
    return len(alike) > 1 and all(each.change.verb is item.change.verb for each in alike)


def _joined(parts: Iterable[str]) -> str:
    """Words one after the other, without those that the end has already."""
    found = ""
    for each in map(_plain, parts):
        found = found if found == each or found.endswith(f"-{each}") else "-".join(filter(None, (found, each)))
    return found


def _subject(item: Item) -> str:
    change = item.change
    if change.matter is Matter.PLATFORM and (steps := _steps(item))[1:]:
        return steps[1].strip("[]").partition("=")[2] or steps[1]
    if len(item.touched) == 1 or (item.touched and change.object is None):
        return item.touched[0].component.rpartition("/")[2]
    if change.object is not None and change.object.name:
        return change.object.name
    return _stem(change) or change.title


def _stem(change: Change) -> str:
    return posixpath.basename(change.place.path).lstrip(".").partition(".")[0]


def _field(item: Item) -> str:
    """The last word of the way to the gravest field that is a name."""
    plain = [each for each in _steps(item) if not each.startswith(("[", "line "))]
    return plain[-1].rpartition("/")[2] if plain else ""


def _entry(item: Item) -> tuple[str, str] | None:
    """What comes or goes of a list of a file, such as a release of a helmfile: ``("remove", "coredns")``."""
    field, steps = _first(item), _steps(item)
    if field is None or field.verb not in _VERBS or len(steps) < _NAMED or not steps[-2].startswith(f"[{steps[-1]}="):
        return None
    return _VERBS[field.verb], steps[-2].partition("=")[2].rstrip("]")


def _first(item: Item) -> Field | None:
    return next((each.field for each in item.rulings if each.field is not None), None)


def _steps(item: Item) -> tuple[str, ...]:
    field = _first(item)
    return field.steps if field is not None else ()


def _plain(text: str) -> str:
    return _NOT_IN_NAMES.sub("-", _CAPITAL.sub("-", text).lower()).strip("-")
