"""What is installed before the engine: Talos's own manifests, CRDs, namespaces, Secrets, components and the engine."""

import dataclasses
from collections.abc import Iterator

from firstlight.model.component import Component, ObjectId, Phase, Side
from firstlight.model.plan import Action, Gate, Step, StepNeed, Subject, Tie
from firstlight.model.source import Chart, Directory, Embedded, Remote, Source, Unresolved
from firstlight.plan import asking, facts, ground, scheduling
from firstlight.plan.ground import Ground
from firstlight.plan.stages import machine

_GIVEN = {"kube-system", "kube-public", "kube-node-lease", "default"}
"""Namespaces that every cluster has."""
_API = StepNeed(ground.KUBECONFIG, "the API must answer", Tie.RUN)


def steps(known: Ground) -> list[Step]:
    """The steps of the phases inline, crds, core and engine."""
    found = [*_talos(known)]
    found += [_crds(known, each) for each in known.facts.bootstrap if known.crds_of(each)]
    found += [*_namespaces(known), *_secrets(known)]
    found += [_component(known, each) for each in known.facts.bootstrap]
    if known.engines:
        found.append(_source(known))
    return found


def _talos(known: Ground) -> Iterator[Step]:
    """What Talos applies of its own accord: CoreDNS, kube-proxy, flannel."""
    if not known.facts.has_talos:
        return
    network = known.facts.cluster.network
    own = [
        *([network.cni or "flannel"] if known.has_own_network else []),
        *(["kube-proxy"] if network.kube_proxy is not False else []),
        *(["CoreDNS"] if known.has_own_dns else []),
    ]
    gates = [
        *([Gate(Subject.CNI), Gate(Subject.NODES)] if known.has_own_network else []),
        *([Gate(Subject.DNS)] if known.has_own_dns else []),
    ]
    yield Step(
        id=ground.TALOS, phase=Phase.INLINE, action=Action.LET_TALOS_APPLY, name="Talos's own",
        what=", ".join(own) or "RBAC, configuration", needs=(_API,), gates=tuple(gates),
        place=known.facts.cluster.place,
    )  # fmt: skip


def _crds(known: Ground, component: Component) -> Step:
    objects = known.facts.objects(component, Side.BOOTSTRAP)
    return Step(
        id=ground.crds_id(component), phase=Phase.CRDS, action=Action.APPLY_CRDS, name=component.name,
        component=component.name, side=component.side, what="extracted from its render", needs=(_API,),
        gates=(Gate(Subject.CRDS, component.name),), creates=tuple(each.id for each in objects if each.is_crd),
        place=facts.place(component, Side.BOOTSTRAP),
    )  # fmt: skip


def _namespaces(known: Ground) -> Iterator[Step]:
    names = sorted(_wanted(known))
    if names:
        yield Step(
            id=ground.NAMESPACES, phase=Phase.CORE, action=Action.CREATE_NAMESPACES, name="namespaces",
            what=", ".join(names), targets=tuple(names), needs=(_API,), gates=(Gate(Subject.NAMESPACES),),
            creates=tuple(ObjectId("", "Namespace", "", each) for each in names), place=known.facts.cluster.place,
        )  # fmt: skip


def _wanted(known: Ground) -> set[str]:
    """The namespaces that bootstrap's components and Secrets go to, and that no cluster has by itself."""
    found = {each.namespace for each in known.facts.secrets}
    for component in known.facts.bootstrap:
        if component.phase in (Phase.CORE, Phase.ENGINE):
            found |= _namespaces_of(known, component)
    return found - _GIVEN - {""}


def _namespaces_of(known: Ground, component: Component) -> set[str]:
    return {chart.namespace for chart in facts.charts(component, Side.BOOTSTRAP)} | {
        each.id.namespace for each in known.facts.objects(component, Side.BOOTSTRAP)
    }


def _secrets(known: Ground) -> Iterator[Step]:
    for each in known.facts.secrets:
        identity = ObjectId("", "Secret", each.namespace, each.name)
        first = StepNeed(ground.NAMESPACES, "its namespace", Tie.RUN) if each.namespace not in _GIVEN else _API
        yield Step(
            id=ground.secret_id(each.namespace, each.name), phase=Phase.CORE, action=Action.CREATE_SECRET,
            name=f"{each.namespace}/{each.name}", what=each.why, needs=(first,),
            gates=(Gate(Subject.SECRET, object=identity),), creates=(identity,), place=each.place,
        )  # fmt: skip


def _component(known: Ground, component: Component) -> Step:
    rendition = known.facts.rendition(component, Side.BOOTSTRAP)
    apart = known.crds_of(component)
    return Step(
        id=ground.bootstrap_id(component), phase=component.phase, action=_action(known, component),
        name=component.name, component=component.name, side=component.side, what=_what(component),
        needs=_needs(known, component), gates=asking.of_bootstrap(known, component), hooks=component.hooks,
        creates=tuple(each.id for each in rendition.objects if not (apart and each.is_crd)) if rendition else None,
        place=facts.place(component, Side.BOOTSTRAP),
    )  # fmt: skip


