"""Whether the engine has the repo, has seen the root object, and has brought what it was told to.

The source is an artifact of the rendered commit for Flux, and the Secret of the repository for Argo CD. For the rest
the engine's own word counts: the status of the object that declares a component.
"""

from collections.abc import Mapping
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import mapping, text
from firstlight.engines import adapters, engine_marks, revisions
from firstlight.engines.engine_kind import EngineKind, VerdictFacts
from firstlight.engines.flux import verdicts
from firstlight.gates import gate_parts, secret
from firstlight.gates.causes import message_codes
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model import flux_names
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView
from firstlight.model.plan import Gate
from firstlight.model.rendition import Object
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting
from firstlight.model.work import Task, Watch

_REVISION = "org.opencontainers.image.revision"
_CAUSES = {
    "AuthenticationFailed": "the Secret that it logs in with is missing or wrong",
    "GitOperationFailed": "the URL or branch is wrong, or the cluster does not reach the Git server",
    "OCIArtifactPullFailed": "the URL or tag is wrong, or the cluster does not reach the registry",
    "BucketOperationFailed": "the bucket is wrong, or the cluster does not reach it",
    "VerificationError": "the commit or artifact is not signed by whom it must be",
}


def source_question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """The source objects of a step, or the one of the gate."""
    asked = [
        _source_part(each, ground.revision)
        for each in gate_parts.task_objects(task)
        if each.id.group == flux_names.SOURCE_GROUP
    ]
    asked += [secret.of(each.id, ()) for each in gate_parts.task_objects(task) if each.id.kind == "Secret"]
    if gate.object is not None:
        asked = [_source_part(Object({**ground.declared(gate.object, task), **_called(gate)}), ground.revision)]
    hint = "See: flux get sources all -A" if asked and asked[0].looks[0].kind != "Secret" else ""
    return gate_parts.make_question(gate, "source", gate_parts.together(asked), hint=hint) if asked else None


def _called(gate: Gate) -> Mapping[str, Any]:
    assert gate.object is not None
    look = gate_parts.look_at(gate.object)
    names = {"name": gate.object.name, "namespace": gate.object.namespace}
    return {"apiVersion": look.api_version, "kind": look.kind, "metadata": names}


def _source_part(item: Object, revision: str) -> GatePart:
    look = gate_parts.look_at(item.id, item.value)
    name = str(item.id)

    def judge(view: GateView) -> Verdict:
        found = view.one(look)
        if found is None:
            return conditions.absent(item.id, is_served=look not in view.unserved)
        return source_verdict(found, name, revision=revision, now=view.now)

    return GatePart((look,), judge)


def source_verdict(found: Mapping[str, Any], name: str, *, revision: str, now: float) -> Verdict:
    """The verdict on a source of Flux that is there."""
    if (paused := verdicts.suspended(found, name)) is not None:
        return paused
    verdict = conditions.judged_ready(found, name, now=now, expected=("Ready",))
    if not isinstance(verdict, Passed):
        usually = _CAUSES.get(text(conditions.condition(found, "Ready"), "reason"), "")
        told = f"{verdict.reason}; usually {usually}"
        return Waiting(told) if usually and isinstance(verdict, Waiting) else verdict
    artifact = mapping(found, "status", "artifact")
    has = text(artifact, "revision")
    if not has:
        # HelmRepositories of OCI registries are only addresses: nothing is fetched.
        return (
            Passed(name)
            if text(found, "kind") == flux_names.HELM_REPOSITORY
            else Waiting(f"{name} has no artifact yet")
        )
    # An OCI artifact's own revision is a digest; the commit that it was made from is beside it.
    made_from = text(artifact, "metadata", _REVISION) or (
        has if text(found, "kind") in ("", flux_names.GIT_REPOSITORY) else ""
    )
    if not revisions.is_at(made_from, revision):
        usually = "the commit is not pushed to that branch, or the next fetch is still to come"
        return Waiting(f"{name} has {revisions.short(made_from)}, not {revision[:7]}; usually {usually}")
    return Passed(f"{name} at {revisions.short(has)}")


