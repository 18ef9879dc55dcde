"""Machines are configured, etcd is bootstrapped once, the API answers."""

import dataclasses
from collections.abc import Iterator

from firstlight.model.cluster import MachineRole
from firstlight.model.component import Component, ObjectId, Phase, Side
from firstlight.model.plan import Action, Gate, Step, StepNeed, Subject, Tie
from firstlight.model.source import ChartSource, DirectorySource, Embedded, RemoteSource, Source, Unresolved
from firstlight.plan import cluster_facts, plan_context, scheduling
from firstlight.plan.plan_context import PlanContext


def machine_steps(known: PlanContext) -> list[Step]:
    """The steps of the phase; without machines it is only the way to an API that is there already."""
    cluster = known.facts.cluster
    found: list[Step] = []
    if cluster.omni_template:
        found += _omni(known)
    elif cluster.machines:
        found += _talos(known)
    needs = (StepNeed(found[-1].id, "there is no API before", Tie.RUN),) if found else ()
    kubeconfig = Step(
        id=plan_context.KUBECONFIG, phase=Phase.MACHINE, action=Action.FETCH_KUBECONFIG, name="kubeconfig",
        what=cluster.network.endpoint, needs=needs, gates=(Gate(Subject.API),), place=cluster.place,
    )  # fmt: skip
    return [*found, kubeconfig]


def _talos(known: PlanContext) -> list[Step]:
    """Control planes and workers are configured at the same time; etcd waits for control planes only."""
    machines = known.facts.cluster.machines
    found = []
    for step, role, noun in (
        (plan_context.CONTROL_PLANES, MachineRole.CONTROL_PLANE, "control plane"),
        (plan_context.WORKERS, MachineRole.WORKER, "worker"),
    ):
        mine = [each for each in machines if each.role == role]
        if mine:
            name = f"{len(mine)} {noun}{'s' if len(mine) > 1 else ''}"
            configure = Step(
                id=step, phase=Phase.MACHINE, action=Action.CONFIGURE, name=name,
                targets=tuple(each.name for each in mine), gates=(Gate(Subject.MACHINES),), place=mine[0].place,
            )  # fmt: skip
            found.append(configure)
    first = next((each for each in machines if each.role == MachineRole.CONTROL_PLANE), machines[0])
    why = "every control plane must answer before one of them is bootstrapped"
    needs = tuple(StepNeed(each.id, why, Tie.RUN) for each in found if each.id == plan_context.CONTROL_PLANES)
    etcd = Step(
        id=plan_context.ETCD, phase=Phase.MACHINE, action=Action.BOOTSTRAP_ETCD, name="etcd", targets=(first.name,),
        what=f"on {first.name}, once", needs=needs, gates=(Gate(Subject.ETCD),),
        place=first.place,
    )  # fmt: skip
    return [*found, etcd]


def _omni(known: PlanContext) -> list[Step]:
    """Omni configures machines and bootstraps etcd itself."""
    cluster = known.facts.cluster
    count = len(cluster.machines)
    machines = f"{count} machine{'' if count == 1 else 's'}" if count else "machines of a class"
    template = Step(
        id=plan_context.TEMPLATE, phase=Phase.MACHINE, action=Action.SYNC_TEMPLATE, name="Omni template",
        targets=tuple(each.name for each in cluster.machines), gates=(Gate(Subject.MACHINES), Gate(Subject.ETCD)),
        what=f"{machines}; Omni bootstraps etcd", place=cluster.place,
    )  # fmt: skip
    return [template]


def workers_step(known: PlanContext) -> str:
    """The step that brings workers; empty where there are none."""
    if not known.facts.workers:
        return ""
    return plan_context.TEMPLATE if known.facts.cluster.omni_template else plan_context.WORKERS


# What is installed before the engine: Talos's own manifests, CRDs, namespaces, Secrets, components and the engine.


_GIVEN = {"kube-system", "kube-public", "kube-node-lease", "default"}
"""Namespaces that every cluster has."""
_API = StepNeed(plan_context.KUBECONFIG, "the API must answer", Tie.RUN)


def bootstrap_steps(known: PlanContext) -> list[Step]:
    """The steps of the phases inline, crds, core and engine."""
    found = [*_bootstrap_talos(known)]
    found += [_crds(known, each) for each in known.facts.bootstrap if known.crds_of(each)]
    found += [*_namespaces(known), *_secrets(known)]
    found += [_component(known, each) for each in known.facts.bootstrap]
    if known.engines:
        found.append(_source(known))
    return found


