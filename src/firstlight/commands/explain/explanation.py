"""What something is and why it is here, in sentences; and the chain in which one thing needs another."""

import dataclasses
import enum
from collections.abc import Mapping
from functools import cached_property

from firstlight.commands.decide.rule_book import RuleBook
from firstlight.document.diagnostic_cards import DiagnosticCard
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Phase, Side
from firstlight.model.place import Place
from firstlight.model.plan import Plan, Step
from firstlight.model.platform import Platform
from firstlight.plan import build, cluster_facts
from firstlight.plan.cluster_facts import ClusterFacts


class ExplanationKind(enum.StrEnum):
    """What sort of name was explained."""

    COMPONENT = "component"
    CLUSTER = "cluster"
    MACHINE = "machine"
    PHASE = "phase"
    SIDE = "side"
    RULE = "rule"
    FACTOR = "factor"
    WORD = "word"
    DIAGNOSTIC = "diagnostic"
    AUDIT_RULE = "audit rule"
    SYMPTOM = "symptom"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One thing to say, perhaps with the place that says it, or with what to type."""

    text: str
    place: Place | None = None
    command: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationPart:
    """What there is to say under one heading."""

    name: str
    """One word, stable for programs: ``what``, ``why``, ``needs`` …"""
    sentences: tuple[Sentence, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One meaning of a name."""

    sort: ExplanationKind
    name: str
    clusters: tuple[str, ...] = ()
    """Those in which it is so; empty where it is of no cluster."""
    parts: tuple[ExplanationPart, ...]
    see: tuple[str, ...] = ()
    """Other names that can be explained."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChainLink:
    """One member of the chain: what stands on all that is above it."""

    name: str
    """What it is called; how many they are, where it stands for several."""
    says: str
    phase: Phase
    side: Side
    level: int
    """Counted from the machines, which are 0; what has the same stands side by side."""
    members: tuple[str, ...] = ()
    """The components, or Secrets, that it stands for; empty where it is one by itself."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """From the machines to the apps of one cluster, each link after what it needs."""

    cluster: str
    links: tuple[ChainLink, ...]
    engine: str = ""
    """Who follows Git."""
    url: str = ""
    path: str = ""
    """What it follows: the repository, and the directory that it begins with."""


# What explanations are made from: a repo if there is one, its plans, and the rules for decisions.


@dataclasses.dataclass(frozen=True)
class ExplainInput:
    """A repo and what follows from it."""

    platform: Platform | None = None
    """None where nobody stands in a repo; words and rules can still be explained."""
    book: RuleBook = dataclasses.field(default_factory=RuleBook)
    team_cards: Mapping[str, DiagnosticCard] = dataclasses.field(default_factory=dict)
    """The team's own rules of the audit by their ids."""

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """All clusters of the repo."""
        return self.platform.clusters if self.platform else ()

    @property
    def components(self) -> tuple[Component, ...]:
        """All components of the repo."""
        return self.platform.components if self.platform else ()

    def cluster(self, name: str) -> Cluster | None:
        """A cluster by its name."""
        return self.platform.cluster(name) if self.platform else None

    @cached_property
    def plans(self) -> dict[str, Plan]:
        """The plan of each cluster by its name, from what reading tells: nothing is rendered."""
        if self.platform is None:
            return {}
        return {each.name: build.build(self.platform, each) for each in self.platform.clusters}

    @cached_property
    def steps(self) -> dict[tuple[str, str], list[Step]]:
        """The steps of each component, by its cluster and name."""
        found: dict[tuple[str, str], list[Step]] = {}
        for cluster, plan in self.plans.items():
            for step in plan.steps:
                found.setdefault((cluster, step.component), []).append(step)
        return found

    @cached_property
    def facts(self) -> dict[str, ClusterFacts]:
        """What is known of each cluster before a run."""
        return {each.name: cluster_facts.of(self.platform, each) for each in self.clusters} if self.platform else {}

    def is_foundation(self, component: Component) -> bool:
        """Whether bootstrap has it only to create the first Secrets, which have steps of their own."""
        known = self.facts.get(component.cluster)
        return cluster_facts.in_bootstrap(component) and known is not None and component not in known.bootstrap