# A GitRepository with its artifact (source-controller 1.7):
#
# apiVersion: source.toolkit.fluxcd.io/v1
# kind: GitRepository
# metadata: {name: flux-system, namespace: flux-system, generation: 1}
# spec: {interval: 1m0s, ref: {branch: main}, url: https://git.example.org/me/fleet, timeout: 60s}
# status:
#   observedGeneration: 1
#   artifact:
#     revision: main@sha1:3f2a91c0d6b1f0a5d7f7c2f4a1b0e9d8c7b6a594
#     digest: sha256:8b1a…
#     lastUpdateTime: "2026-11-16T06:45:02Z"
#     path: gitrepository/flux-system/flux-system/3f2a91c0d6b1f0a5d7f7c2f4a1b0e9d8c7b6a594.tar.gz
#   conditions:
#   - {type: Ready, status: "True", reason: Succeeded, lastTransitionTime: "2026-11-16T06:45:02Z",
#      message: 'stored artifact for revision ''main@sha1:3f2a91c0d6b1f0a5d7f7c2f4a1b0e9d8c7b6a594'''}
#   - {type: ArtifactInStorage, status: "True", reason: Succeeded, observedGeneration: 1,
#      lastTransitionTime: "2026-11-16T06:45:02Z", message: 'stored artifact for revision ''main@sha1:3f2a…'''}


_ROOTS = {(each.group, each.kind): each for each in adapters.KINDS.values() if each.is_root}


def root_question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """The root object that a step creates, or the one of the gate."""
    found = [each.id for each in gate_parts.task_objects(task) if (each.id.group, each.id.kind) in _ROOTS]
    asked = [
        _root_part(each, ground.declared(each, task)) for each in ([gate.object] if gate.object is not None else found)
    ]
    return gate_parts.make_question(gate, "root", gate_parts.together(asked)) if asked else None


def _root_part(identity: ObjectId, declared: Mapping[str, Any]) -> GatePart:
    look, name = gate_parts.look_at(identity, declared), str(identity)

    def judge(view: GateView) -> Verdict:
        found = view.one(look)
        if found is None:
            return conditions.absent(identity, is_served=look not in view.unserved)
        kind = _ROOTS.get((identity.group, identity.kind))
        if kind is not None and (paused := kind.verdicts.suspended(found, name)) is not None:
            return paused
        if kind is not None and kind.verdicts.is_seen(found):
            return Passed(f"{name} is seen")
        usually = "its controller does not run, or does not watch its namespace"
        return conditions.waiting(
            f"{name} was not seen yet", now=view.now, since=conditions.created(found), usually=usually
        )

    return GatePart((look,), judge)


# A Kustomization that kustomize-controller has only just met:
#
# metadata: {name: flux-system, namespace: flux-system, generation: 1, finalizers: [finalizers.fluxcd.io]}
# status:
#   observedGeneration: -1
#   conditions:
#   - {type: Reconciling, status: "True", reason: Progressing, observedGeneration: 1, message: Fetching manifests for
#      revision main@sha1:3f2a91c0d6b1f0a5d7f7c2f4a1b0e9d8c7b6a594 with a timeout of 10m0s,
#      lastTransitionTime: "2026-11-16T06:46:00Z"}
#   - {type: Ready, status: Unknown, reason: Progressing, observedGeneration: 1, message: Reconciliation in progress,
#      lastTransitionTime: "2026-11-16T06:46:00Z"}


