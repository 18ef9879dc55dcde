"""Cold-start deadlocks: bootstrap needs what only GitOps brings, and GitOps begins when bootstrap has ended."""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from firstlight.document.within import at, mapping, sequence, text
from firstlight.model import argocd_names, flux_names
from firstlight.model.component import Component, ObjectId, Phase, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.plan import Tie
from firstlight.model.rendition import Object
from firstlight.plan import bootstrap_steps, cluster_facts, well_known
from firstlight.plan.cluster_facts import ClusterFacts
from firstlight.plan.plan_context import PlanContext
from firstlight.plan.supplies import ComponentDemand, Provision, ProvisionStanding, Requisite, RequisiteKind, Supply

_FROM_GITOPS = {
    RequisiteKind.SECRET: "secret-from-gitops",
    RequisiteKind.CONFIG_MAP: "config-from-gitops",
    RequisiteKind.KIND: "kind-from-gitops",
    RequisiteKind.OPERATOR: "operator-from-gitops",
    RequisiteKind.STORE: "store-from-gitops",
    RequisiteKind.STORAGE_CLASS: "storage-from-gitops",
    RequisiteKind.PRIORITY_CLASS: "priority-from-gitops",
    RequisiteKind.SERVICE: "webhook-before-service",
    RequisiteKind.HOST: "host-from-inside",
}
"""The codes of what comes too late, by what it is."""
_FROM_NOWHERE = {
    RequisiteKind.SECRET: "secret-from-nowhere",
    RequisiteKind.KIND: "kind-from-nowhere",
    RequisiteKind.OPERATOR: "operator-from-nowhere",
    RequisiteKind.STORE: "store-from-nowhere",
    RequisiteKind.STORAGE_CLASS: "storage-from-nowhere",
    RequisiteKind.PRIORITY_CLASS: "priority-from-nowhere",
    RequisiteKind.SERVICE: "webhook-from-nowhere",
}
"""The codes of what nothing brings, by what it is."""
LATE = frozenset(
    {*_FROM_GITOPS.values(), *_FROM_NOWHERE.values(), "needs-gitops", "inline-kind-late", "need-unrendered"}
)
"""The codes of everything that bootstrap needs and does not get in time."""


def deadlock_problems(known: PlanContext) -> Iterator[Diagnostic]:
    """Everything that bootstrap needs and only GitOps brings, and kinds that nobody brings."""
    for component in known.facts.bootstrap:
        yield from _declared(known, component)
        for demand, way in _together(known.provisions.get((component.name, Side.BOOTSTRAP), ())):
            if way.standing == ProvisionStanding.GITOPS:
                yield _late(known, component, demand, way)
            elif way.standing == ProvisionStanding.NOWHERE:
                yield from _nowhere(known, component, demand)
            elif component.phase == Phase.INLINE and demand.thing.sort == RequisiteKind.KIND:
                yield from _after_inline(known, component, demand, way)


def _together(ways: Iterable[tuple[ComponentDemand, Provision]]) -> Iterator[tuple[ComponentDemand, Provision]]:
    """What is needed for sure; kinds of one group that come from one place are one demand."""
    found: dict[tuple[object, ...], list[tuple[ComponentDemand, Provision]]] = {}
    for demand, way in ways:
        if demand.is_soft:
            continue
        key: tuple[object, ...] = (demand.thing,)
        if demand.thing.sort == RequisiteKind.KIND:
            group = demand.thing.name.rpartition("/")[0]
            key = (group, way.standing, demand.severity, tuple(each.component for each in way.chain))
        found.setdefault(key, []).append((demand, way))
    for same in found.values():
        demand, way = same[0]
        if len(same) > 1:
            group = demand.thing.name.rpartition("/")[0]
            kinds = ", ".join(each.thing.name.rpartition("/")[2] for each, _ in same)
            demand = dataclasses.replace(demand, thing=Requisite(RequisiteKind.KIND, f"{group}/{kinds}"))
        yield demand, way


