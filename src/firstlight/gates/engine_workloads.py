"""Whether the GitOps engine runs: its workloads, and the FluxInstance that makes them."""

from firstlight.document import conditions
from firstlight.engines import adapters
from firstlight.gates import gate_parts, workload
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model import flux_names
from firstlight.model.cluster import Engine
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.plan import Gate
from firstlight.model.rendition import Object
from firstlight.model.verdict import Verdict, Waiting
from firstlight.model.work import Task


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """The engine's workloads as rendered, or else whatever carries its label."""
    objects = gate_parts.gate_objects(gate, task, ground)
    asked = [*workload.of_objects(objects), *(_instance(each) for each in objects if _is_instance(each))]
    engine = ground.cluster.engine
    check = adapters.ADAPTERS[engine].check_command if engine is not None else ""
    hint = f"See: {check}" if check else ""
    if not asked and engine is not None:
        asked = [_labelled(engine)]
    return (
        gate_parts.make_question(gate, f"engine {gate.component}".strip(), gate_parts.together(asked), hint=hint)
        if asked
        else None
    )


def _is_instance(item: Object) -> bool:
    return (item.id.group, item.id.kind) == (flux_names.OPERATOR_GROUP, flux_names.FLUX_INSTANCE)


def _instance(item: Object) -> GatePart:
    look = gate_parts.look_at(item.id, item.value)

    def judge(view: GateView) -> Verdict:
        found = view.one(look)
        if found is None:
            return conditions.absent(item.id, is_served=look not in view.unserved)
        return conditions.judged_ready(found, str(item.id), now=view.now, expected=("Ready",))

    return GatePart((look,), judge)


def _labelled(engine: Engine) -> GatePart:
    adapter = adapters.ADAPTERS[engine]
    label, kinds = adapter.part_of, adapter.workload_kinds
    looks = [
        WatchTarget(api_version="apps/v1", kind=kind, labels=f"app.kubernetes.io/part-of={label}") for kind in kinds
    ]

    def judge(view: GateView) -> Verdict:
        found = [each for look in looks for each in view.all(look)]
        if not found:
            return Waiting(f"nothing of {label} is there yet")
        return gate_parts.worst(
            workload.judged(each, ObjectId.of(each), view, {"nodes": gate_parts.NODES}) for each in found
        )

    return GatePart((*looks, gate_parts.NODES), judge)


# A FluxInstance whose controllers are up (flux-operator 0.38):
#
# apiVersion: fluxcd.controlplane.io/v1
# kind: FluxInstance
# metadata: {name: flux, namespace: flux-system, generation: 1}
# status:
#   observedGeneration: 1
#   lastAppliedRevision: v2.7.5@sha256:1a5b…
#   lastAttemptedRevision: v2.7.5@sha256:1a5b…
#   components: [{name: source-controller, repository: ghcr.io/fluxcd/source-controller, tag: v1.7.4, digest: sha256:…}]
#   conditions:
#   - {type: Ready, status: "True", reason: ReconciliationSucceeded, observedGeneration: 1,
#      message: 'Reconciliation finished in 12s', lastTransitionTime: "2026-11-16T06:44:10Z"}
