"""The plan of a run: steps as a graph with phases, needs and gates; and what stands in its way.

Read this first to understand a run. A step may begin when everything that it needs has passed; that is all the order
there is. A plan with a cycle in it is still a plan: what the cycle holds up never becomes ready, and is told.
"""

import contextlib
import dataclasses
import enum
import graphlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from firstlight.model import verdict
from firstlight.model.component import ObjectId, Phase, Side
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.own_gates import Hook
from firstlight.model.place import Place
from firstlight.model.verdict import Verdict


class Action(enum.StrEnum):
    """What a step does."""

    CONFIGURE = "configure machines"
    SYNC_TEMPLATE = "sync the Omni template"
    BOOTSTRAP_ETCD = "bootstrap etcd"
    FETCH_KUBECONFIG = "fetch the kubeconfig"
    LET_TALOS_APPLY = "Talos applies"
    APPLY_CRDS = "apply CRDs"
    CREATE_NAMESPACES = "create namespaces"
    CREATE_SECRET = "create the Secret"  # noqa: S105
    INSTALL_CHART = "install the chart"
    APPLY_OBJECTS = "apply objects"
    INSTALL_ENGINE = "install the engine"
    CREATE_SOURCE = "create the source"
    SAVE_BASELINE = "predict and save the baseline"
    MIGRATE_OWNERS = "migrate owners"
    CREATE_ROOT = "create the root object"
    WATCH_ADOPTION = "watch the adoption"
    RELEASE = "release from Talos"
    CERTIFY = "certify the handover"
    WATCH = "watch"
    WALK = "walk"
    """A stage of work on a cluster that lives."""


class Subject(enum.StrEnum):
    """What a gate asks about."""

    MACHINES = "machines"
    ETCD = "etcd"
    API = "api"
    CNI = "cni"
    NODES = "nodes"
    DNS = "dns"
    CRDS = "crds"
    NAMESPACES = "namespaces"
    SECRET = "secret"  # noqa: S105
    WORKLOAD = "workload"
    WEBHOOK = "webhook"
    CERTIFICATES = "certificates"
    STORE = "store"
    ENGINE = "engine"
    SOURCE = "source"
    BASELINE = "baseline"
    OWNERS = "owners"
    ROOT = "root"
    ADOPTION = "adoption"
    INVENTORY = "inventory"
    CERTIFICATE = "certificate"
    RECONCILED = "reconciled"
    OWN = "own"
    """One that firstlight.yaml declares."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Gate:
    """A question to the world; who asks it, and how it is judged, is for others."""

    subject: Subject
    component: str = ""
    object: ObjectId | None = None
    """The one object that is asked about, where there is one."""
    number: int = 0
    """Which of the component's own gates it is, counted from 0."""