def _action(known: Ground, component: Component) -> Action:
    if component.phase == Phase.INLINE:
        return Action.LET_TALOS_APPLY
    if component.phase == Phase.CRDS:
        return Action.APPLY_CRDS
    if component in known.engines:
        return Action.INSTALL_ENGINE
    return Action.INSTALL_CHART if facts.charts(component, Side.BOOTSTRAP) else Action.APPLY_OBJECTS


def _needs(known: Ground, component: Component) -> tuple[StepNeed, ...]:
    """Everything that a component's step comes after."""
    needs = (*known.met(component), *_declared(known, component), *_of_role(known, component), _API)
    step = ground.bootstrap_id(component)
    return (*ground.once(needs, besides=step), *known.of_itself(component, Side.BOOTSTRAP, step=step))


def _of_role(known: Ground, component: Component) -> Iterator[StepNeed]:
    """What follows from what a component is, whatever its objects say."""
    has_pods = component in known.engines or known.facts.runs_pods(component)
    if component.phase != Phase.CRDS and component.role != "cni" and has_pods is not False:
        tie = Tie.FACT if has_pods else Tie.LIKELY
        yield from (dataclasses.replace(each, tie=tie) for each in known.network)
        if component in known.engines:
            yield from known.dns
        if (step := machine.workers(known)) and scheduling.wants_workers(known.facts, component):
            yield StepNeed(step, "control planes do not take its pods", Tie.FACT)
    if component.phase in (Phase.CORE, Phase.ENGINE):
        if known.crds_of(component):
            yield StepNeed(ground.crds_id(component), "its own kinds", Tie.FACT)
        if _namespaces_of(known, component) & _wanted(known):
            yield StepNeed(ground.NAMESPACES, "its namespace", Tie.RUN)
        if known.facts.rendition(component, Side.BOOTSTRAP) is None:
            for other in known.facts.bootstrap:
                if other.phase == Phase.CRDS:
                    yield StepNeed(ground.bootstrap_id(other), "it may use its kinds", Tie.LIKELY)


def _declared(known: Ground, component: Component) -> Iterator[StepNeed]:
    """What the repo says that bootstrap's half needs, as far as bootstrap has it; the rest is a deadlock."""
    for name, need in declared(known, component):
        other = known.facts.by_name.get(name)
        if other is not None and facts.in_bootstrap(other):
            yield dataclasses.replace(need, step=ground.bootstrap_id(other))


def declared(known: Ground, component: Component) -> list[tuple[str, StepNeed]]:
    """The components that bootstrap's half of one declares to need, each with the reason; steps are not yet known."""
    found = []
    explained = set()
    for origin in component.origins:
        for need in origin.needs:
            name = known.facts.by_origin.get(need.id, "")
            explained.add(name)
            if origin.side == Side.BOOTSTRAP and name and name != component.name:
                found.append((name, StepNeed("", need.why or "needs", facts.tie(origin, need), need.place)))
    # What no origin says was declared in firstlight.yaml.
    own = StepNeed("", "needs", Tie.DECLARED, known.facts.wished(component))
    found += [(name, own) for name in component.needs if name not in explained]
    return found


def _source(known: Ground) -> Step:
    """The source object: the engine is pointed at the repo, and not yet told to apply anything."""
    cluster = known.facts.cluster
    needs = [StepNeed(ground.bootstrap_id(each), "its kinds and controllers", Tie.RUN) for each in known.engines]
    homes = {name for each in known.engines for name in _namespaces_of(known, each)} | {
        origin.namespace for each in known.engines for origin in each.origins
    }
    for secret in known.facts.secrets:
        if secret.namespace in homes:
            why = "a Secret of the engine's namespace"
            needs.append(StepNeed(ground.secret_id(secret.namespace, secret.name), why, Tie.FACT, secret.place))
    what = " ".join(each for each in (cluster.url, cluster.branch) if each)
    return Step(
        id=ground.SOURCE, phase=Phase.ENGINE, action=Action.CREATE_SOURCE, name="source", what=what,
        needs=tuple(needs), gates=(Gate(Subject.SOURCE),), place=known.facts.said("url"),
    )  # fmt: skip


def _what(component: Component) -> str:
    found = [_described(each) for origin in facts.origins(component, Side.BOOTSTRAP) for each in facts.sources(origin)]
    return found[0] if found else ""


def _described(source: Source) -> str:
    match source:
        case Chart():
            return " ".join(each for each in (source.name.rpartition("/")[2], source.version or source.digest) if each)
        case Directory():
            return source.path
        case Remote():
            return source.url
        case Embedded():
            return f"{max(1, source.size // 1024)} KiB in {source.place.path}"
        case Unresolved():
            return source.text
