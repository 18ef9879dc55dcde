"""A kind of object by which an engine brings others: its names, and how one is asked, held still, read and judged."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import at, sequence, text
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.verdict import Verdict

Live = Mapping[str, Any]
"""An object as it is in the cluster."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """A field that suspends an object."""

    group: str
    """Of its API."""
    steps: tuple[str, ...]
    """The path of the field."""
    value: Any
    words: str
    """The same for people, as it is written."""
    also: frozenset[str] = frozenset()
    """Other spellings of the value that the controller accepts."""
    is_shared: bool = False
    """Whether others write the same value, too: then taking back one's own field is not enough."""

    def holds(self, obj: Mapping[str, Any]) -> bool:
        """Return whether an object is suspended by this field."""
        found = at(obj, *self.steps)
        return (type(found) is type(self.value) and found == self.value) or (
            isinstance(found, str) and found in self.also
        )

    def fields(self, obj: Mapping[str, Any], notes: Iterable[str] = ()) -> dict[str, Any]:
        """Return what to apply to suspend an object.

        Args:
            obj: The object as it is.
            notes: Annotations that must survive on what the object makes.
        """
        return _nested(self.steps, self.value)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnnotations(Rest):
    """A list of annotations that a controller leaves alone on what it makes, so that those stay suspended."""

    is_shared: bool = True

    def holds(self, obj: Mapping[str, Any]) -> bool:
        """Return whether the annotation is in the list."""
        return self.value in sequence(obj, *self.steps)

    def fields(self, obj: Mapping[str, Any], notes: Iterable[str] = ()) -> dict[str, Any]:
        """Return the list with the annotation and the notes, after what is in it already."""
        there = [str(each) for each in sequence(obj, *self.steps)]
        return _nested(self.steps, [*dict.fromkeys([*there, self.value, *notes])])


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return two nested mappings as one; where both have a value, it is that of the second."""
    found = dict(one)
    for name, each in other.items():
        mine = found.get(name)
        found[name] = merged(mine, each) if isinstance(mine, Mapping) and isinstance(each, Mapping) else each
    return found


def _nested(steps: Sequence[str], value: Any) -> dict[str, Any]:
    for each in reversed(steps):
        value = {each: value}
    return dict(value)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SourceKind:
    """A kind of object that an engine fetches from, apart from those that apply what was fetched."""

    kind: str
    api_version: str
    request_annotation: str
    """Asks its controller to fetch now."""
    has_commits: bool = False
    """Whether its revisions are commits."""

    def request(self, token: str) -> dict[str, str]:
        """Return the annotations that ask for a fetch."""
        return {self.request_annotation: token}

    def url(self, live: Live | None) -> str:
        """Return where it fetches from."""
        return text(live, "spec", "url")

    def revision(self, live: Live | None) -> str:
        """Return what it has fetched; empty if nothing yet."""
        return text(live, "status", "artifact", "revision")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VerdictFacts:
    """What a verdict on an engine's object needs besides the object."""

    view: GateView
    """Has at least what ``EngineKind.beside`` names."""
    expected: str = ""
    """The commit that it must have applied; empty where that is not known."""
    url: str = ""
    """The repository that the commit is of."""
    is_in: Callable[[str], bool] | None = None
    """Whether a revision has the commit that is waited for, where one is."""


def _no_source(live: Live) -> ObjectId | None:
    return None


def _no_revision(live: Live) -> str:
    return ""


def _follows_nothing(live: Live, sources: Sequence[Live], url: str) -> str:
    return ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """How an object is asked to reconcile now, and how its answer is read."""

    annotation: str
    full: str = ""
    """The value that makes it forget what it remembers of Git; a token where it is empty."""
    quick: str = ""
    """The value for a look at what has changed in Git; as ``full`` where it is empty."""
    is_handled: Callable[[Live, str], bool]
    """Whether a request with a token was handled."""
    progress: Callable[[str, Live, str], tuple[bool, str]]
    """Whether the object, by its name, has done what a token asked for, and what is wrong then."""
    correct: Callable[[Live, str], tuple[dict[str, str], str]] | None = None
    """The annotations that make it put Git's form back, and what they ask for in words; else those of a request."""
    after_rest: bool = False
    """Whether it has to be asked when it goes on, since it would apply what it remembers from before."""