class Tie(enum.StrEnum):
    """Why one step comes after another."""

    RUN = "run"
    """Every run goes like that: no etcd without machines."""
    FACT = "fact"
    """It cannot work without: a role (nothing runs without a network), or what its objects refer to."""
    DECLARED = "declared"
    """The repo says so."""
    BROUGHT = "brought"
    """The other one creates it."""
    ORDER = "order"
    """A script does it in this order, perhaps by chance: what is known otherwise counts more."""
    LIKELY = "likely"
    """It probably cannot work without; only rendering would tell, and what the repo says counts more."""
    WAITED = "waited"
    """It brings the other one, and is ready only when that is."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class StepNeed:
    """That one step needs another."""

    step: str
    why: str
    tie: Tie
    place: Place | None = None
    thing: str = ""
    """What the other one brings, where it is needed for one thing: ``the Secret flux-system/sops-age``."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A unit of a plan."""

    id: str
    """``core/cilium`` for a component, ``machine:etcd`` for what every run does."""
    phase: Phase
    action: Action
    name: str
    """What it is about, for people: the component's name, ``etcd``, ``3 control planes``."""
    component: str = ""
    side: Side = Side.BOOTSTRAP
    what: str = ""
    """The source in a few words: a chart with its version, a directory, the machines."""
    targets: tuple[str, ...] = ()
    """Machines, namespaces: what the action goes over."""
    needs: tuple[StepNeed, ...] = ()
    gates: tuple[Gate, ...] = ()
    hooks: tuple[Hook, ...] = ()
    """Commands that run once the gates have passed."""
    creates: tuple[ObjectId, ...] | None = None
    """What it would create or change; None where that is not known, since nothing was rendered."""
    place: Place | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Smallest:
    """The smallest bootstrap set: what must be up before the engine can work."""

    needed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """What is needed and bootstrap does not have."""
    spare: tuple[str, ...] = ()
    """What bootstrap has without need."""
    unknown: tuple[str, ...] = ()
    """What bootstrap has, and only rendering would tell whether it is needed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Blocked:
    """A step that cannot begin, and what holds it up."""

    step: Step
    by: tuple[StepNeed, ...]
    """The needs that are not met."""
    root: tuple[str, ...]
    """The steps at the bottom of it: those that failed, that wait, or that hold each other up."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """The steps of a run as a graph."""

    cluster: str
    steps: tuple[Step, ...]
    problems: tuple[Diagnostic, ...] = ()
    smallest: Smallest = dataclasses.field(default_factory=Smallest)
    is_rendered: bool = False
    """Whether objects were known when it was made; more is found then."""

    @cached_property
    def by_id(self) -> Mapping[str, Step]:
        """Steps by their ids."""
        return {each.id: each for each in self.steps}

    @property
    def is_blocked(self) -> bool:
        """Whether an error stands in the way."""
        return any(each.severity.rank >= Severity.ERROR.rank for each in self.problems)

    def ready(self, outcomes: Mapping[str, Verdict]) -> tuple[Step, ...]:
        """The steps without an outcome that have everything they need."""
        return tuple(each for each in self.steps if each.id not in outcomes and not self._unmet(each, outcomes))

    def why_blocked(self, outcomes: Mapping[str, Verdict]) -> tuple[Blocked, ...]:
        """The steps that have no outcome and cannot begin, with what holds them up."""
        return tuple(
            Blocked(each, unmet, self._bottom(each, outcomes))
            for each in self.steps
            if each.id not in outcomes and (unmet := self._unmet(each, outcomes))
        )

    def waves(self) -> tuple[tuple[Step, ...], ...]:
        """What could run at once, wave by wave; what a cycle or a missing step holds up is in none."""
        return self._waves

    @cached_property
    def _waves(self) -> tuple[tuple[Step, ...], ...]:
        sorter = graphlib.TopologicalSorter({each.id: [need.step for need in each.needs] for each in self.steps})
        with contextlib.suppress(graphlib.CycleError):  # it goes on as far as it can
            sorter.prepare()
        found = []
        dead = {need.step for each in self.steps for need in each.needs} - self.by_id.keys()
        while wave := [each for each in sorter.get_ready() if each not in dead]:
            found.append(tuple(each for each in self.steps if each.id in set(wave)))
            sorter.done(*wave)
        return tuple(found)

    def order(self) -> tuple[Step, ...]:
        """One order that respects all needs, without what can never run."""
        return tuple(each for wave in self._waves for each in wave)

    def stuck(self) -> tuple[Step, ...]:
        """What can never run."""
        able = {each.id for each in self.order()}
        return tuple(each for each in self.steps if each.id not in able)

    def critical_path(self, durations: Mapping[str, float] | None = None) -> tuple[Step, ...]:
        """The longest chain of steps, by durations or, without them, by their number."""
        return _longest(self.order(), durations or {each.id: 1.0 for each in self.steps})

    def _unmet(self, step: Step, outcomes: Mapping[str, Verdict]) -> tuple[StepNeed, ...]:
        return tuple(each for each in step.needs if not verdict.lets_on(outcomes.get(each.step)))

    def _bottom(self, step: Step, outcomes: Mapping[str, Verdict]) -> tuple[str, ...]:
        """Follow unmet needs down to what has an outcome, could run now, or is met again."""
        found: dict[str, None] = {}
        seen: set[str] = set()
        waiting = [need.step for need in reversed(self._unmet(step, outcomes))]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            other = self.by_id.get(name)
            deeper = self._unmet(other, outcomes) if other is not None and name not in outcomes else ()
            if not deeper:
                found[name] = None
            waiting += [need.step for need in reversed(deeper)]
        return tuple(found) or tuple(sorted(seen))


def _longest(order: tuple[Step, ...], durations: Mapping[str, float]) -> tuple[Step, ...]:
    length: dict[str, float] = {}
    before: dict[str, str] = {}
    for step in order:
        own = durations.get(step.id, 0.0)
        length[step.id] = own
        for need in step.needs:
            if (total := length[need.step] + own) > length[step.id]:
                length[step.id], before[step.id] = total, need.step
    if not order:
        return ()
    steps = {each.id: each for each in order}
    return tuple(steps[name] for name in reversed([*_back(max(steps, key=lambda each: length[each]), before)]))


def _back(name: str, before: Mapping[str, str]) -> Iterator[str]:
    while name:
        yield name
        name = before.get(name, "")


# The needs of a plan without those that follow from others: what people want to see, in text and in pictures.


def direct_needs(plan: Plan) -> dict[str, tuple[str, ...]]:
    """For each step what it needs directly; what one of these needs already is left out."""
    order = [each.id for each in plan.order()]
    stuck = [each.id for each in plan.stuck()]
    needs = {each.id: [need.step for need in each.needs if need.step in plan.by_id] for each in plan.steps}
    return {**reduced(order, {name: needs[name] for name in order}), **{name: tuple(needs[name]) for name in stuck}}


def reduced(order: Sequence[str], needs: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The transitive reduction of a graph without cycles.

    Args:
        order: All names, each after everything that it needs.
        needs: What each needs.
    """
    number = {name: index for index, name in enumerate(order)}
    reach: dict[str, int] = {}  # as bits: a set of a thousand names is one number
    found: dict[str, tuple[str, ...]] = {}
    for name in order:
        kept: list[str] = []
        covered = 0
        for need in sorted(dict.fromkeys(needs.get(name, ())), key=number.__getitem__, reverse=True):
            if not covered >> number[need] & 1:
                kept.append(need)
                covered |= reach[need]
        reach[name] = covered | 1 << number[name]
        found[name] = tuple(need for need in dict.fromkeys(needs.get(name, ())) if need in kept)
    return found
