"""What every stage of a plan stands on: the facts, who brings what, and the steps that all others refer to."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from firstlight.document.within import text
from firstlight.model import argocd_names, flux_names
from firstlight.model.component import Component, ObjectId, Origin, Phase, Side, SourceForm
from firstlight.model.plan import Gate, StepNeed, Subject, Tie
from firstlight.plan import cluster_facts, demands, pod_needs, supplies
from firstlight.plan.cluster_facts import ClusterFacts
from firstlight.plan.supplies import ComponentDemand, Index, Provision, Requisite, RequisiteKind, Supply

CONTROL_PLANES = "machine:control-planes"
WORKERS = "machine:workers"
TEMPLATE = "machine:template"
ETCD = "machine:etcd"
KUBECONFIG = "machine:kubeconfig"
TALOS = "inline:talos"
NAMESPACES = "core:namespaces"
SOURCE = "engine:source"
BASELINE = "handover:baseline"
OWNERS = "handover:owners"
ROOT = "handover:root"
RELEASE = "handover:release"
CERTIFICATE = "handover:certificate"


@dataclasses.dataclass(frozen=True)
class PlanContext:
    """The facts of a cluster, with what follows from them."""

    facts: ClusterFacts

    @cached_property
    def index(self) -> Index:
        """Who brings what."""
        return supplies.supply_index(self.facts)

    @cached_property
    def provisions(self) -> Mapping[tuple[str, Side], tuple[tuple[ComponentDemand, Provision], ...]]:
        """What each side of each component needs, and from where it comes; each thing once."""
        domain = self.facts.cluster.network.dns_domain or "cluster.local"
        found = {}
        for component in self.facts.components:
            for side in cluster_facts.sides(component):
                # Of several demands for one thing the first counts, hard ones before soft ones.
                wanted = sorted(demands.of(self.facts, component, side), key=lambda each: each.is_soft)
                first = {each.thing: each for each in reversed(wanted)}
                found[component.name, side] = tuple(
                    (demand, supplies.find_provision(demand, self.index, cluster_domain=domain))
                    for demand in reversed(first.values())
                )
        return found

    @property
    def has_own_network(self) -> bool:
        """Whether Talos brings the CNI itself; where that is not known, it does unless a component is one."""
        cni = self.facts.cni
        is_assumed = cni.is_known or not self.facts.with_role("cni")
        return self.facts.has_talos and is_assumed and cni.value not in ("none", "custom")

    @property
    def has_own_dns(self) -> bool:
        """Whether Talos brings CoreDNS itself; where that is not known, it does unless a component is it."""
        core_dns = self.facts.core_dns
        is_assumed = core_dns.is_known or not self.facts.with_role("dns")
        return self.facts.has_talos and is_assumed and core_dns.value

    @cached_property
    def engines(self) -> tuple[Component, ...]:
        """The engine, and what installs it."""
        known = self.facts.with_role("engine")
        return known or tuple(each for each in self.facts.bootstrap if each.phase == Phase.ENGINE)

    @cached_property
    def network(self) -> tuple[StepNeed, ...]:
        """The need for a network, as pods have it."""
        why = "pods get no network without it"
        own = [StepNeed(bootstrap_id(each), why, Tie.FACT) for each in self.facts.with_role("cni")]
        return tuple(own) or ((StepNeed(TALOS, why, Tie.FACT),) if self.has_own_network else ())

    @cached_property
    def dns(self) -> tuple[StepNeed, ...]:
        """The need for cluster DNS, as everything has it that fetches from a name."""
        why = "it finds no host by its name without it"
        own = [StepNeed(bootstrap_id(each), why, Tie.FACT) for each in self.facts.with_role("dns")]
        return tuple(own) or ((StepNeed(TALOS, why, Tie.FACT),) if self.has_own_dns else ())

    def crds_of(self, component: Component) -> bool:
        """Whether the CRDs of a component are applied in a step of their own, before it."""
        return component.phase in (Phase.CORE, Phase.ENGINE) and any(
            each.is_crd for each in self.facts.objects(component, Side.BOOTSTRAP)
        )

    def step_of(self, supply: Supply) -> str:
        """The step after which a supply of bootstrap is there."""
        if not supply.component:
            return secret_id(supply.thing.namespace, supply.thing.name)
        component = self.facts.by_name[supply.component]
        if supply.thing in self._defined(component) and self.crds_of(component):
            return crds_id(component)
        return bootstrap_id(component)

    def _defined(self, component: Component) -> set[Requisite]:
        """The kinds that a component's own CRDs define."""
        return {
            Requisite(
                RequisiteKind.KIND, f"{text(each.value, 'spec', 'group')}/{text(each.value, 'spec', 'names', 'kind')}"
            )
            for each in self.facts.objects(component, Side.BOOTSTRAP)
            if each.is_crd
        }

    def _is_not_waited_for(self, component: Component, supply: Supply) -> bool:
        """What Talos applies inline does not wait for kinds: Talos tries again until they are there."""
        other = self.facts.by_name.get(supply.component)
        is_inline = component.phase == Phase.INLINE and supply.thing.sort == RequisiteKind.KIND
        return is_inline and (other is None or other.phase != Phase.INLINE)

    def met(self, component: Component) -> tuple[StepNeed, ...]:
        """The needs of a component that other steps of bootstrap meet, from what its objects refer to."""
        found: list[StepNeed] = []
        for demand, way in self.provisions.get((component.name, Side.BOOTSTRAP), ()):
            for supply in way.chain:
                if supply.side != Side.BOOTSTRAP or self._is_not_waited_for(component, supply):
                    continue
                step, tie = self.step_of(supply), Tie.LIKELY if demand.is_soft else Tie.FACT
                found.append(StepNeed(step, str(supply.thing), tie, demand.place, str(supply.thing)))
        return once(found, besides=bootstrap_id(component))

    def of_itself(self, component: Component, side: Side, *, step: str) -> tuple[StepNeed, ...]:
        """The need of a component for itself, where the repo says so: it never begins, and that must be told."""
        found = [
            StepNeed(step, need.why or "needs", Tie.DECLARED, need.place)
            for origin in cluster_facts.origins(component, side)
            for need in origin.needs
            if need.id == origin.id and cluster_facts.tie(origin, need) == Tie.DECLARED
        ]
        is_here = cluster_facts.in_bootstrap(component) == (side == Side.BOOTSTRAP)
        if component.name in component.needs and is_here:
            # Readers leave these out of a component's needs, so that firstlight.yaml says it.
            found.append(StepNeed(step, "needs", Tie.DECLARED, self.facts.wished(component)))
        return tuple(found[:1])