_TIMEOUT = 1800.0
"""A chart may take its own five minutes several times before the engine gives up."""


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """The declaring object of the gate; None where the gate names none.

    It fails at once where the files that it is made of are wrong, or those of what brings it: no waiting helps then.
    """
    if gate.object is None:
        return None
    identity = gate.object
    declared = ground.declared(identity, task)
    look, name = gate_parts.look_at(identity, declared), str(identity)
    expected = (task.revision if isinstance(task, Watch) else "") or ground.revision
    kind = _kind(identity)
    is_suspended = engine_marks.is_suspended(declared)
    roots = [gate_parts.look_at(each) for each in ground.roots if each != identity]
    above = [(each, gate_parts.look_at(each)) for each in ground.bringers.get(gate.component, ()) if each != identity]

    def judge(view: GateView) -> Verdict:
        found = view.one(look)
        if found is None and roots and all(view.one(each) is None for each in roots):
            return Skipped(f"{name} is brought after the handover, which has not begun")
        if found is None:
            failed = (_failed(view.one(one), each, expected) for each, one in above)
            if reason := next((each for each in failed if each), ""):
                return Failed(f"{name} is not there: {reason}")
            return conditions.absent(identity, is_served=look not in view.unserved)
        if reason := _failed(found, identity, expected):
            return Failed(reason)
        if kind is None:
            return conditions.judged_ready(found, name, now=view.now)
        if (paused := kind.verdicts.suspended(found, name, is_declared=is_suspended)) is not None:
            return paused
        if kind.verdicts.judge is None:
            return conditions.judged_ready(found, name, now=view.now)
        return kind.verdicts.judge(found, name, VerdictFacts(view=view, expected=expected, url=ground.cluster.url))

    looks = (look, *(kind.verdicts.beside if kind is not None else ()), *(one for _, one in above), *roots)
    hint = f"See: kubectl -n {identity.namespace} describe {identity.kind.lower()} {identity.name}"
    name_of_question = f"{identity.kind} {gate_parts.short_name(identity)}"
    return gate_parts.make_question(gate, name_of_question, GatePart(looks, judge), hint=hint, timeout=_TIMEOUT)


def _failed(live: Mapping[str, Any] | None, identity: ObjectId, expected: str) -> str:
    """Why an object of the engine will never apply the commit that is waited for; empty if it may."""
    kind = _kind(identity)
    if live is None or kind is None:
        return ""
    revision, message = kind.verdicts.failure(live)
    if not revision or not revisions.is_at(revision, expected) or not message_codes.is_final(message):
        return ""
    return f"{identity} cannot apply {revisions.short(revision)}: {conditions.said(message)}"


def _kind(identity: ObjectId) -> EngineKind | None:
    found = adapters.KINDS.get(identity.kind)
    return found if found is not None and found.group == identity.group else None


# A Kustomization that waits for another (kustomize-controller 1.7):
#
# metadata: {name: apps, namespace: flux-system, generation: 1}
# status:
#   observedGeneration: 1
#   lastAttemptedRevision: main@sha1:3f2a91c0d6b1f0a5d7f7c2f4a1b0e9d8c7b6a594
#   conditions:
#   - {type: Ready, status: "False", reason: DependencyNotReady, observedGeneration: 1,
#      message: dependency 'flux-system/infra' is not ready, lastTransitionTime: "2026-11-16T06:46:00Z"}
#
# A HelmRelease that gave up (helm-controller 1.4):
#
# status:
#   observedGeneration: 1
#   failures: 1
#   installFailures: 1
#   conditions:
#   - {type: Stalled, status: "True", reason: RetriesExceeded, observedGeneration: 1,
#      message: Failed to install after 1 attempt(s), lastTransitionTime: "2026-11-16T06:51:10Z"}
#   - {type: Ready, status: "False", reason: InstallFailed, lastTransitionTime: "2026-11-16T06:51:10Z",
#      message: 'Helm install failed for release web/web with chart web@1.2.0: context deadline exceeded'}
#   - {type: Released, status: "False", reason: InstallFailed, …}
#
# An Application that is done (Argo CD 3.1):
#
# status:
#   sync: {status: Synced, revision: 3f2a91c0d6b1f0a5d7f7c2f4a1b0e9d8c7b6a594, comparedTo: {…}}
#   health: {status: Healthy, lastTransitionTime: "2026-11-16T06:47:12Z"}
#   operationState: {phase: Succeeded, message: successfully synced (all tasks run), startedAt: "2026-11-16T06:46:41Z",
#     finishedAt: "2026-11-16T06:46:52Z", syncResult: {revision: 3f2a91c0d6b1f0a5d7f7c2f4a1b0e9d8c7b6a594, …}}
#   reconciledAt: "2026-11-16T06:47:12Z"
