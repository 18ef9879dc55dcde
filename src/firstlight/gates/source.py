"""Whether the engine has the repo: Flux an artifact of the rendered commit, Argo CD the Secret of the repository."""

from collections.abc import Mapping
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import mapping, text
from firstlight.engines import revisions
from firstlight.engines.flux import verdicts
from firstlight.gates import gate_parts, secret
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model import flux_names
from firstlight.model.observation import GateView
from firstlight.model.plan import Gate
from firstlight.model.rendition import Object
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.model.work import Task

_REVISION = "org.opencontainers.image.revision"
_CAUSES = {
    "AuthenticationFailed": "the Secret that it logs in with is missing or wrong",
    "GitOperationFailed": "the URL or branch is wrong, or the cluster does not reach the Git server",
    "OCIArtifactPullFailed": "the URL or tag is wrong, or the cluster does not reach the registry",
    "BucketOperationFailed": "the bucket is wrong, or the cluster does not reach it",
    "VerificationError": "the commit or artifact is not signed by whom it must be",
}


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """The source objects of a step, or the one of the gate."""
    asked = [
        _of(each, ground.revision) for each in gate_parts.task_objects(task) if each.id.group == flux_names.SOURCE_GROUP
    ]
    asked += [secret.of(each.id, ()) for each in gate_parts.task_objects(task) if each.id.kind == "Secret"]
    if gate.object is not None:
        asked = [_of(Object({**ground.declared(gate.object, task), **_called(gate)}), ground.revision)]
    hint = "See: flux get sources all -A" if asked and asked[0].looks[0].kind != "Secret" else ""
    return gate_parts.make_question(gate, "source", gate_parts.together(asked), hint=hint) if asked else None


def _called(gate: Gate) -> Mapping[str, Any]:
    assert gate.object is not None
    look = gate_parts.look_at(gate.object)
    names = {"name": gate.object.name, "namespace": gate.object.namespace}
    return {"apiVersion": look.api_version, "kind": look.kind, "metadata": names}


def _of(item: Object, revision: str) -> GatePart:
    look = gate_parts.look_at(item.id, item.value)
    name = str(item.id)

    def judge(view: GateView) -> Verdict:
        found = view.one(look)
        if found is None:
            return conditions.absent(item.id, is_served=look not in view.unserved)
        return judged(found, name, revision=revision, now=view.now)

    return GatePart((look,), judge)


def judged(found: Mapping[str, Any], name: str, *, revision: str, now: float) -> Verdict:
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
