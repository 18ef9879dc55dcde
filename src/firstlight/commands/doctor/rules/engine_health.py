"""The engine: controllers that do not run, objects that they do not come to, and what was left suspended."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.doctor import engine_state, error_messages, symptoms, workload_groups
from firstlight.commands.doctor.symptoms import NextCommand, Symptom
from firstlight.document import conditions
from firstlight.document.within import at, mapping, number, sequence, text
from firstlight.engines import adapters, revisions
from firstlight.model import argocd_names, flux_names
from firstlight.model import override as model_override
from firstlight.model.handover import MARK
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


_RECONCILED = (
    flux_names.KUSTOMIZATION_GROUP_KIND,
    flux_names.HELM_RELEASE_GROUP_KIND,
    argocd_names.APPLICATION_GROUP_KIND,
)
_UNTIL = "firstlight.dev/suspended-until"
_DAY = 86400.0


def left_suspended(scene: ClusterObservation) -> Iterator[Symptom]:
    """What rests for a handover that was not finished, longer than it was meant to, or with everything below it."""
    held = {str(each) for override in scene.overrides for each in override.held}
    if _is_worked_on(scene):
        return
    for value in scene.of(*_RECONCILED, *engine_state.SOURCES):
        notes = mapping(value, "metadata", "annotations")
        if not engine_state.is_resting(value) or name_of(value) in held or model_override.UNTIL in notes:
            continue
        who, since = engine_state.written(value, "suspend")
        if run := text(notes, MARK):
            yield _left(
                value,
                "handover-left",
                f"rests for a handover that was not finished ({run})",
                since=since,
                next=symptoms.command(f"firstlight handover {scene.cluster.name}", "finishes it, and resumes"),
            )
            continue
        until = _end(text(notes, _UNTIL))
        reason = text(notes, model_override.REASON)
        by = f" by {who}" if who else ""
        resume = symptoms.command(_resume(value), "once the reason is gone")
        if until is not None and until < scene.now:
            why = f"was suspended{by}{f' ({conditions.said(reason)})' if reason else ''}, and the time for it is over"
            yield _left(value, "suspension-over", why, since=since, next=resume)
        elif until is None and _carries(value, scene) and scene.is_over(since, times=10):
            why = f"is suspended{by}, and nothing that hangs on it follows Git any more"
            yield _left(value, "engine-suspended", why, since=since, next=resume)


def _is_worked_on(scene: ClusterObservation) -> bool:
    """Whether a run of firstlight holds its lease now: what rests then is part of its work."""
    lease = scene.one("coordination.k8s.io/Lease", "firstlight", namespace="kube-system")
    renewed = conditions.moment(text(lease, "spec", "renewTime"))
    is_held = bool(text(lease, "spec", "holderIdentity")) and renewed is not None
    return is_held and scene.now - (renewed or 0.0) < (number(lease, "spec", "leaseDurationSeconds") or 15)


def _end(written: str) -> float | None:
    """When a suspension ends: with the day that it names, or at the moment."""
    until = conditions.moment(written)
    return until + _DAY if until is not None and len(written) == len("2026-11-16") else until


def _left(value: Mapping[str, Any], code: str, why: str, *, since: float | None, next: NextCommand) -> Symptom:
    field = "spec.suspend" if at(value, "spec", "suspend") is True else "metadata.annotations"
    return symptoms.symptom(
        code=code,
        subject=name_of(value),
        message=f"{name_of(value)} {why}",
        evidence=(symptoms.evidence(f"{name_of(value)}, {field}", "true", since),),
        next=(next,),
        since=since,
    )


def _carries(value: Mapping[str, Any], scene: ClusterObservation) -> bool:
    """Whether much hangs on it: a source that something follows, or what applies other objects of an engine."""
    if text(value, "kind") in (flux_names.GIT_REPOSITORY, flux_names.OCI_REPOSITORY, flux_names.BUCKET):
        return any(
            engine_state.reference(each, "spec", "sourceRef") == name_of(value)
            for each in scene.of(flux_names.KUSTOMIZATION_GROUP_KIND)
        )
    below = (flux_names.KUSTOMIZATION, flux_names.HELM_RELEASE, argocd_names.APPLICATION)
    applied = [each for each in engine_state.inventory(value) if each.partition(" ")[0] in below]
    applied += [text(each, "kind") for each in sequence(value, "status", "resources") if text(each, "kind") in below]
    return bool(applied)


def _resume(value: Mapping[str, Any]) -> str:
    space, name = text(value, "metadata", "namespace"), text(value, "metadata", "name")
    kinds = {
        flux_names.KUSTOMIZATION: "kustomization",
        flux_names.HELM_RELEASE: "helmrelease",
        flux_names.GIT_REPOSITORY: "source git",
        flux_names.OCI_REPOSITORY: "source oci",
        flux_names.HELM_REPOSITORY: "source helm",
        flux_names.BUCKET: "source bucket",
        flux_names.HELM_CHART: "source chart",
    }
    if text(value, "kind") == argocd_names.APPLICATION:
        undo = f"{argocd_names.SKIP_RECONCILE_ANNOTATION}-"
        return f"kubectl -n {space} annotate application.{argocd_names.GROUP} {name} {undo}"
    return f"flux resume {kinds[text(value, 'kind')]} {name} -n {space}"


def left_overrides(scene: ClusterObservation) -> Iterator[Symptom]:
    """Overrides whose time is over or that were cut off, and what still rests for them."""
    is_worked_on = _is_worked_on(scene) or scene.api.is_reached is False
    for each in scene.overrides:
        if each.is_expired(scene.now):
            yield _left_override(scene, each, "override-overdue", "has expired", "anybody may end it", since=each.until)
        elif each.is_cut_off and not is_worked_on:
            yield _left_override(
                scene, each, "override-left", "was left by a run that was cut off", "finishes it", since=each.begun
            )
    told = {str(held) for each in scene.overrides for held in each.held}
    for value in scene.objects:
        written = text(value, "metadata", "annotations", model_override.UNTIL)
        until = conditions.moment(written)
        if until is not None and until < scene.now and name_of(value) not in told:
            field = f"{name_of(value)}, metadata.annotations"
            yield symptoms.symptom(
                code="override-overdue",
                subject=name_of(value),
                message=f"{name_of(value)} rests for an override whose time is over",
                evidence=(symptoms.evidence(field, f"{model_override.UNTIL}: {written}", until),),
                next=(
                    symptoms.command(
                        f"firstlight override status {scene.cluster.name}", "which one, and what it holds"
                    ),
                ),
                since=until,
            )


def _left_override(
    scene: ClusterObservation, one: model_override.Override, code: str, what: str, why: str, *, since: float
) -> Symptom:
    return symptoms.symptom(
        code=code,
        subject=f"override {one.id}",
        message=f"the override {one.id} of {one.who} ({conditions.said(one.reason)}) {what}: it still holds "
        f"{symptoms.counted(len(one.held), 'object')}",
        evidence=tuple(symptoms.evidence(str(held), held.why) for held in one.held[:3])
        or (symptoms.evidence(f"override {one.id}", one.standing.value, one.begun),),
        next=(symptoms.command(f"firstlight override end {scene.cluster.name} --id {one.id}", why),),
        since=since,
        names=frozenset(str(held) for held in one.held),
    )
