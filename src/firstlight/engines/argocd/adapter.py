"""How Argo CD differs from other engines: its marks, how it is asked, and what it consists of."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from firstlight.document.within import at, mapping, sequence, text
from firstlight.engines.adapter import EngineAdapter, EngineMark, FetchFailure, Guard
from firstlight.engines.argocd import manifests, roots, verdicts
from firstlight.engines.engine_kind import EngineKind, KeptAnnotations, Requests, Verdicts
from firstlight.model import argocd_names
from firstlight.model.cluster import Engine
from firstlight.model.component import ObjectId, Origin

INSTANCES = (argocd_names.INSTANCE_LABEL, "app.kubernetes.io/instance")
"""The labels that it uses instead of the annotation, as it is set up."""


def marks(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[EngineMark, ...]:
    """Return the mark on a live object, if it has one.

    Bootstrap may have applied it as Argo CD's manager itself. So a label that charts use as well counts only where that
    manager owns it, and bootstrap does not want it.

    Args:
        live: The object.
        wanted: What bootstrap would apply.
    """
    labels, annotations = mapping(live, "metadata", "labels"), mapping(live, "metadata", "annotations")
    app, _, what = str(annotations.get(argocd_names.TRACKING_ID_ANNOTATION) or "").partition(":")
    if app and _is_itself(what, ObjectId.of(live)):
        return (_mark(app),)
    own = mapping(wanted, "metadata", "labels")
    for label in INSTANCES:
        if labels.get(label) and own.get(label) != labels[label] and _is_owned(live, label):
            return (_mark(labels[label]),)
    return ()


def _mark(app: object) -> EngineMark:
    return EngineMark(Engine.ARGOCD, f"{argocd_names.APPLICATION} {app}")


def _is_owned(live: Mapping[str, Any], label: str) -> bool:
    """Whether a label is one that Argo CD's manager applied."""
    return any(
        f"f:{label}" in mapping(each, "fieldsV1", "f:metadata", "f:labels")
        for each in sequence(live, "metadata", "managedFields")
        if mapping(each).get("manager") == argocd_names.FIELD_MANAGER
    )


def _is_itself(what: str, id: ObjectId) -> bool:
    """Whether a tracking id is of the object that carries it, and not a copy; a namespace may be implied."""
    group_kind, _, place = what.partition(":")
    namespace, _, name = place.partition("/")
    return group_kind == f"{id.group}/{id.kind}" and name == id.name and (not id.namespace or namespace == id.namespace)


# How Argo CD is asked: an annotation, which it takes away when it has looked.


def _is_refreshed(live: Mapping[str, Any], token: str) -> bool:
    return argocd_names.REFRESH_ANNOTATION not in mapping(live, "metadata", "annotations")


def _progress(name: str, live: Mapping[str, Any], token: str) -> tuple[bool, str]:
    if not _is_refreshed(live, token):
        return False, f"{name} has not been refreshed yet"
    if verdicts.is_busy(live) or "operation" in live:
        return False, f"{name} is being synced"
    automated = mapping(live, "spec", "syncPolicy").get("automated")
    is_automatic = isinstance(automated, Mapping) and automated.get("enabled") is not False
    sync = text(live, "status", "sync", "status")
    if sync == "Synced" or not is_automatic:
        return True, ""
    return False, f"{name} is {sync or 'not compared yet'}"


def _correct(live: Mapping[str, Any], token: str) -> tuple[dict[str, str], str]:
    is_healing = at(live, "spec", "syncPolicy", "automated", "selfHeal") is True
    app = text(live, "metadata", "name")
    how = "" if is_healing else f"; it does not heal itself, so sync it: argocd app sync {app}"
    return {argocd_names.REFRESH_ANNOTATION: "hard"}, f"look again{how}"


def _is_set_refreshed(live: Mapping[str, Any], token: str) -> bool:
    return argocd_names.APPLICATION_SET_REFRESH_ANNOTATION not in mapping(live, "metadata", "annotations")


def _set_progress(name: str, live: Mapping[str, Any], token: str) -> tuple[bool, str]:
    is_done = _is_set_refreshed(live, token)
    return is_done, "" if is_done else f"{name} has not been refreshed yet"


def _lab_actors(origins: Sequence[Origin], names: Collection[str]) -> tuple[str, ...]:
    return ("argocd",)


ARGOCD = EngineAdapter(
    engine=Engine.ARGOCD,
    title="Argo CD",
    kinds=(
        EngineKind(
            kind=argocd_names.APPLICATION,
            group=argocd_names.GROUP,
            version="v1alpha1",
            manager=argocd_names.FIELD_MANAGER,
            controller=argocd_names.APPLICATION_CONTROLLER,
            requests=Requests(
                annotation=argocd_names.REFRESH_ANNOTATION,
                full="hard",
                quick="normal",
                is_handled=_is_refreshed,
                progress=_progress,
                correct=_correct,
                after_rest=True,
            ),
            verdicts=Verdicts(
                suspended=verdicts.skipped,
                judge=verdicts.application,
                fault=verdicts.fault,
                failure=verdicts.failure,
                is_seen=verdicts.is_seen,
                is_busy=verdicts.is_busy,
            ),
            is_root=True,
            rest=verdicts.SKIPPED,
            hold=verdicts.SKIPPED,
            copied=manifests.copied,
            is_named_bare=True,
            leaves_foreign_fields=True,
            sync_command="argocd app sync {name}",
            applied=verdicts.applied,
            applied_from=verdicts.applied_from,
        ),
        EngineKind(
            kind=argocd_names.APPLICATION_SET,
            group=argocd_names.GROUP,
            version="v1alpha1",
            manager="",
            controller=argocd_names.APPLICATION_SET_CONTROLLER,
            requests=Requests(
                annotation=argocd_names.APPLICATION_SET_REFRESH_ANNOTATION,
                full="true",
                is_handled=_is_set_refreshed,
                progress=_set_progress,
            ),
            hold=KeptAnnotations(
                group=argocd_names.GROUP,
                steps=("spec", "preservedFields", "annotations"),
                value=argocd_names.SKIP_RECONCILE_ANNOTATION,
                words=f"{argocd_names.SKIP_RECONCILE_ANNOTATION} in spec.preservedFields.annotations",
            ),
        ),
    ),
    followed=argocd_names.APPLICATION,
    fetch_failure=FetchFailure(
        kind=argocd_names.APPLICATION,
        api_version=argocd_names.API,
        condition="ComparisonError",
        words="Application {name} is not compared with Git: {why}",
    ),
    needed_controllers=(argocd_names.APPLICATION_CONTROLLER, argocd_names.REPO_SERVER),
    part_of=argocd_names.PART_OF,
    workload_kinds=("Deployment", "StatefulSet"),
    list_command="argocd app list",
    lab_actors=_lab_actors,
    marks=marks,
    prune_guard=Guard(argocd_names.SYNC_OPTIONS_ANNOTATION, "Prune=false"),
    has_releases=False,
    starts_from_directory=False,
    roots=roots.roots,
    component_kinds="an Application",
    manifests=manifests.manifests,
)