def _never_suspended(live: Live, name: str, *, is_declared: bool = False) -> Verdict | None:
    return None


def _faultless(live: Live, name: str, *, now: float) -> str:
    return ""


def _no_failure(live: Live) -> tuple[str, str]:
    return "", ""


def _is_reconciling(live: Live) -> bool:
    return conditions.is_true(live, "Reconciling")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """How the state of an object is judged."""

    suspended: Callable[..., Verdict | None] = _never_suspended
    """``(live, name, is_declared=False)``: the verdict on one that is suspended; None if it is not."""
    judge: Callable[[Live, str, VerdictFacts], Verdict] | None = None
    """Whether it is well and at the commit; without it a condition Ready is all there is."""
    fault: Callable[..., str] = _faultless
    """``(live, name, now=…)``: why it does not work on what it has; empty if it does, or is about to."""
    failure: Callable[[Live], tuple[str, str]] = _no_failure
    """The revision that it could not apply when it tried last, and what it says of that; both empty if it could."""
    is_seen: Callable[[Live], bool] = bool
    """Whether its controller has looked at it."""
    is_busy: Callable[[Live], bool] = _is_reconciling
    """Whether its controller is writing, as far as it says so."""
    beside: tuple[WatchTarget, ...] = ()
    """What must be watched for a verdict besides the object."""
    beside_commit: tuple[WatchTarget, ...] = ()
    """What must be watched besides where a commit is waited for."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EngineKind:
    """A kind of object by which an engine brings others."""

    kind: str
    group: str
    version: str
    manager: str
    """The field manager as which its controller applies; empty where it applies nothing itself."""
    controller: str
    """The workload that reconciles it."""
    requests: Requests
    verdicts: Verdicts = Verdicts()
    is_starting: bool = True
    """Whether it makes the engine reconcile something."""
    is_root: bool = False
    """Whether a cluster's engine may start from it."""
    rest: Rest | None = None
    """How it is suspended in Git, where it can be."""
    hold: Rest
    """How it is suspended in the cluster."""
    shield: tuple[str, str] = ("", "")
    """The annotation by which a live object tells its owner of this kind to leave it alone."""
    copied: Callable[..., dict[str, Any]] | None = None
    """``(old, name, after=…, directory=…, target=…)``: a second owner for another directory, where it applies one."""
    is_named_bare: bool = False
    """Whether marks name it without its namespace."""
    leaves_foreign_fields: bool = False
    """Whether it takes away only fields that it has applied itself."""
    sync_command: str = ""
    """The command that makes it apply everything once more, with ``{name}``."""
    source: Callable[[Live], ObjectId | None] = _no_source
    """What it fetches from, where that is an object of its own."""
    applied: Callable[[Live], str] = _no_revision
    """The revision that it has applied; empty for what follows no repository itself."""
    applied_from: Callable[[Live, Sequence[Live], str], str] = _follows_nothing
    """``(live, sources, url)``: the revision of the repository at a URL that it has applied; or empty."""

    @property
    def api_version(self) -> str:
        """As manifests have it."""
        return f"{self.group}/{self.version}"

    @property
    def everything(self) -> WatchTarget:
        """All objects of the kind, as a watch."""
        return WatchTarget(api_version=self.api_version, kind=self.kind)

    @property
    def has_source(self) -> bool:
        """Whether what it fetches from is an object of its own."""
        return self.source is not _no_source

    @property
    def has_revision(self) -> bool:
        """Whether it follows a repository itself."""
        return self.applied is not _no_revision

    def request(self, token: str, *, is_full: bool = True) -> dict[str, str]:
        """Return the annotations that ask for a reconciliation.

        Args:
            token: What the controller is to repeat, if it does so.
            is_full: Whether the engine is to forget what it remembers of Git.
        """
        asked = self.requests
        return {asked.annotation: (asked.full if is_full else asked.quick or asked.full) or token}

    def correction(self, live: Live, token: str) -> tuple[dict[str, str], str]:
        """Return the annotations that make it put Git's form back, and what they ask for: ``reconcile``."""
        return self.requests.correct(live, token) if self.requests.correct else (self.request(token), "reconcile")