def _declared(known: PlanContext, component: Component) -> Iterator[Diagnostic]:
    """A component that declares to need one that only GitOps has."""
    for name, need in bootstrap_steps.declared_needs(known, component):
        other = known.facts.by_name.get(name)
        if other is not None and not cluster_facts.in_bootstrap(other) and need.tie == Tie.DECLARED:
            yield Diagnostic.error(
                "needs-gitops",
                f"{component.name} is in bootstrap and needs {name}, which only GitOps brings",
                evidence=(
                    Evidence(
                        f"needs {name}{'' if need.why == 'needs' else f': {need.why}'}",
                        need.place,
                        where=component.name,
                    ),
                    Evidence("is brought by GitOps", cluster_facts.place(other, Side.GITOPS), where=name),
                    *_round(component.name),
                ),
                fix=f"Install {name} in bootstrap too (components.{name}.phase: core), or take the need away.",
                subject=component.name,
            )


def _round(name: str) -> tuple[Evidence, ...]:
    """The end of every such chain."""
    return (Evidence(f"begins when all of bootstrap is up, {name} among it", where="gitops"),)


def _late(known: PlanContext, component: Component, demand: ComponentDemand, way: Provision) -> Diagnostic:
    late = next(each for each in way.chain if each.side == Side.GITOPS)
    links = [Evidence(demand.how, demand.place, where=component.name)]
    links += [Evidence(_brings(each), each.place, where=each.component or "foundation") for each in way.chain]
    return Diagnostic(
        code=_FROM_GITOPS[demand.thing.sort],
        severity=Severity.WARNING if _is_tried_again(component, demand) else demand.severity,
        message=f"{component.name} is in bootstrap and needs {demand.thing}, which only GitOps brings",
        evidence=(*links, *_round(component.name)),
        fix=_way_out(component, demand, late),
        subject=component.name,
    )


def _is_tried_again(component: Component, demand: ComponentDemand) -> bool:
    """Whether nothing else is held up: Talos applies the rest and tries again. Not so with a component's own kinds."""
    about = well_known.of(component)
    is_own = about is not None and demand.thing.name.rpartition("/")[0] in about[1].operates
    return component.phase == Phase.INLINE and demand.thing.sort == RequisiteKind.KIND and not is_own


def _brings(supply: Supply) -> str:
    side = " in GitOps" if supply.side == Side.GITOPS else ""
    return " ".join(each for each in (f"brings {supply.thing}", supply.how) if each) + side


def _way_out(component: Component, demand: ComponentDemand, late: Supply) -> str:
    name, thing = late.component, demand.thing
    # An engine that is left to GitOps would never come.
    install = f"nstall {name} in bootstrap too"
    or_leave = "" if component.role == "engine" else f", or leave {component.name} to GitOps"
    match thing.sort:
        case RequisiteKind.SECRET | RequisiteKind.CONFIG_MAP:
            return f"Put {thing} into the foundation (secrets: in firstlight.yaml), or i{install}{or_leave}."
        case RequisiteKind.KIND:
            group = thing.name.rpartition("/")[0]
            return (
                f"Apply the CRDs of {group} in the phase crds, install {name} in bootstrap too, "
                f"or switch these objects off in {component.name}."
            )
        case RequisiteKind.HOST:
            return f"Fetch it from outside the cluster for the start, or install {name} in bootstrap too."
        case RequisiteKind.SERVICE:
            return f"Let {name} bring the webhook too, or give it failurePolicy: Ignore."
        case RequisiteKind.STORAGE_CLASS:
            return f"Install {name} in bootstrap too, or let {component.name} start without a volume."
    return f"I{install}{or_leave}."


