"""What bootstrap installs: namespaces, CRDs, components, the engine; without what would start GitOps too early."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import msgspec

from firstlight.commands.up.task_context import TaskContext
from firstlight.document.within import mapping, text
from firstlight.engines import engine_roots
from firstlight.model import flux_names, helm_names, talos_facts, work
from firstlight.model.component import Component, ObjectId, Owner, Phase, Side, SourceForm
from firstlight.model.plan import Step
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.model.source import RemoteSource
from firstlight.model.work import Installation, Task
from firstlight.plan import cluster_facts, final_owners, plan_context

_INSTALLING = {"pre-install", "post-install", "crd-install"}
_STARTS = "what it brings makes the engine begin, which waits for the baseline: the root object brings it"
_TALOS = {
    "dns": ObjectId("apps", "Deployment", "kube-system", "coredns"),
    "proxy": ObjectId("apps", "DaemonSet", "kube-system", "kube-proxy"),
    "flannel": ObjectId("apps", "DaemonSet", "kube-system", "kube-flannel"),
}
"""What Talos applies of its own accord, unless it is told otherwise."""


def by_talos(step: Step, ready: TaskContext) -> Task:
    """What Talos applies by itself: its own, or inline manifests."""
    if step.id == plan_context.TALOS:
        return work.TalosApplies(objects=_own(ready))
    component = ready.facts.by_name[step.component]
    return work.TalosApplies(
        manifests=manifests(component), objects=tuple(each.id for each in ready.objects(component) if each.id.name)
    )


def manifests(component: Component) -> tuple[str, ...]:
    """What the machine configs call the manifests of a component: names of inline ones, URLs of extra ones."""
    found: dict[str, None] = {}
    for origin in cluster_facts.origins(component, Side.BOOTSTRAP):
        if origin.form == SourceForm.EXTRA_MANIFEST and isinstance(origin.source, RemoteSource):
            found[origin.source.url] = None
        elif origin.form in (SourceForm.INLINE_MANIFEST, SourceForm.EXTRA_MANIFEST):
            found[origin.name] = None
        else:
            # Rendered at the start of a run, and named for its component.
            found[component.name.rpartition("/")[2]] = None
    return tuple(found)


def _own(ready: TaskContext) -> tuple[ObjectId, ...]:
    return (
        *([_TALOS["flannel"]] if talos_facts.cni(ready.cluster).value == "flannel" else []),
        *([_TALOS["proxy"]] if talos_facts.kube_proxy(ready.cluster).value else []),
        *([_TALOS["dns"]] if talos_facts.core_dns(ready.cluster).value else []),
    )


def namespaces(step: Step, ready: TaskContext) -> Task:
    """Namespaces as Git has them, so that what it says of pod security holds from the start.

    Those that a chart brings are left to its release, which creates them before anything else.
    """
    early = {each.namespace for each in ready.facts.secrets}
    # Helm keeps a release in its namespace, before it creates anything of the chart.
    homes = {each.namespace for releases, _ in ready.charts.values() for each in releases}
    named = [ObjectId("", "Namespace", "", name) for name in step.targets]
    released = _released(ready)
    ids = [
        each
        for each in named
        if each.name in early
        or (ready.owners.of(each) != flux_names.HELM_CONTROLLER and (each not in released or each.name in homes))
    ]
    # Of what a release of bootstrap alone brings nothing is said before it: Helm would not take that from firstlight.
    objects = tuple((None if each in released else ready.owners.find(each)) or _bare(each) for each in ids)
    others = {each: owner for each in ids if (owner := ready.owners.of(each)) != final_owners.FIRSTLIGHT}
    return work.Apply(objects=objects, manager=final_owners.FIRSTLIGHT, managers=others)


def _released(ready: TaskContext) -> frozenset[ObjectId]:
    """What releases bring that bootstrap keeps: nobody in Git owns it, though one that rests may declare it."""
    found: set[ObjectId] = set()
    for component in ready.facts.bootstrap:
        releases, beside = ready.charts.get(component.name, ((), ()))
        if releases:
            apart = {each.id for each in beside}
            found |= {each.id for each in ready.objects(component) if each.id not in apart}
    return frozenset(each for each in found if ready.owners.of(each) == final_owners.FIRSTLIGHT)


def _bare(identity: ObjectId) -> Object:
    return Object({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": identity.name}})


def crds(step: Step, ready: TaskContext) -> Task:
    """The CRDs of a component, as their final owner has them."""
    component = ready.facts.by_name[step.component]
    if component.phase == Phase.CRDS and (why := ready.unrendered(component)):
        return _unrendered(component, why)
    objects = ready.objects(component)
    if component.phase != Phase.CRDS:
        objects = tuple(each for each in objects if each.is_crd)
    return _apply(objects, component, ready)


def component(step: Step, ready: TaskContext) -> Task:
    """A component, or the engine: its releases and objects, without CRDs that have a step of their own."""
    mine = ready.facts.by_name[step.component]
    if why := ready.unrendered(mine):
        return _unrendered(mine, why)
    everything = ready.objects(mine)
    objects = tuple(_waiting(each) for each in everything if _is_for(each, mine, ready))
    releases, beside = ready.charts.get(mine.name, ((), ()))
    if everything and not objects:
        # A chart of nothing but Applications is a root; so is a directory of nothing but Kustomizations.
        return work.Leave(why=_STARTS)
    if not releases:
        # Argo CD keeps no releases: what it owns in the end is applied, hooks included.
        return _apply(objects, mine, ready)
    apart = ready.has_crds_apart(mine)
    return work.Install(
        releases=tuple(_installation(each, has_crds_apart=apart) for each in releases),
        objects=objects,
        beside=tuple(_waiting(each) for each in beside if _is_for(each, mine, ready)),
        manager=_beside(mine),
        managers={
            each.id: owner for each in beside if (owner := ready.owners.of(each.id)) != _beside(mine)
        } if mine.owner == Owner.GITOPS else {},
        is_kept=mine.owner == Owner.BOOTSTRAP,
    )  # fmt: skip


def _unrendered(component: Component, why: str) -> Task:
    if all(each.form == SourceForm.HOOK for each in cluster_facts.origins(component, Side.BOOTSTRAP)):
        return work.Leave(why=f"a hook, which is no object: {why}")
    hint = f"firstlight render {component.name} tells more."
    if any(each.form == SourceForm.FLUX_COMMAND for each in component.origins):
        hint = "Commit what flux install --export prints, or write a FluxInstance."
    return work.Refuse(why=f"{component.name} cannot be installed: {why}", hint=hint)


def _is_for(obj: Object, component: Component, ready: TaskContext) -> bool:
    """Whether an object is applied in the step of its component."""
    if obj.is_crd:
        return not ready.has_crds_apart(component)
    hooks = _hooks(obj)
    if hooks and not hooks & _INSTALLING:
        return False  # for an upgrade, a test or the end
    return not engine_roots.is_starting(obj.id) and not engine_roots.is_source(obj.id)


def _waiting(obj: Object) -> Object:
    """An object as it is before GitOps begins."""
    return engine_roots.without_sync(obj) if engine_roots.syncs(obj) else obj


def _apply(objects: Sequence[Object], component: Component, ready: TaskContext) -> Task:
    return work.Apply(
        objects=tuple(objects),
        manager=final_owners.manager(component),
        managers=ready.owners.others(objects, component),
        once=frozenset(each.id for each in objects if _has_root(each, ready)),
    )


def _has_root(obj: Object, ready: TaskContext) -> bool:
    """Whether the root step has the whole of an object."""
    return any(each.id == obj.id for each in ready.roots.roots)


def _beside(component: Component) -> str:
    """Who owns what lies beside a release: in Git it comes by the Kustomization that brings the HelmRelease."""
    usual = final_owners.manager(component)
    return flux_names.KUSTOMIZE_CONTROLLER if usual == flux_names.HELM_CONTROLLER else usual


def _hooks(obj: Object) -> set[str]:
    """The moments at which Helm would create an object, where it is no part of a release."""
    written = text(mapping(obj.value, "metadata", "annotations"), helm_names.HOOK_ANNOTATION)
    return {each.strip() for each in written.split(",") if each.strip()}


def _installation(release: Installation, *, has_crds_apart: bool) -> Installation:
    if has_crds_apart:
        # They are there already, and theirs whom they will be.
        options = dataclasses.replace(release.options, skip_crds=True, take_ownership=True)
        release = dataclasses.replace(release, options=options)
    if syncs(release):
        values: Any = msgspec.json.decode(release.values.reveal())
        values["instance"] = {name: each for name, each in values["instance"].items() if name != "sync"}
        return dataclasses.replace(release, values=Secret(msgspec.json.encode(values)), once=True)
    return release


def syncs(release: Installation) -> bool:
    """Whether a release of the chart ``flux-instance`` makes a root of its own."""
    values: Any = msgspec.json.decode(release.values.reveal() or b"{}")
    return bool(text(values, "instance", "sync", "url"))
