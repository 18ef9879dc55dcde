"""What explanations are made from: a repo if there is one, its plans, and the rules for decisions."""

import dataclasses
from functools import cached_property

from firstlight.model.cluster import Cluster
from firstlight.model.component import Component
from firstlight.model.plan import Plan, Step
from firstlight.model.platform import Platform
from firstlight.plan import build, facts
from firstlight.plan.facts import Facts
from firstlight.policy.deciding.book import Book


@dataclasses.dataclass(frozen=True)
class Scene:
    """A repo and what follows from it."""

    platform: Platform | None = None
    """None where nobody stands in a repo; words and rules can still be explained."""
    book: Book = dataclasses.field(default_factory=Book)

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
    def facts(self) -> dict[str, Facts]:
        """What is known of each cluster before a run."""
        return {each.name: facts.of(self.platform, each) for each in self.clusters} if self.platform else {}

    def is_foundation(self, component: Component) -> bool:
        """Whether bootstrap has it only to create the first Secrets, which have steps of their own."""
        known = self.facts.get(component.cluster)
        return facts.in_bootstrap(component) and known is not None and component not in known.bootstrap