def _bootstrap_talos(known: PlanContext) -> Iterator[Step]:
    """What Talos applies of its own accord: CoreDNS, kube-proxy, flannel."""
    if not known.facts.has_talos:
        return
    facts = known.facts
    own = [
        *([facts.cni.value] if facts.cni.is_known and known.has_own_network else []),
        *(["kube-proxy"] if facts.kube_proxy.is_known and facts.kube_proxy.value else []),
        *(["CoreDNS"] if facts.core_dns.is_known and known.has_own_dns else []),
    ]
    is_all_known = all(each.is_known for each in (facts.cni, facts.kube_proxy, facts.core_dns))
    nothing = "RBAC, configuration" if is_all_known else "what the machine configs say, which were not read"
    gates = [
        *([Gate(Subject.CNI), Gate(Subject.NODES)] if known.has_own_network else []),
        *([Gate(Subject.DNS)] if known.has_own_dns else []),
    ]
    yield Step(
        id=plan_context.TALOS, phase=Phase.INLINE, action=Action.LET_TALOS_APPLY, name="Talos's own",
        what=", ".join(own) or nothing, needs=(_API,), gates=tuple(gates),
        place=known.facts.cluster.place,
    )  # fmt: skip


def _crds(known: PlanContext, component: Component) -> Step:
    objects = known.facts.objects(component, Side.BOOTSTRAP)
    return Step(
        id=plan_context.crds_id(component), phase=Phase.CRDS, action=Action.APPLY_CRDS, name=component.name,
        component=component.name, side=component.side, what="extracted from its render", needs=(_API,),
        gates=(Gate(Subject.CRDS, component.name),), creates=tuple(each.id for each in objects if each.is_crd),
        place=cluster_facts.place(component, Side.BOOTSTRAP),
    )  # fmt: skip


def _namespaces(known: PlanContext) -> Iterator[Step]:
    names = sorted(_wanted(known))
    if names:
        yield Step(
            id=plan_context.NAMESPACES, phase=Phase.CORE, action=Action.CREATE_NAMESPACES, name="namespaces",
            what=", ".join(names), targets=tuple(names), needs=(_API,), gates=(Gate(Subject.NAMESPACES),),
            creates=tuple(ObjectId("", "Namespace", "", each) for each in names), place=known.facts.cluster.place,
        )  # fmt: skip


def _wanted(known: PlanContext) -> set[str]:
    """The namespaces that bootstrap's components and Secrets go to, and that no cluster has by itself."""
    found = {each.namespace for each in known.facts.secrets}
    for component in known.facts.bootstrap:
        if component.phase in (Phase.CORE, Phase.ENGINE):
            found |= _namespaces_of(known, component)
    return found - _GIVEN - {""}


def _namespaces_of(known: PlanContext, component: Component) -> set[str]:
    return {chart.namespace for chart in cluster_facts.charts(component, Side.BOOTSTRAP)} | {
        each.id.namespace for each in known.facts.objects(component, Side.BOOTSTRAP)
    }


def _secrets(known: PlanContext) -> Iterator[Step]:
    for each in known.facts.secrets:
        identity = ObjectId("", "Secret", each.namespace, each.name)
        first = StepNeed(plan_context.NAMESPACES, "its namespace", Tie.RUN) if each.namespace not in _GIVEN else _API
        yield Step(
            id=plan_context.secret_id(each.namespace, each.name), phase=Phase.CORE, action=Action.CREATE_SECRET,
            name=f"{each.namespace}/{each.name}", what=each.why, needs=(first,),
            gates=(Gate(Subject.SECRET, object=identity),), creates=(identity,), place=each.place,
        )  # fmt: skip


def _component(known: PlanContext, component: Component) -> Step:
    rendition = known.facts.rendition(component, Side.BOOTSTRAP)
    apart = known.crds_of(component)
    return Step(
        id=plan_context.bootstrap_id(component), phase=component.phase, action=_action(known, component),
        name=component.name, component=component.name, side=component.side, what=_what(component),
        needs=_needs(known, component), gates=plan_context.bootstrap_gates(known, component), hooks=component.hooks,
        creates=tuple(each.id for each in rendition.objects if not (apart and each.is_crd)) if rendition else None,
        place=cluster_facts.place(component, Side.BOOTSTRAP),
    )  # fmt: skip


def _action(known: PlanContext, component: Component) -> Action:
    if component.phase == Phase.INLINE:
        return Action.LET_TALOS_APPLY
    if component.phase == Phase.CRDS:
        return Action.APPLY_CRDS
    if component in known.engines:
        return Action.INSTALL_ENGINE
    return Action.INSTALL_CHART if cluster_facts.charts(component, Side.BOOTSTRAP) else Action.APPLY_OBJECTS