def _nowhere(known: PlanContext, component: Component, demand: ComponentDemand) -> Iterator[Diagnostic]:
    """Kinds, stores and classes that nothing brings; Secrets may be made by the component itself when it runs."""
    thing = demand.thing
    if thing.sort in (RequisiteKind.HOST, RequisiteKind.CONFIG_MAP):
        return
    if thing.sort == RequisiteKind.SECRET and not demand.by_rendering:
        yield Diagnostic.note(
            "secret-unknown",
            f"{component.name} needs {thing}, which nothing in the repo brings; perhaps it makes it itself",
            evidence=(Evidence(demand.how, demand.place, where=component.name),),
            fix="If it does not: put it into the foundation (secrets: in firstlight.yaml).",
            subject=component.name,
        )
        return
    if thing.sort == RequisiteKind.OPERATOR and known.facts.unrendered:
        return
    unsure = [each for each in known.facts.unrendered if each != component.name]
    severity = Severity.WARNING if unsure or _is_tried_again(component, demand) else demand.severity
    doubt = f"; {len(unsure)} components were not rendered and may bring it" if unsure else ""
    yield Diagnostic(
        code="need-unrendered" if unsure else _FROM_NOWHERE[thing.sort],
        severity=severity,
        message=f"{component.name} needs {thing}, which nothing in the repo brings{doubt}",
        evidence=(Evidence(demand.how, demand.place, where=component.name),),
        fix=_from_nowhere(component, demand),
        subject=component.name,
    )


def _from_nowhere(component: Component, demand: ComponentDemand) -> str:
    match demand.thing.sort:
        case RequisiteKind.KIND:
            group = demand.thing.name.rpartition("/")[0]
            return f"Add the CRDs of {group} to the phase crds, or switch these objects off in {component.name}."
        case RequisiteKind.SECRET:
            return "Put it into the foundation (secrets: in firstlight.yaml), or into Git, encrypted."
    return f"Add it to bootstrap, or let {component.name} do without."


def _after_inline(
    known: PlanContext, component: Component, demand: ComponentDemand, way: Provision
) -> Iterator[Diagnostic]:
    """What Talos applies finds only kinds that Talos applied before it."""
    supply = way.chain[0]
    other = known.facts.by_name.get(supply.component)
    if other is None or other.phase == Phase.INLINE:
        return
    yield Diagnostic(
        code="inline-kind-late",
        severity=Severity.WARNING if _is_tried_again(component, demand) else demand.severity,
        message=f"{component.name} is inline and needs {demand.thing}, "
        f"which comes after it, in the phase {other.phase}",
        evidence=(
            Evidence(demand.how, demand.place, where=component.name),
            Evidence(f"{_brings(supply)} in the phase {other.phase}", supply.place, where=other.name),
        ),
        fix=f"Embed these CRDs too, before {component.name}: firstlight render --inline does it.",
        subject=component.name,
    )


# What tells the engine to begin before the handover: root objects among bootstrap's own.


_ROOTS = {
    (flux_names.KUSTOMIZE_GROUP, flux_names.KUSTOMIZATION),
    (flux_names.HELM_GROUP, flux_names.HELM_RELEASE),
    (argocd_names.GROUP, argocd_names.APPLICATION),
    (argocd_names.GROUP, argocd_names.APPLICATION_SET),
}


def early_problems(known: PlanContext) -> Iterator[Diagnostic]:
    """Components of bootstrap with which Git would begin to act before the baseline is saved."""
    for component in known.facts.bootstrap:
        roots = [f"{each.kind} {each.name}" for each in _made(known, component) if (each.group, each.kind) in _ROOTS]
        roots += [
            f"the sync of FluxInstance {origin.name}"
            for origin in cluster_facts.origins(component, Side.BOOTSTRAP)
            if origin.form == SourceForm.FLUX_INSTANCE and at(origin.definition, "spec", "sync")
        ]
        if cluster_facts.value(component, Side.BOOTSTRAP, "instance", "sync"):
            roots.append("the sync of the FluxInstance")
        if roots:
            shown = ", ".join(dict.fromkeys(roots[:3])) + (f" and {len(roots) - 3} more" if len(roots) > 3 else "")
            yield Diagnostic.note(
                "root-early",
                f"{component.name} brings {shown}: Git would begin before the handover",
                evidence=(
                    Evidence(f"has {shown}", cluster_facts.place(component, Side.BOOTSTRAP), where=component.name),
                ),
                fix="Nothing must be done: these are held back (suspended) until the baseline is saved.",
                subject=component.name,
            )


