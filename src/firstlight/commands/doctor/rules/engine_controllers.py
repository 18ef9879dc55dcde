"""The engine itself: whether its controllers are there and run, whether it comes to its objects, whether it rests."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.doctor import engine_state, error_messages, symptoms, workload_groups
from firstlight.commands.doctor.symptoms import Symptom
from firstlight.document import conditions
from firstlight.document.within import at, text
from firstlight.engines import adapters, revisions
from firstlight.model import argocd_names, flux_names
from firstlight.model.verdict import Waiting
from firstlight.observe.cluster.observation import ClusterObservation, name_of

_OBJECTS = (
    flux_names.KUSTOMIZATION_GROUP_KIND,
    flux_names.HELM_RELEASE_GROUP_KIND,
    argocd_names.APPLICATION_GROUP_KIND,
)


def engine_down(scene: ClusterObservation) -> Iterator[Symptom]:
    """Controllers of an engine that are not there, or of which none runs."""
    there = {
        workload_groups.controller_of(each): each
        for each in workload_groups.pod_groups(scene)
        if workload_groups.is_engine(each)
    }
    for name, group in sorted(there.items()):
        if group.workload is None or workload_groups.ready_pods(group) or at(group.workload, "spec", "replicas") == 0:
            if group.workload is not None and at(group.workload, "spec", "replicas") == 0:
                yield _scaled_down(name, group)
            continue
        if isinstance(workload_groups.group_verdict(group, scene), Waiting) and scene.is_over(
            conditions.created(group.workload), times=2
        ):
            yield _down(name, group, scene)
    yield from _missing(scene, set(there))


def _down(name: str, group: workload_groups.PodGroup, scene: ClusterObservation) -> Symptom:
    nodes = {text(each, "spec", "nodeName") for each in group.pods}
    return symptoms.symptom(
        code="engine-down",
        subject=f"controller {name}",
        message=f"{name} does not run: nothing that it reconciles goes on",
        evidence=(symptoms.of_field(group.value, "status", f"0 of {len(group.pods)} pods are ready"),),
        next=(
            symptoms.kubectl("describe", group.value),
            symptoms.command(f"kubectl -n {group.namespace} get pods -o wide"),
        ),
        since=min(
            (conditions.created(each) or scene.now for each in group.pods), default=conditions.created(group.value)
        ),
        names=frozenset({symptoms.ENGINE}),
        needs=symptoms.names(
            group.subject,
            symptoms.NETWORK,
            (f"Node {each}" for each in nodes if each),
            (symptoms.network_of(each) for each in nodes if each),
            f"Namespace {group.namespace}",
        ),
    )


def _scaled_down(name: str, group: workload_groups.PodGroup) -> Symptom:
    return symptoms.symptom(
        code="engine-scaled-down",
        subject=group.subject,
        message=f"{name} is scaled to no replicas: nothing that it reconciles goes on",
        evidence=(symptoms.of_field(group.value, "spec.replicas", 0),),
        next=(symptoms.command(f"kubectl -n {group.namespace} scale {_short(group.value)}/{group.name} --replicas=1"),),
        since=engine_state.written(group.value, "replicas")[1],
        names=frozenset({symptoms.controller(name), symptoms.ENGINE}),
    )


def _short(value: Mapping[str, Any]) -> str:
    return text(value, "kind").lower()


def _missing(scene: ClusterObservation, there: set[str]) -> Iterator[Symptom]:
    """Controllers that must be there, since their objects are."""
    engine = scene.cluster.engine
    if engine is None or not scene.is_listed("apps/Deployment") or not scene.is_listed("apps/StatefulSet"):
        return
    kind = adapters.followed(engine)
    followed = scene.of(f"{kind.group}/{kind.kind}")
    waiting = [each for each in followed if scene.is_over(conditions.created(each), times=2)]
    for name in adapters.ADAPTERS[engine].needed_controllers:
        if name not in there and waiting:
            yield symptoms.symptom(
                code="engine-missing",
                subject=f"controller {name}",
                message=f"{name} is not in the cluster, and {symptoms.counted(len(waiting), 'object')} wait for it",
                evidence=(symptoms.of_field(waiting[0], "metadata.creationTimestamp", "nobody reconciles it"),),
                next=(symptoms.command(f"firstlight up {scene.cluster.name} --until engine", "brings the engine"),),
                names=frozenset({symptoms.ENGINE}),
            )


def failing_instances(scene: ClusterObservation) -> Iterator[Symptom]:
    """What Flux's operator cannot bring."""
    for value, reason, said in engine_state.failing(scene, flux_names.FLUX_INSTANCE_GROUP_KIND):
        yield symptoms.symptom(
            code="engine-instance",
            subject=name_of(value),
            message=f"{name_of(value)}: the operator cannot bring Flux: {conditions.said(said) or reason}",
            evidence=(symptoms.of_condition(value, "Ready"),),
            next=(
                symptoms.kubectl("describe", value),
                symptoms.command("kubectl -n flux-system logs deployment/flux-operator"),
            ),
            since=conditions.condition_since(value, "Ready"),
            names=frozenset({symptoms.ENGINE}),
            needs=symptoms.names(
                symptoms.controller(flux_names.FLUX_OPERATOR),
                error_messages.needs_of_apply(said, text(value, "metadata", "namespace")),
            ),
        )


def silent_objects(scene: ClusterObservation) -> Iterator[Symptom]:
    """Objects of an engine that it has not come to."""
    for value in engine_state.silent(scene, *_OBJECTS, *engine_state.SOURCES):
        yield symptoms.symptom(
            code="engine-silent",
            subject=name_of(value),
            message=f"{name_of(value)} was never reconciled: it has no status",
            evidence=(
                symptoms.of_field(value, "metadata.creationTimestamp", text(value, "metadata", "creationTimestamp")),
            ),
            next=(symptoms.kubectl("describe", value),),
            since=conditions.created(value),
            needs=symptoms.names(engine_state.rests_on(value), symptoms.ENGINE),
        )


def revisions_behind(scene: ClusterObservation) -> Iterator[Symptom]:
    """Kustomizations that have applied an older revision than their source has for long."""
    for value in scene.of(flux_names.KUSTOMIZATION_GROUP_KIND):
        kind, _, place = engine_state.reference(value, "spec", "sourceRef").partition(" ")
        space, _, name = place.partition("/")
        source = scene.one(f"{flux_names.SOURCE_GROUP}/{kind}", name, namespace=space)
        offered, applied = text(source, "status", "artifact", "revision"), text(value, "status", "lastAppliedRevision")
        since = conditions.moment(text(source, "status", "artifact", "lastUpdateTime"))
        is_well = (
            conditions.is_true(value, "Ready") and not engine_state.is_resting(value) and not conditions.is_going(value)
        )
        if is_well and offered and applied and offered != applied and scene.is_over(since, times=20):
            yield symptoms.symptom(
                code="revision-behind",
                subject=name_of(value),
                message=f"{name_of(value)} has applied {revisions.short(applied)}, though its source has had "
                f"{revisions.short(offered)} for long",
                evidence=(symptoms.of_field(value, "status.lastAppliedRevision", applied),),
                next=(
                    symptoms.command(
                        f"flux reconcile kustomization {text(value, 'metadata', 'name')} "
                        f"-n {text(value, 'metadata', 'namespace')}"
                    ),
                ),
                since=since,
                needs=symptoms.names(engine_state.rests_on(value), symptoms.ENGINE),
            )
