"""How Flux differs from other engines: its marks, how it is asked, and what it consists of."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.engines import revisions
from firstlight.engines.adapter import EngineAdapter, EngineMark, FetchFailure, Guard
from firstlight.engines.engine_kind import EngineKind, Requests, Rest, SourceKind, Verdicts
from firstlight.engines.flux import manifests, roots, verdicts
from firstlight.model import flux_names
from firstlight.model.cluster import Engine
from firstlight.model.component import ObjectId, Origin, SourceForm

MARKS = {
    flux_names.KUSTOMIZE_GROUP: flux_names.KUSTOMIZATION,
    flux_names.HELM_GROUP: flux_names.HELM_RELEASE,
    flux_names.OPERATOR_GROUP: flux_names.FLUX_INSTANCE,
    flux_names.RESOURCE_SET_LABEL_PREFIX: flux_names.RESOURCE_SET,
}
"""Flux's controllers put ``<group>/name`` and ``<group>/namespace`` on everything that they apply."""


def marks(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[EngineMark, ...]:
    """Return the marks on a live object; what bootstrap wants of it has none that could be mistaken for one."""
    labels = mapping(live, "metadata", "labels")
    found = []
    for group, kind in MARKS.items():
        if name := labels.get(f"{group}/name"):
            namespace = labels.get(f"{group}/namespace") or ""
            found.append(EngineMark(Engine.FLUX, f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"))
    return tuple(found)


_GIT = flux_names.GIT_REPOSITORY


# How Flux is asked: a token in an annotation, which its controllers repeat in the status.


def _is_handled(live: Mapping[str, Any], token: str) -> bool:
    return text(live, "status", "lastHandledReconcileAt") == token


def _progress(name: str, live: Mapping[str, Any], token: str) -> tuple[bool, str]:
    if not _is_handled(live, token):
        return False, f"{name} has not been reconciled yet"
    ready = next((each for each in sequence(live, "status", "conditions") if text(each, "type") == "Ready"), None)
    seen = mapping(live, "status").get("observedGeneration") or mapping(ready).get("observedGeneration")
    if ready is None or seen != mapping(live, "metadata").get("generation") or text(ready, "status") == "Unknown":
        return False, f"{name} is being reconciled"
    return True, "" if text(ready, "status") == "True" else f"{name} is not ready: {text(ready, 'message')}"


def _correct_kustomization(live: Mapping[str, Any], token: str) -> tuple[dict[str, str], str]:
    return {flux_names.RECONCILE_REQUEST_ANNOTATION: token}, "reconcile, and its source to look again"


def _correct_release(live: Mapping[str, Any], token: str) -> tuple[dict[str, str], str]:
    asked = {flux_names.RECONCILE_REQUEST_ANNOTATION: token}
    if text(live, "spec", "driftDetection", "mode") == "enabled":
        return asked, "reconcile"
    # Without it helm-controller compares nothing with the cluster: only an upgrade puts things back.
    forced = {**asked, flux_names.FORCE_REQUEST_ANNOTATION: token}
    return forced, "reconcile by an upgrade to the same, since its driftDetection is not enabled"


_REQUESTS = Requests(
    annotation=flux_names.RECONCILE_REQUEST_ANNOTATION, is_handled=_is_handled, progress=_progress
)  # fmt: skip
_KUSTOMIZATION_REQUESTS = Requests(
    annotation=flux_names.RECONCILE_REQUEST_ANNOTATION,
    is_handled=_is_handled,
    progress=_progress,
    correct=_correct_kustomization,
)
_RELEASE_REQUESTS = Requests(
    annotation=flux_names.RECONCILE_REQUEST_ANNOTATION,
    is_handled=_is_handled,
    progress=_progress,
    correct=_correct_release,
)


# What a Kustomization fetches from, and which commit of it it has applied.


def _source(live: Mapping[str, Any]) -> ObjectId | None:
    reference = mapping(live, "spec", "sourceRef")
    kind, name = text(reference, "kind"), text(reference, "name")
    if kind not in _SOURCE_KINDS or not name:
        return None
    return ObjectId(
        flux_names.SOURCE_GROUP, kind, text(reference, "namespace") or text(live, "metadata", "namespace"), name
    )


def _applied(live: Mapping[str, Any]) -> str:
    return text(live, "status", "lastAppliedRevision")


def _applied_from(live: Mapping[str, Any], sources: Sequence[Mapping[str, Any]], url: str) -> str:
    wanted = _source(live)
    for each in sources if wanted is not None and wanted.kind == _GIT else ():
        metadata = mapping(each, "metadata")
        is_it = wanted is not None and (text(metadata, "namespace"), text(metadata, "name")) == (
            wanted.namespace,
            wanted.name,
        )
        if is_it and (not url or revisions.is_same_repository(url, text(each, "spec", "url"))):
            return _applied(live)
    return ""


def _fault_of_ready(live: Mapping[str, Any], name: str, *, now: float) -> str:
    return verdicts.fault(live, name, now=now, has_ready=True)


def _lab_actors(origins: Sequence[Origin], names: Collection[str]) -> tuple[str, ...]:
    found = ["flux"]
    has_instance = any(each.form == SourceForm.FLUX_INSTANCE for each in origins)
    if has_instance or any(flux_names.FLUX_OPERATOR in name for name in names):
        found.append(flux_names.FLUX_OPERATOR)
    if any(_reads_artifact(each) for each in origins):
        found.append(flux_names.SOURCE_WATCHER)
    return tuple(found)


def _reads_artifact(origin: Origin) -> bool:
    references = (text(origin.definition, "spec", field, "kind") for field in ("sourceRef", "chartRef"))
    return flux_names.EXTERNAL_ARTIFACT in references


_SOURCE_KINDS = (
    _GIT, flux_names.OCI_REPOSITORY, flux_names.BUCKET, flux_names.HELM_REPOSITORY, flux_names.HELM_CHART,
    flux_names.EXTERNAL_ARTIFACT,
)  # fmt: skip
_OPERATED = Rest(
    group=flux_names.OPERATOR_GROUP,
    steps=("metadata", "annotations", flux_names.OPERATOR_RECONCILE_ANNOTATION),
    value="disabled",
    words=f"the annotation {flux_names.OPERATOR_RECONCILE_ANNOTATION}: disabled",
)
_OPERATED_VERDICTS = Verdicts(suspended=verdicts.suspended, fault=verdicts.fault, is_seen=verdicts.is_seen)


def _suspend(group: str) -> Rest:
    return Rest(group=group, steps=("spec", "suspend"), value=True, words="suspend: true")


FLUX = EngineAdapter(
    engine=Engine.FLUX,
    title="Flux",
    kinds=(
        EngineKind(
            kind=flux_names.KUSTOMIZATION,
            group=flux_names.KUSTOMIZE_GROUP,
            version="v1",
            manager=flux_names.KUSTOMIZE_CONTROLLER,
            controller=flux_names.KUSTOMIZE_CONTROLLER,
            requests=_KUSTOMIZATION_REQUESTS,
            verdicts=Verdicts(
                suspended=verdicts.suspended,
                judge=verdicts.kustomization,
                fault=_fault_of_ready,
                failure=verdicts.failure,
                is_seen=verdicts.is_seen,
                beside=(verdicts.GIT,),
                beside_commit=(verdicts.GIT,),
            ),
            is_root=True,
            rest=_suspend(flux_names.KUSTOMIZE_GROUP),
            hold=_suspend(flux_names.KUSTOMIZE_GROUP),
            shield=(flux_names.RECONCILE_ANNOTATION, "disabled"),
            copied=manifests.copied,
            source=_source,
            applied=_applied,
            applied_from=_applied_from,
        ),
        EngineKind(
            kind=flux_names.HELM_RELEASE,
            group=flux_names.HELM_GROUP,
            version="v2",
            manager=flux_names.HELM_CONTROLLER,
            controller=flux_names.HELM_CONTROLLER,
            requests=_RELEASE_REQUESTS,
            verdicts=Verdicts(
                suspended=verdicts.suspended,
                judge=verdicts.helm_release,
                fault=_fault_of_ready,
                is_seen=verdicts.is_seen,
                beside_commit=(verdicts.GIT, verdicts.CHARTS),
            ),
            rest=_suspend(flux_names.HELM_GROUP),
            hold=_suspend(flux_names.HELM_GROUP),
            leaves_foreign_fields=True,
        ),
        EngineKind(
            kind=flux_names.FLUX_INSTANCE,
            group=flux_names.OPERATOR_GROUP,
            version="v1",
            manager=flux_names.FLUX_OPERATOR,
            controller=flux_names.FLUX_OPERATOR,
            requests=_REQUESTS,
            verdicts=_OPERATED_VERDICTS,
            is_starting=False,
            is_root=True,
            hold=_OPERATED,
        ),
        EngineKind(
            kind=flux_names.RESOURCE_SET,
            group=flux_names.OPERATOR_GROUP,
            version="v1",
            manager=flux_names.FLUX_OPERATOR,
            controller=flux_names.FLUX_OPERATOR,
            requests=_REQUESTS,
            verdicts=_OPERATED_VERDICTS,
            hold=_OPERATED,
        ),
    ),
    sources=tuple(
        SourceKind(
            kind=each,
            api_version=flux_names.SOURCE_API,
            request_annotation=flux_names.RECONCILE_REQUEST_ANNOTATION,
            has_commits=each == _GIT,
        )
        for each in _SOURCE_KINDS
    ),
    followed=flux_names.KUSTOMIZATION,
    fetch_failure=FetchFailure(
        kind=_GIT,
        api_version=flux_names.SOURCE_API,
        condition="FetchFailed",
        words="GitRepository {name} cannot be fetched: {why}",
        is_only_git=True,
    ),
    needed_controllers=(flux_names.SOURCE_CONTROLLER, flux_names.KUSTOMIZE_CONTROLLER),
    useful_controllers=(flux_names.HELM_CONTROLLER,),
    part_of=flux_names.PART_OF,
    namespace=flux_names.FLUX_SYSTEM,
    # Not the operator's: without it the controllers go on, and bring it back.
    charts=frozenset({flux_names.INSTANCE_CHART, "flux2"}),
    instance_kind=flux_names.FLUX_INSTANCE,
    workload_kinds=("Deployment",),
    check_command="flux check",
    list_command="flux get all -A",
    lab_actors=_lab_actors,
    marks=marks,
    prune_guard=Guard(flux_names.PRUNE_ANNOTATION, "disabled"),
    has_releases=True,
    starts_from_directory=True,
    roots=roots.roots,
    component_kinds="a HelmRelease with its source, or a Kustomization",
    manifests=manifests.manifests,
)
