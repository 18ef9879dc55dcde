"""What is known of one cluster before a run: what the repo declares, and what was rendered of it."""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from firstlight.model import talos_facts
from firstlight.model.cluster import SCHEMATIC, Cluster, MachineRole
from firstlight.model.component import Certainty, Component, ComponentNeed, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.fact import Fact
from firstlight.model.place import Place
from firstlight.model.plan import Tie
from firstlight.model.platform import FoundationSecret, Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.model.source import ChartSource, SeveralSources, Source
from firstlight.plan import pod_needs

BOOTSTRAP_PHASES = (Phase.MACHINE, Phase.INLINE, Phase.CRDS, Phase.CORE, Phase.ENGINE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterFacts:
    """Everything that a plan of one cluster is made from."""

    cluster: Cluster
    components: tuple[Component, ...]
    secrets: tuple[FoundationSecret, ...] = ()
    renditions: Mapping[tuple[str, Side], Rendition] = dataclasses.field(default_factory=dict)
    declared: Place | None = None
    """The firstlight.yaml of the platform, if it has one."""
    unlisted: tuple[Diagnostic, ...] = ()
    """What says that the cluster has machines which the repo does not list, since Omni chooses them."""
    manual: tuple[Diagnostic, ...] = ()
    """What people are to apply by hand, as only comments and READMEs say."""

    @property
    def is_declared(self) -> bool:
        """Whether the platform has a firstlight.yaml."""
        return self.declared is not None

    @cached_property
    def by_name(self) -> Mapping[str, Component]:
        """Components by their names."""
        return {each.name: each for each in self.components}

    @cached_property
    def by_origin(self) -> Mapping[str, str]:
        """Names of components by the ids of their origins."""
        return {origin.id: each.name for each in self.components for origin in each.origins}

    @cached_property
    def bootstrap(self) -> tuple[Component, ...]:
        """The components that bootstrap installs, in the order of phases."""
        mine = [each for each in self.components if in_bootstrap(each) and not self._is_foundation(each)]
        return tuple(sorted(mine, key=lambda each: (BOOTSTRAP_PHASES.index(each.phase), each.name)))

    def _is_foundation(self, component: Component) -> bool:
        """Whether it is only a script that creates Secrets of the foundation, which have steps of their own."""
        mine = {(each.namespace, each.name) for each in self.secrets}
        made = [each for origin in component.origins for each in origin.objects]
        return bool(made) and all(each.kind == "Secret" and (each.namespace, each.name) in mine for each in made)

    @cached_property
    def gitops(self) -> tuple[Component, ...]:
        """The components that are GitOps' alone."""
        return tuple(each for each in self.components if not in_bootstrap(each))

    @cached_property
    def control_planes(self) -> int:
        """How many machines are control planes."""
        return sum(each.role == MachineRole.CONTROL_PLANE for each in self.cluster.machines)

    @cached_property
    def workers(self) -> int:
        """How many machines are workers."""
        return len(self.cluster.machines) - self.control_planes

    @property
    def has_talos(self) -> bool:
        """Whether the repo says anything about the machines; what their images are made of says nothing."""
        cluster = self.cluster
        says = [kind for place in cluster.files for kind in cluster.documents.get(place.path, ("",))]
        return bool(cluster.machines or cluster.talos or cluster.network.cni or any(each != SCHEMATIC for each in says))

    @cached_property
    def cni(self) -> Fact[str]:
        """The CNI that Talos brings."""
        return talos_facts.cni(self.cluster)

    @cached_property
    def kube_proxy(self) -> Fact[bool]:
        """Whether Talos runs kube-proxy."""
        return talos_facts.kube_proxy(self.cluster)

    @cached_property
    def core_dns(self) -> Fact[bool]:
        """Whether Talos brings CoreDNS."""
        return talos_facts.core_dns(self.cluster)

    @cached_property
    def schedules_on_control_planes(self) -> Fact[bool]:
        """Whether control planes take workloads."""
        return talos_facts.schedules_on_control_planes(self.cluster)

    def with_role(self, role: str) -> tuple[Component, ...]:
        """Bootstrap's components of a role, CRDs aside."""
        return tuple(each for each in self.bootstrap if each.role == role and each.phase != Phase.CRDS)

    def rendition(self, component: Component, side: Side) -> Rendition | None:
        """What was rendered of one side of a component, if all of it was."""
        found = self.renditions.get((component.name, side))
        if found is None or any(each.severity == Severity.ERROR for each in found.diagnostics):
            return None
        return found

    def objects(self, component: Component, side: Side) -> tuple[Object, ...]:
        """The objects of one side of a component, if all of it was rendered."""
        found = self.rendition(component, side)
        return found.objects if found else ()

    @cached_property
    def unrendered(self) -> tuple[str, ...]:
        """Components of which not every side was rendered: what they bring is not known."""
        return tuple(
            each.name for each in self.components if any(self.rendition(each, side) is None for side in sides(each))
        )

    def runs_pods(self, component: Component) -> bool | None:
        """Whether bootstrap's half of a component has pods; None where only rendering would tell."""
        if self.rendition(component, Side.BOOTSTRAP) is not None:
            return any(pod_needs.makes_pods(each) for each in self.objects(component, Side.BOOTSTRAP))
        if charts(component, Side.BOOTSTRAP) or component.role in ("engine", "dns", "cni"):
            return True
        listed = [made for origin in origins(component, Side.BOOTSTRAP) for made in origin.objects]
        return any((each.group, each.kind) in pod_needs.TEMPLATES for each in listed) if listed else None

    def said(self, field: str) -> Place:
        """Where a fact of the cluster is said."""
        return self.cluster.said.get(field, self.cluster.place)

    def wished(self, component: Component) -> Place:
        """Where a need of a component is said that none of its origins says: in firstlight.yaml."""
        own = next((each.place for each in component.origins if each.form == SourceForm.DECLARED), None)
        return own or self.declared or place(component, Side.BOOTSTRAP if in_bootstrap(component) else Side.GITOPS)


def of(platform: Platform, cluster: Cluster, renditions: Iterable[Rendition] = ()) -> ClusterFacts:
    """The facts of one cluster of a platform."""
    return ClusterFacts(
        cluster=cluster,
        components=platform.components_of(cluster.name),
        secrets=tuple(each for each in platform.secrets if each.cluster in ("", cluster.name)),
        renditions={(each.component, each.side): each for each in renditions if each.cluster == cluster.name},
        declared=platform.declared,
        unlisted=_unlisted(platform, cluster),
        manual=tuple(each for each in platform.diagnostics if each.code == "crds-only-in-words"),
    )


def _unlisted(platform: Platform, cluster: Cluster) -> tuple[Diagnostic, ...]:
    places = [cluster.place, *cluster.files, *(each.place for each in cluster.machines)]
    paths = {each.path for each in places}
    return tuple(
        each for each in platform.diagnostics if each.code == "omni-machine-class" and each.place.path in paths
    )


def tie(origin: Origin, need: ComponentNeed) -> Tie:
    """How much a need counts: what a script does in some order is not declared, wherever it is found."""
    is_declared = origin.certainty == Certainty.DECLARED and not need.is_order
    return Tie.DECLARED if is_declared else Tie.ORDER


def in_bootstrap(component: Component) -> bool:
    """Whether bootstrap installs it, or its first half."""
    return component.side != Side.GITOPS and component.phase in BOOTSTRAP_PHASES


def is_inline(component: Component) -> bool:
    """Whether Talos applies it, so that there is no Helm release of it."""
    forms = {each.form for each in origins(component, Side.BOOTSTRAP)}
    return component.phase == Phase.INLINE or bool(forms & {SourceForm.INLINE_MANIFEST, SourceForm.EXTRA_MANIFEST})


def is_adopted(component: Component) -> bool:
    """Whether the engine takes over what bootstrap installed."""
    return in_bootstrap(component) and component.owner == Owner.GITOPS and bool(origins(component, Side.GITOPS))


def sides(component: Component) -> tuple[Side, ...]:
    """The sides from which it is applied: a hybrid may have one origin, or two."""
    found = {each.side for each in component.origins} - {Side.HYBRID}
    return tuple(each for each in (Side.BOOTSTRAP, Side.GITOPS) if each in found)


def origins(component: Component, side: Side) -> tuple[Origin, ...]:
    """The origins of one side."""
    return tuple(each for each in component.origins if each.side == side)


def place(component: Component, side: Side) -> Place:
    """Where one side of a component is declared."""
    mine = origins(component, side) or component.origins
    return mine[0].place


def versions(component: Component) -> tuple[str, str]:
    """The versions that the two sides declare; empty where one declares none."""
    found = [next((each.version for each in half if each.version), "") for half in component.halves]
    return found[0], found[1]


def sources(origin: Origin) -> tuple[Source, ...]:
    """The sources of an origin, one by one."""
    return origin.source.each if isinstance(origin.source, SeveralSources) else (origin.source,)


def charts(component: Component, side: Side) -> tuple[ChartSource, ...]:
    """The charts of one side of a component."""
    return tuple(
        source for origin in origins(component, side) for source in sources(origin) if isinstance(source, ChartSource)
    )


def value(component: Component, side: Side, *path: str) -> Any:
    """A chart's value, where the repo says it inline; None where it does not, or a variable stands there."""
    found: Any = None
    for chart in charts(component, side):
        for values in chart.values:
            if is_variable_at(values.inline, path):
                found = None
                continue
            inner: Any = values.inline
            for step in path:
                inner = inner.get(step) if isinstance(inner, Mapping) else None
            found = found if inner is None else inner
    return found


_VARIABLE = re.compile(r"\A[^\n]*(?:\$\{[A-Za-z_]\w*\}|\{\{.*\}\}|<%.*%>)[^\n]*\Z", re.ASCII)
"""What Flux, a template or envsubst fills in; in a text of several lines it may be the text's own."""
_LONGEST_VARIABLE = 200


def is_variable(value: Any) -> bool:
    """Whether a value is a variable, or has one in it, that only a run fills in."""
    return isinstance(value, str) and len(value) <= _LONGEST_VARIABLE and _VARIABLE.match(value) is not None


def is_variable_at(value: Any, path: Iterable[str]) -> bool:
    """Whether the way to a value ends, or passes, at a variable."""
    for step in path:
        if not isinstance(value, Mapping):
            break
        value = value.get(step)
    listed = value if isinstance(value, list) else [value]
    return any(is_variable(each) for each in listed)


def has_all_values(component: Component, side: Side, *path: str) -> bool:
    """Whether every value that a chart gets is known without rendering; with a path, the value there is, too."""
    return all(
        values.inline is not None
        and not values.unresolved
        and not values.target
        and not (path and is_variable_at(values.inline, path))
        for chart in charts(component, side)
        for values in chart.values
    )