_RANK = (Tie.FACT, Tie.DECLARED, Tie.WAITED, Tie.BROUGHT, Tie.RUN, Tie.ORDER, Tie.LIKELY)


def once(needs: Iterable[StepNeed], *, besides: str) -> tuple[StepNeed, ...]:
    """Each needed step once, with the strongest reason; a step does not need itself."""
    found: dict[str, StepNeed] = {}
    for need in needs:
        before = found.get(need.step)
        if need.step != besides and (before is None or _RANK.index(need.tie) < _RANK.index(before.tie)):
            found[need.step] = need
    return tuple(found.values())


def bootstrap_id(component: Component) -> str:
    """The step that installs a component, or its first half."""
    return f"{component.phase}/{component.name}"


def crds_id(component: Component) -> str:
    """The step that applies the CRDs of a component."""
    return f"{Phase.CRDS}/{component.name}"


def secret_id(namespace: str, name: str) -> str:
    """The step that creates a Secret of the foundation."""
    return f"core:secret/{namespace}/{name}"


def adoption_id(component: Component) -> str:
    """The step that watches how the engine takes a component over."""
    return f"{Phase.HANDOVER}/{component.name}"


def gitops_id(component: Component) -> str:
    """The step that watches what the engine brings."""
    return f"{Phase.GITOPS}/{component.name}"


