"""On which branch a change is made: the one that it is on already, else a new one named after what changes."""

import dataclasses
import itertools
import posixpath
import re
from collections.abc import Iterable, Sequence

from firstlight.commands.decide.change_source import DecisionFacts
from firstlight.commands.decide.rule_form import STAGES, Stage
from firstlight.model import argocd_names, flux_names
from firstlight.model.change import Change, ChangedField, ChangeVerb, Level, Matter
from firstlight.model.decision import DecisionItem

_USUAL = {"main", "master"}
"""Branches that nobody works on directly, whoever follows them."""
_NO_BRANCH = re.compile(r"[0-9a-f]{7,40}|v?\d+(\.\d+)+.*|HEAD.*|-.*|.*[~^:@{}\s\\].*", re.DOTALL)
"""Commits, versions and other things that revisions are called by."""
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MOST = 40
_NAMED = 2
"""Steps of a way that has an item of a list, and its name."""
_VERBS = {ChangeVerb.ADDED: "add", ChangeVerb.REMOVED: "remove", ChangeVerb.MOVED: "move"}
_DECLARING = (flux_names.KUSTOMIZATION, flux_names.HELM_RELEASE, argocd_names.APPLICATION)
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


def branches(items: Sequence[DecisionItem], facts: DecisionFacts, *, followed: Iterable[str]) -> Branches:
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


def _holds(facts: DecisionFacts, branch: str) -> bool:
    """Whether a branch has the change where others see it; without a remote, whether it has it at all."""
    remote = f"origin/{branch}"
    return remote in facts.holding or (branch in facts.holding and remote not in facts.branches)


def _unused(name: str, facts: DecisionFacts) -> str:
    """A name that no branch has."""
    tries = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(each for each in tries if not facts.branches & {each, f"origin/{each}"})


def _name(items: Sequence[DecisionItem]) -> str:
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


def _is_whole(item: DecisionItem, items: Sequence[DecisionItem]) -> bool:
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


def _subject(item: DecisionItem) -> str:
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


def _field(item: DecisionItem) -> str:
    """The last word of the way to the gravest field that is a name."""
    plain = [each for each in _steps(item) if not each.startswith(("[", "line "))]
    return plain[-1].rpartition("/")[2] if plain else ""


def _entry(item: DecisionItem) -> tuple[str, str] | None:
    """What comes or goes of a list of a file, such as a release of a helmfile: ``("remove", "coredns")``."""
    field, steps = _first(item), _steps(item)
    if field is None or field.verb not in _VERBS or len(steps) < _NAMED or not steps[-2].startswith(f"[{steps[-1]}="):
        return None
    return _VERBS[field.verb], steps[-2].partition("=")[2].rstrip("]")


def _first(item: DecisionItem) -> ChangedField | None:
    return next((each.field for each in item.rulings if each.field is not None), None)


def _steps(item: DecisionItem) -> tuple[str, ...]:
    field = _first(item)
    return field.steps if field is not None else ()


def _plain(text: str) -> str:
    return _NOT_IN_NAMES.sub("-", _CAPITAL.sub("-", text).lower()).strip("-")


# What a change is called in Git at each stage: by what it was asked about, then by its commits, then by both ends.


_LAST = "HEAD~1"


@dataclasses.dataclass(frozen=True)
class GitNames:
    """Branches and revisions of a change."""

    facts: DecisionFacts
    branches: Branches
    branch: str
    """What the engine follows."""

    def values(self, stage: Stage) -> dict[str, str | Sequence[str]]:
        """What placeholders stand for at a stage."""
        return {
            "branch": self.branch,
            "topic": self.branches.topic,
            "fresh": self.branches.fresh,
            "undo": self.branches.undo,
            "patch": self.patch,
            "asked": [*self.asked(stage), *self.facts.looked],
            "revert": self._revert(),
            "since": self.facts.since or _LAST,
        }

    @property
    def patch(self) -> str:
        """The file of a patch that is not applied yet."""
        found = self.facts.asked[1] if self.facts.asked[:1] == ("--patch",) else ""
        return f"./{found}" if found.startswith("-") and found != "-" else found

    @property
    def carried(self) -> list[str] | None:
        """How ``firstlight change start`` is told of the change; None for a patch, for files and for own rules."""
        match self.facts.asked:
            case () | ("--staged",):
                found = list(self.facts.asked)
            case ("--diff", revisions) if self.facts.is_committed:
                found = ["--diff", revisions]
            case _:
                return None
        return None if self.facts.rules else found

    def asked(self, stage: Stage) -> list[str]:
        """How to ask about the same: of what is not committed as it was asked, and later by its commits."""
        return [*self._revisions(STAGES.index(stage)), *self.facts.rules]

    def _revisions(self, at: int) -> Sequence[str]:
        facts, topic = self.facts, self.branches.topic
        is_later = at > STAGES.index("merge")
        if facts.is_committed:
            # Once it is merged, nothing is left between the branch and what it was merged into.
            is_known = is_later and bool(facts.since and topic)
            return ("--diff", f"{facts.since}..{topic}") if is_known else facts.asked or ("--diff", f"{_LAST}..HEAD")
        if at < STAGES.index("add"):
            return facts.asked
        if at <= STAGES.index("commit"):
            return ("--staged",)
        return "--diff", f"{facts.since or _LAST}..{topic}" if is_later else f"{self._base()}...{topic}"

    def _base(self) -> str:
        """The branch that the engine follows, as it is called here."""
        known = self.facts.branches
        named = [each for each in (self.branch, f"origin/{self.branch}") if each in known]
        return named[0] if named else self.facts.since if known and self.facts.since else self.branch

    def _revert(self) -> Sequence[str]:
        facts, topic = self.facts, self.branches.topic
        if facts.revert:
            return facts.revert.split()
        if facts.is_committed or not topic:
            return ("HEAD",)
        return (f"{facts.since}..{topic}" if facts.since else topic,)
