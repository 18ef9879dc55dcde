"""The engine itself: whether its controllers are there and run, whether it comes to its objects, whether it rests."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import at, text
from firstlight.gates import revisions, status
from firstlight.model.cluster import Engine
from firstlight.model.verdict import Waiting
from firstlight.policy.diagnosing import applying, engine_objects, found, groups, roles
from firstlight.policy.diagnosing.found import Found
from firstlight.policy.diagnosing.scene import Scene, name_of

NEEDED = {
    Engine.FLUX: ("source-controller", "kustomize-controller"),
    Engine.ARGOCD: ("argocd-application-controller", "argocd-repo-server"),
}
"""Without these an engine brings nothing of Git into the cluster."""
_OBJECTS = (engine_objects.KUSTOMIZATION, engine_objects.HELM_RELEASE, engine_objects.APPLICATION)


def engine_down(scene: Scene) -> Iterator[Found]:
    """Controllers of an engine that are not there, or of which none runs."""
    there = {roles.controller_of(each): each for each in groups.all_of(scene) if roles.is_engine(each)}
    for name, group in sorted(there.items()):
        if group.workload is None or groups.ready_pods(group) or at(group.workload, "spec", "replicas") == 0:
            if group.workload is not None and at(group.workload, "spec", "replicas") == 0:
                yield _scaled_down(name, group)
            continue
        if isinstance(groups.verdict(group, scene), Waiting) and scene.is_over(status.created(group.workload), times=2):
            yield _down(name, group, scene)
    yield from _missing(scene, set(there))


def _down(name: str, group: groups.Group, scene: Scene) -> Found:
    nodes = {text(each, "spec", "nodeName") for each in group.pods}
    return Found(
        rule="engine-down",
        subject=f"controller {name}",
        says=f"{name} does not run: nothing that it reconciles goes on",
        evidence=(found.of_field(group.value, "status", f"0 of {len(group.pods)} pods are ready"),),
        next=(found.kubectl("describe", group.value), found.command(f"kubectl -n {group.namespace} get pods -o wide")),
        since=min((status.created(each) or scene.now for each in group.pods), default=status.created(group.value)),
        names=frozenset({found.ENGINE}),
        needs=found.names(
            group.subject,
            found.NETWORK,
            (f"Node {each}" for each in nodes if each),
            (found.network_of(each) for each in nodes if each),
            f"Namespace {group.namespace}",
        ),
    )


def _scaled_down(name: str, group: groups.Group) -> Found:
    return Found(
        rule="engine-scaled-down",
        subject=group.subject,
        says=f"{name} is scaled to no replicas: nothing that it reconciles goes on",
        evidence=(found.of_field(group.value, "spec.replicas", 0),),
        next=(found.command(f"kubectl -n {group.namespace} scale {_short(group.value)}/{group.name} --replicas=1"),),
        since=engine_objects.written(group.value, "replicas")[1],
        names=frozenset({found.controller(name), found.ENGINE}),
    )


def _short(value: Mapping[str, Any]) -> str:
    return text(value, "kind").lower()


def _missing(scene: Scene, there: set[str]) -> Iterator[Found]:
    """Controllers that must be there, since their objects are."""
    engine = scene.cluster.engine
    if engine is None or not scene.is_listed("apps/Deployment") or not scene.is_listed("apps/StatefulSet"):
        return
    kinds = (engine_objects.KUSTOMIZATION,) if engine is Engine.FLUX else (engine_objects.APPLICATION,)
    waiting = [each for each in scene.of(*kinds) if scene.is_over(status.created(each), times=2)]
    for name in NEEDED[engine]:
        if name not in there and waiting:
            yield Found(
                rule="engine-missing",
                subject=f"controller {name}",
                says=f"{name} is not in the cluster, and {found.counted(len(waiting), 'object')} wait for it",
                evidence=(found.of_field(waiting[0], "metadata.creationTimestamp", "nobody reconciles it"),),
                next=(found.command(f"firstlight up {scene.cluster.name} --until engine", "brings the engine"),),
                names=frozenset({found.ENGINE}),
            )


def failing_instances(scene: Scene) -> Iterator[Found]:
    """What Flux's operator cannot bring."""
    for value, reason, said in engine_objects.failing(scene, "fluxcd.controlplane.io/FluxInstance"):
        yield Found(
            rule="engine-instance",
            subject=name_of(value),
            says=f"{name_of(value)}: the operator cannot bring Flux: {status.said(said) or reason}",
            evidence=(found.of_condition(value, "Ready"),),
            next=(
                found.kubectl("describe", value),
                found.command("kubectl -n flux-system logs deployment/flux-operator"),
            ),
            since=status.since(value, "Ready"),
            names=frozenset({found.ENGINE}),
            needs=found.names(
                found.controller("flux-operator"), applying.needs(said, text(value, "metadata", "namespace"))
            ),
        )


def silent_objects(scene: Scene) -> Iterator[Found]:
    """Objects of an engine that it has not come to."""
    for value in engine_objects.silent(scene, *_OBJECTS, *engine_objects.SOURCES):
        yield Found(
            rule="engine-silent",
            subject=name_of(value),
            says=f"{name_of(value)} was never reconciled: it has no status",
            evidence=(
                found.of_field(value, "metadata.creationTimestamp", text(value, "metadata", "creationTimestamp")),
            ),
            next=(found.kubectl("describe", value),),
            since=status.created(value),
            needs=found.names(engine_objects.rests_on(value), found.ENGINE),
        )


def revisions_behind(scene: Scene) -> Iterator[Found]:
    """Kustomizations that have applied an older revision than their source has for long."""
    for value in scene.of(engine_objects.KUSTOMIZATION):
        kind, _, place = engine_objects.reference(value, "spec", "sourceRef").partition(" ")
        space, _, name = place.partition("/")
        source = scene.one(f"source.toolkit.fluxcd.io/{kind}", name, namespace=space)
        offered, applied = text(source, "status", "artifact", "revision"), text(value, "status", "lastAppliedRevision")
        since = status.moment(text(source, "status", "artifact", "lastUpdateTime"))
        is_well = status.is_true(value, "Ready") and not engine_objects.is_resting(value) and not status.is_going(value)
        if is_well and offered and applied and offered != applied and scene.is_over(since, times=20):
            yield Found(
                rule="revision-behind",
                subject=name_of(value),
                says=f"{name_of(value)} has applied {revisions.short(applied)}, though its source has had "
                f"{revisions.short(offered)} for long",
                evidence=(found.of_field(value, "status.lastAppliedRevision", applied),),
                next=(
                    found.command(
                        f"flux reconcile kustomization {text(value, 'metadata', 'name')} "
                        f"-n {text(value, 'metadata', 'namespace')}"
                    ),
                ),
                since=since,
                needs=found.names(engine_objects.rests_on(value), found.ENGINE),
            )