def _needs(known: PlanContext, component: Component) -> tuple[StepNeed, ...]:
    """Everything that a component's step comes after."""
    needs = (*known.met(component), *_declared(known, component), *_of_role(known, component), _API)
    step = plan_context.bootstrap_id(component)
    return (*plan_context.once(needs, besides=step), *known.of_itself(component, Side.BOOTSTRAP, step=step))


def _of_role(known: PlanContext, component: Component) -> Iterator[StepNeed]:
    """What follows from what a component is, whatever its objects say."""
    has_pods = component in known.engines or known.facts.runs_pods(component)
    if component.phase != Phase.CRDS and component.role != "cni" and has_pods is not False:
        tie = Tie.FACT if has_pods else Tie.LIKELY
        yield from (dataclasses.replace(each, tie=tie) for each in known.network)
        if component in known.engines:
            yield from known.dns
        if (step := workers_step(known)) and scheduling.wants_workers(known.facts, component):
            yield StepNeed(step, "control planes do not take its pods", Tie.FACT)
    if component.phase in (Phase.CORE, Phase.ENGINE):
        if known.crds_of(component):
            yield StepNeed(plan_context.crds_id(component), "its own kinds", Tie.FACT)
        if _namespaces_of(known, component) & _wanted(known):
            yield StepNeed(plan_context.NAMESPACES, "its namespace", Tie.RUN)
        if known.facts.rendition(component, Side.BOOTSTRAP) is None:
            for other in known.facts.bootstrap:
                if other.phase == Phase.CRDS:
                    yield StepNeed(plan_context.bootstrap_id(other), "it may use its kinds", Tie.LIKELY)


def _declared(known: PlanContext, component: Component) -> Iterator[StepNeed]:
    """What the repo says that bootstrap's half needs, as far as bootstrap has it; the rest is a deadlock."""
    for name, need in declared_needs(known, component):
        other = known.facts.by_name.get(name)
        if other is not None and cluster_facts.in_bootstrap(other):
            yield dataclasses.replace(need, step=plan_context.bootstrap_id(other))


def declared_needs(known: PlanContext, component: Component) -> list[tuple[str, StepNeed]]:
    """The components that bootstrap's half of one declares to need, each with the reason; steps are not yet known."""
    found = []
    explained = set()
    for origin in component.origins:
        for need in origin.needs:
            name = known.facts.by_origin.get(need.id, "")
            explained.add(name)
            if origin.side == Side.BOOTSTRAP and name and name != component.name:
                found.append((name, StepNeed("", need.why or "needs", cluster_facts.tie(origin, need), need.place)))
    # What no origin says was declared in firstlight.yaml.
    own = StepNeed("", "needs", Tie.DECLARED, known.facts.wished(component))
    found += [(name, own) for name in component.needs if name not in explained]
    return found


def _source(known: PlanContext) -> Step:
    """The source object: the engine is pointed at the repo, and not yet told to apply anything."""
    cluster = known.facts.cluster
    needs = [StepNeed(plan_context.bootstrap_id(each), "its kinds and controllers", Tie.RUN) for each in known.engines]
    homes = {name for each in known.engines for name in _namespaces_of(known, each)} | {
        origin.namespace for each in known.engines for origin in each.origins
    }
    for secret in known.facts.secrets:
        if secret.namespace in homes:
            why = "a Secret of the engine's namespace"
            needs.append(StepNeed(plan_context.secret_id(secret.namespace, secret.name), why, Tie.FACT, secret.place))
    what = " ".join(each for each in (cluster.url, cluster.branch) if each)
    return Step(
        id=plan_context.SOURCE, phase=Phase.ENGINE, action=Action.CREATE_SOURCE, name="source", what=what,
        needs=tuple(needs), gates=(Gate(Subject.SOURCE),), place=known.facts.said("url"),
    )  # fmt: skip


def _what(component: Component) -> str:
    found = [
        _described(each)
        for origin in cluster_facts.origins(component, Side.BOOTSTRAP)
        for each in cluster_facts.sources(origin)
    ]
    return found[0] if found else ""


def _described(source: Source) -> str:
    match source:
        case ChartSource():
            return " ".join(each for each in (source.name.rpartition("/")[2], source.version or source.digest) if each)
        case DirectorySource():
            return source.path
        case RemoteSource():
            return source.url
        case Embedded():
            return f"{max(1, source.size // 1024)} KiB in {source.place.path}"
        case Unresolved():
            return source.text
