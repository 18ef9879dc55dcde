"""What all tasks of one run are made from."""

import dataclasses
from collections.abc import Mapping
from functools import cached_property

from firstlight.engines import engine_roots
from firstlight.engines.adapter import Roots
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.component import Component, ObjectId, Phase, Side, SourceForm
from firstlight.model.diagnostic import Severity
from firstlight.model.handover import Passing
from firstlight.model.machine_config import MachineDraft
from firstlight.model.plan import Plan
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.model.work import Installation
from firstlight.plan import cluster_facts, final_owners, plan_context
from firstlight.plan.cluster_facts import ClusterFacts
from firstlight.plan.final_owners import FinalOwners

Charts = Mapping[str, tuple[tuple[Installation, ...], tuple[Object, ...]]]
"""By component: its releases, and the objects that no release brings."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaskContext:
    """Everything that is known when tasks are made."""

    platform: Platform
    cluster: Cluster
    plan: Plan
    renditions: tuple[Rendition, ...]
    charts: Charts
    drafts: tuple[MachineDraft, ...]
    revision: str
    is_rehearsal: bool = False

    @cached_property
    def facts(self) -> ClusterFacts:
        """What is known of the cluster."""
        return cluster_facts.of(self.platform, self.cluster, self.renditions)

    @cached_property
    def owners(self) -> FinalOwners:
        """Who owns what in the end."""
        return FinalOwners(self.platform, self.cluster.name, self.renditions)

    @cached_property
    def roots(self) -> Roots:
        """What points the engine at the repo."""
        return engine_roots.of(self.platform, self.cluster, self.renditions)

    def has_crds_apart(self, component: Component) -> bool:
        """Whether a step of its own applies the CRDs of a component."""
        return component.phase != Phase.CRDS and plan_context.crds_id(component) in self.plan.by_id

    def objects(self, component: Component) -> tuple[Object, ...]:
        """All that bootstrap deploys of a component; what only a program of Flux would make is taken from Git."""
        found = self.facts.objects(component, Side.BOOTSTRAP)
        listed = [
            Object(origin.definition)
            for origin in component.origins
            if origin.form == SourceForm.FLUX_INSTANCE and origin.definition
        ]
        if not found and not listed and component.role == "engine":
            found = self.facts.objects(component, Side.GITOPS)
        return (*found, *(each for each in listed if each.id not in {one.id for one in found}))

    def unrendered(self, component: Component) -> str:
        """Why it is not known what a component deploys; empty where it is."""
        found = self.facts.renditions.get((component.name, Side.BOOTSTRAP))
        diagnostics = found.diagnostics if found is not None else ()
        objects = self.objects(component)
        wrong = [each for each in diagnostics if each.severity == Severity.ERROR]
        if wrong and not objects:
            return wrong[0].message
        if objects or any(self.charts.get(component.name, ())):
            return ""
        if found is None:
            return "it was not rendered"
        return next((each.message for each in diagnostics if each.severity == Severity.UNKNOWN), "")

    @cached_property
    def control_planes(self) -> tuple[Machine, ...]:
        """The machines that are control planes, in the order in which they are declared."""
        return tuple(each for each in self.cluster.machines if each.role == MachineRole.CONTROL_PLANE)

    @cached_property
    def made(self) -> tuple[ObjectId, ...]:
        """Everything that bootstrap brings, whoever applies it."""
        found = {each.id for component in self.facts.bootstrap for each in self.objects(component) if each.id.name}
        found |= {each for step in self.plan.steps if step.side != Side.GITOPS for each in step.creates or ()}
        return tuple(sorted(found))

    @cached_property
    def passing(self) -> tuple[Passing, ...]:
        """What of it the engine owns in the end."""
        return final_owners.passing_objects(self.facts, self.made)

    @cached_property
    def inline(self) -> frozenset[ObjectId]:
        """What Talos applies from machine configs."""
        return frozenset(
            each.id
            for component in self.facts.bootstrap
            if component.phase == Phase.INLINE
            for each in self.objects(component)
        )