# Which gates a component's step has: what must be asked of the world before anything else may build on it.


_WEBHOOKS = {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}
_STORES = {"SecretStore", "ClusterSecretStore"}
_ROLES = {"cni": (Subject.CNI, Subject.NODES), "dns": (Subject.DNS,), "certificates": (Subject.CERTIFICATES,)}
_GROUPS = {
    SourceForm.KUSTOMIZATION: (flux_names.KUSTOMIZE_GROUP, flux_names.KUSTOMIZATION),
    SourceForm.HELM_RELEASE: (flux_names.HELM_GROUP, flux_names.HELM_RELEASE),
    SourceForm.FLUX_INSTANCE: (flux_names.OPERATOR_GROUP, flux_names.FLUX_INSTANCE),
    SourceForm.APPLICATION: (argocd_names.GROUP, argocd_names.APPLICATION),
}


def bootstrap_gates(known: PlanContext, component: Component) -> tuple[Gate, ...]:
    """The gates of what bootstrap installs: those of its role, those of its objects, then its own."""
    return (*dict.fromkeys(_of_bootstrap(known, component)), *_own(component))


def _of_bootstrap(known: PlanContext, component: Component) -> Iterator[Gate]:
    if component.phase == Phase.CRDS:
        yield Gate(Subject.CRDS, component.name)
        return
    if component in known.engines:
        yield Gate(Subject.ENGINE, component.name)
    for subject in _ROLES.get(component.role, ()):
        yield Gate(subject, component.name)
    rendition = known.facts.rendition(component, Side.BOOTSTRAP)
    if rendition is None:
        if component.role != "cni" and known.facts.runs_pods(component) is not False:
            yield Gate(Subject.WORKLOAD, component.name)
        return
    for item in rendition.objects:
        if pod_needs.runs_at_start(item):
            yield Gate(Subject.WORKLOAD, component.name, item.id)
        elif item.id.kind in _WEBHOOKS:
            yield Gate(Subject.WEBHOOK, component.name, item.id)
        elif item.id.kind in _STORES:
            yield Gate(Subject.STORE, component.name, item.id)
        elif item.is_crd and not known.crds_of(component):
            yield Gate(Subject.CRDS, component.name)


def gitops_gates(component: Component) -> tuple[Gate, ...]:
    """The gates of what the engine brings: its own word for each object that declares the component.

    What bootstrap installs has been asked its own gates then.
    """
    reconciled = [
        Gate(Subject.RECONCILED, component.name, declaring)
        for origin in cluster_facts.origins(component, Side.GITOPS)
        if (declaring := declared_gates(origin))
    ]
    return (*reconciled, *(() if cluster_facts.in_bootstrap(component) else _own(component)))


def bringers(components: Sequence[Component]) -> dict[str, tuple[ObjectId, ...]]:
    """The engine's objects that create what declares a component, the nearest first, by the component's name."""
    by_name = {each.name: each for each in components}

    def above(component: Component) -> Iterator[ObjectId]:
        seen = {component.name}
        while (parent := by_name.get(component.parent)) is not None and parent.name not in seen:
            seen.add(parent.name)
            origins = cluster_facts.origins(parent, Side.GITOPS)
            yield from (declaring for origin in origins if (declaring := declared_gates(origin)) is not None)
            component = parent

    return {each.name: tuple(above(each)) for each in components if each.parent}


def _own(component: Component) -> Iterator[Gate]:
    for number in range(len(component.gates)):
        yield Gate(Subject.OWN, component.name, number=number)


def declared_gates(origin: Origin) -> ObjectId | None:
    """The object that declares an origin to the engine."""
    if (found := _GROUPS.get(origin.form)) is None:
        return None
    group, kind = found
    return ObjectId(group, kind, origin.namespace, origin.name)