def _made(known: PlanContext, component: Component) -> Iterator[ObjectId]:
    if known.facts.rendition(component, Side.BOOTSTRAP) is not None:
        yield from (each.id for each in known.facts.objects(component, Side.BOOTSTRAP))
        return
    for origin in cluster_facts.origins(component, Side.BOOTSTRAP):
        yield from origin.objects


# Secrets of the foundation for which nobody has said where their content is.


def foundation_problems(known: ClusterFacts) -> Iterator[Diagnostic]:
    """Secrets without a reference: bootstrap could not create them."""
    for secret in known.secrets:
        empty = sorted(key for key, reference in secret.data.items() if not reference)
        if secret.data and not empty:
            continue
        keys = f" ({', '.join(empty)})" if empty else ""
        name = f"{secret.namespace}/{secret.name}"
        if secret.brought is not None:
            message = (
                f"the content of the Secret {name}{keys} is not known: {secret.brought} brings it, or may bring it"
            )
            yield Diagnostic.unknown("secret-content-unread", message, at=secret.place, subject=name)
            continue
        yield Diagnostic(
            code="secret-without-reference",
            # What is only inferred is created today by somebody's script or hand.
            severity=Severity.ERROR if known.is_declared else Severity.WARNING,
            message=f"nothing says where the Secret {name}{keys} comes from",
            evidence=(
                Evidence(secret.why or "is needed before an operator can fetch the rest", secret.place, where=name),
            ),
            fix="Name its source in firstlight.yaml: secrets, data, with op://, sops:, vault:, env: or file:.",
        )


# Webhooks that stand in their own way: they must admit the pods that answer for them.


_KINDS = {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}


def webhook_problems(known: ClusterFacts) -> Iterator[Diagnostic]:
    """Webhooks of bootstrap that refuse pods everywhere while nobody answers, their own pods included."""
    for component in known.bootstrap:
        objects = known.objects(component, Side.BOOTSTRAP)
        for item in objects:
            if item.id.kind not in _KINDS:
                continue
            for hook in sequence(item.value, "webhooks"):
                if _is_strict_on_pods(hook) and _is_own(hook, objects):
                    name = text(hook, "name") or item.id.name
                    yield Diagnostic.warning(
                        "webhook-of-itself",
                        f"the webhook {name} must admit the pods that answer for it: once none is left, none can start",
                        evidence=(
                            Evidence(
                                f"{item.id.kind} {item.id.name} refuses pods of every namespace "
                                "while its Service does not answer",
                                cluster_facts.place(component, Side.BOOTSTRAP),
                                where=component.name,
                            ),
                        ),
                        fix="Exclude its own namespace with a namespaceSelector, or give it failurePolicy: Ignore.",
                        subject=component.name,
                    )


def _is_strict_on_pods(hook: Any) -> bool:
    if text(hook, "failurePolicy") == "Ignore" or not mapping(hook, "clientConfig", "service"):
        return False
    if mapping(hook, "namespaceSelector") or mapping(hook, "objectSelector") or sequence(hook, "matchConditions"):
        return False
    return any(_has_pods(rule) for rule in sequence(hook, "rules"))


def _has_pods(rule: Any) -> bool:
    groups, resources = sequence(rule, "apiGroups"), sequence(rule, "resources")
    operations = sequence(rule, "operations")
    return (
        any(each in ("", "*") for each in groups)
        and any(each in ("pods", "*", "*/*") for each in resources)
        and any(each in ("CREATE", "*") for each in operations)
    )


def _is_own(hook: Any, objects: tuple[Object, ...]) -> bool:
    service = mapping(hook, "clientConfig", "service")
    wanted = ("Service", text(service, "namespace"), text(service, "name"))
    return any((each.id.kind, each.id.namespace, each.id.name) == wanted for each in objects)
