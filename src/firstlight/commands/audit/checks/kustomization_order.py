"""Kustomizations that need what another one brings, and do not come after it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from firstlight.commands.audit import apply_order, stated_edits, wording
from firstlight.commands.audit.apply_order import KustomizationOrder, short_name
from firstlight.commands.audit.checks import bootstrap_order
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import at, text
from firstlight.model import flux_names
from firstlight.model.component import Side, SourceForm
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.source import RemoteSource, Unresolved
from firstlight.plan import cluster_facts
from firstlight.repo.platform_view import AppliedObject, PlatformView

_ALWAYS = {"", "default", "kube-system", "kube-public", "kube-node-lease"}
"""Namespaces that are there before anything is."""
_SHOWN = 6

Needed = tuple[str, str, Evidence, bool]
"""Whose, what, what shows it, and whether applying fails without."""
Objects = Mapping[tuple[str, str, str], tuple[AppliedObject, ...]]


def kinds_together(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Objects in one Kustomization with the chart that brings their kinds: neither is ever applied."""
    for order in apply_order.order_of(scene):
        brought = apply_order.suppliers_of_kinds(scene, order.cluster)
        doubtful = _perhaps_before(scene, order.cluster)
        for name, (_, origin) in order.all.items():
            below = order.below(name)
            beside: dict[str, list[AppliedObject]] = defaultdict(list)
            for item in _own(order, name):
                others = _others(item, brought) if item.object.id.group not in doubtful else ()
                if others and all(apply_order.bringer(each) in below and each.id != origin.id for _, each in others):
                    beside[item.object.id.group].append(item)
            for group, items in beside.items():
                is_certain = bool(scene.facts[order.cluster].bootstrap)
                yield _beside(rule, order, items, brought[group][0], is_certain=is_certain)


def _beside(
    rule: AuditRule,
    order: KustomizationOrder,
    items: list[AppliedObject],
    supplier: apply_order.Supplier,
    *,
    is_certain: bool,
) -> Finding:
    first, (_, bringer) = items[0], supplier
    shown = (*(Evidence(str(each.object.id), each.object.place) for each in items[:_SHOWN]),)
    return rule.finding(
        f"{first.origin.name} applies {first.object.id} and {bringer.form} {bringer.name}, which brings the "
        f"kinds of {first.object.id.group}: on a new cluster Flux refuses the first, and applies neither",
        at=first.object.place,
        clusters=(order.cluster,),
        subject=first.component.name,
        evidence=(*shown, Evidence(f"{bringer.form} {bringer.name}", bringer.place)),
        # Where the repo does not have the bootstrap of a cluster, that may bring the kinds.
        severity=None if is_certain else Severity.WARNING,
    )


def _others(
    item: AppliedObject, brought: Mapping[str, tuple[apply_order.Supplier, ...]]
) -> tuple[apply_order.Supplier, ...]:
    """Who brings the kind of an object, where that is one of GitOps and not there before Flux is."""
    group = item.object.id.group
    others = brought.get(group, ())
    # Flux's own kinds are there before Flux reads anything.
    is_before = group.endswith(flux_names.TOOLKIT_DOMAIN) or any(
        cluster_facts.in_bootstrap(component) for component, _ in others
    )
    return () if is_before else others


def _own(order: KustomizationOrder, name: str) -> Iterator[AppliedObject]:
    """What a Kustomization applies itself."""
    component, origin = order.all[name]
    for each in origin.stated:
        yield AppliedObject(cluster=order.cluster, component=component, origin=origin, object=each)


def unordered(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Kustomizations that use what another one brings, and do not come after it; one finding each."""
    for order in apply_order.order_of(scene):
        kinds = apply_order.suppliers_of_kinds(scene, order.cluster)
        named = apply_order.suppliers_of_objects(
            scene,
            order.cluster,
            "/Namespace",
            *(f"external-secrets.io/{each}" for each in apply_order.STORES),
            *(f"cert-manager.io/{each}" for each in apply_order.ISSUERS),
        )
        elsewhere = _made(scene, order.cluster)
        doubtful = _perhaps_before(scene, order.cluster)
        for name in order.all:
            needs: dict[str, Needed] = {}
            unread = _comes_after_unread(order, name)
            for item in _own(order, name):
                is_early = unread or item.object.id.group in doubtful
                for need in (
                    *(() if is_early else _kind(item, kinds)),
                    *_referred(item, named),
                    *_namespace(item, named, elsewhere),
                ):
                    if _is_late(order, name, need[0]) and need[3] >= needs.get(need[0], need)[3]:
                        needs[need[0]] = need
            if needs:
                yield _unordered(rule, scene, order, name, needs)


def _perhaps_before(scene: PlatformView, cluster: str) -> frozenset[str]:
    """The groups whose kinds are there before the first Kustomization is, or may be, though nothing brings them."""
    return _of_operator(scene, cluster) | _of_other_bootstraps(scene, cluster)


def _of_operator(scene: PlatformView, cluster: str) -> frozenset[str]:
    """The operator's group, where a FluxInstance syncs the cluster: it has made the first Kustomization."""
    instances = (
        origin
        for component in scene.platform.components_of(cluster)
        for origin in component.origins
        if origin.form is SourceForm.FLUX_INSTANCE
    )
    is_synced = any(text(each.definition, "spec", "sync", "path") for each in instances)
    return frozenset([flux_names.OPERATOR_GROUP]) if is_synced else frozenset()


def _of_other_bootstraps(scene: PlatformView, cluster: str) -> frozenset[str]:
    """The groups whose kinds may be there before Flux is, though nothing says that they are in this cluster.

    Where a cluster has no bootstrap of its own in the repo, one that is told apart from it may still be its own.
    """
    if scene.facts[cluster].bootstrap:
        return frozenset()
    return frozenset(
        group
        for other in scene.platform.clusters
        if other.name != cluster
        for group, suppliers in apply_order.suppliers_of_kinds(scene, other.name).items()
        if any(cluster_facts.in_bootstrap(component) for component, _ in suppliers)
    )


def _comes_after_unread(order: KustomizationOrder, name: str) -> bool:
    """Whether it waits for a Kustomization whose objects are not in this repo, and which may bring any kind."""
    before = (order.all[each][1] for each in order.before(name) if each in order.all)
    return any(
        each.form is SourceForm.KUSTOMIZATION and isinstance(each.source, RemoteSource | Unresolved) for each in before
    )


def _is_late(order: KustomizationOrder, name: str, other: str) -> bool:
    """Whether nothing says that the other one comes first, and nothing speaks against it."""
    if other not in order.all or other in order.before(name) or name in order.before(other):
        return False
    return other not in order.above(name) and name not in order.above(other)


def _unordered(
    rule: AuditRule, scene: PlatformView, order: KustomizationOrder, name: str, needs: Mapping[str, Needed]
) -> Finding:
    component, origin = order.all[name]
    stated = stated_edits.declaring_object(scene, origin)
    several = sorted(needs.values())
    said = wording.listed_names(f"{what} of {short_name(other)}" for other, what, _, _ in several)
    others = ", ".join(_dependency(order, name, other) for other, _, _, _ in several)
    return rule.finding(
        f"{origin.name} needs {said}, and does not depend on {'it' if not several[1:] else 'them'}",
        at=stated.at("spec", "dependsOn") if stated else origin.place,
        clusters=(order.cluster,),
        subject=component.name,
        evidence=tuple(evidence for _, _, evidence, _ in several),
        fix=f"Add to dependsOn of {origin.name}: {others}.",
        severity=None if any(hard for _, _, _, hard in several) else Severity.NOTE,
    )


def _dependency(order: KustomizationOrder, name: str, other: str) -> str:
    """The entry of dependsOn; one without a namespace is looked for beside the Kustomization itself."""
    namespace = order.all[other][1].namespace
    is_beside = namespace in ("", order.all[name][1].namespace)
    return f"- name: {short_name(other)}" if is_beside else f"- {{name: {short_name(other)}, namespace: {namespace}}}"


def _kind(item: AppliedObject, kinds: Mapping[str, tuple[apply_order.Supplier, ...]]) -> Iterator[Needed]:
    bringers = {apply_order.bringer(each) for _, each in _others(item, kinds)}
    if len(bringers) == 1:
        found = item.object.id
        shown = Evidence(f"{found} is of {found.group}", item.object.place)
        yield bringers.pop(), f"the kind {found.kind}", shown, True


def _referred(item: AppliedObject, named: Objects) -> Iterator[Needed]:
    """Stores and issuers: nothing fails without, and what is made of them comes late."""
    value, namespace = item.value, item.object.id.namespace
    for path, plain in ((("spec", "secretStoreRef"), "SecretStore"), (("spec", "issuerRef"), "Issuer")):
        if item.object.id.kind not in ("ExternalSecret", "Certificate") or not text(at(value, *path), "name"):
            continue
        kind = text(at(value, *path), "kind") or plain
        key = kind, "" if kind.startswith("Cluster") else namespace, text(at(value, *path), "name")
        bringers = {each.origin.id for each in named.get(key, ())}
        if len(bringers) == 1:
            yield (
                bringers.pop(),
                f"{kind} {key[2]}",
                Evidence(f"{item.object.id} uses it", item.object.at(*path)),
                False,
            )


def _namespace(item: AppliedObject, named: Objects, elsewhere: frozenset[str]) -> Iterator[Needed]:
    namespace = item.object.id.namespace
    if namespace in _ALWAYS or namespace in elsewhere or "$" in namespace:
        return
    owners = {each.origin.id for each in named.get(("Namespace", "", namespace), ())}
    if len(owners) == 1 and item.origin.id not in owners:
        (name,) = owners
        shown = Evidence(f"{item.object.id} is in Namespace {namespace}", item.object.place)
        yield name, f"Namespace {namespace}", shown, True


def _made(scene: PlatformView, cluster: str) -> frozenset[str]:
    """Namespaces that bootstrap or a chart makes."""
    found = set()
    for component in scene.platform.components_of(cluster):
        for origin in component.origins:
            for each in cluster_facts.charts(component, origin.side):
                if origin.side is Side.BOOTSTRAP or at(origin.definition, "spec", "install", "createNamespace") is True:
                    found.add(each.namespace)
            if origin.side is Side.BOOTSTRAP:
                found |= {each.name for each in origin.objects if each.kind == "Namespace"}
                found |= {each.namespace for each in origin.objects}
    return frozenset(found)


# What waits for something that never comes.


_GITOPS = (SourceForm.KUSTOMIZATION, SourceForm.HELM_RELEASE, SourceForm.APPLICATION)


def depends_on_nothing(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """A dependsOn that names what the cluster does not have, or what is suspended."""
    for component in scene.platform.components:
        if not any(each.form in _GITOPS for each in component.origins):
            continue
        for need in component.missing:
            if need.is_awaited:
                yield rule.finding(
                    f"{component.name} depends on {need.id}, which nothing deploys there",
                    at=need.place,
                    clusters=(component.cluster,),
                    subject=component.name,
                )
    yield from bootstrap_order.plan_problems(rule, scene, "suspended-need", severity=Severity.WARNING)


def depends_on_circles(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Kustomizations and HelmReleases that wait for each other."""
    for cluster in scene.clusters:
        for each in apply_order.waiting_circles(scene, cluster.name):
            *names, last = (apply_order.shown_circle(origin) for _, origin in each.members)
            yield rule.finding(
                f"{', '.join(names)} and {last} wait for each other" if names else f"{last} waits for itself",
                at=each.evidence[0].place or each.members[0][1].place,
                clusters=(cluster.name,),
                subject=each.members[0][0].name,
                evidence=each.evidence,
            )
