"""A gate and its ground in, a question out: each subject has a file of its own."""

from collections.abc import Callable, Mapping

from firstlight.gates import (
    api,
    cert_manager,
    cni,
    crds,
    engine_workloads,
    namespaces,
    node_ready,
    own_gates,
    reconciled,
    secret,
    services,
    webhook,
    workload,
)
from firstlight.gates.gate_parts import GateContext, GateQuestion
from firstlight.model.plan import Gate, Subject
from firstlight.model.work import Task

_Asking = Callable[[Gate, Task, GateContext], GateQuestion | None]

_SUBJECTS: Mapping[Subject, _Asking] = {
    Subject.API: api.question,
    Subject.CNI: cni.question,
    Subject.NODES: node_ready.question,
    Subject.DNS: services.question,
    Subject.CRDS: crds.question,
    Subject.NAMESPACES: namespaces.question,
    Subject.SECRET: secret.question,
    Subject.WORKLOAD: workload.question,
    Subject.WEBHOOK: webhook.question,
    Subject.CERTIFICATES: cert_manager.question,
    Subject.STORE: secret.store_question,
    Subject.ENGINE: engine_workloads.question,
    Subject.SOURCE: reconciled.source_question,
    Subject.ROOT: reconciled.root_question,
    Subject.RECONCILED: reconciled.question,
    Subject.ADOPTION: reconciled.question,
    Subject.OWN: own_gates.question,
}
"""Others are judged elsewhere: machines and etcd by Talos, the rest by the steps that do them."""


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """What to watch and ask for a gate, and how to judge it; None where there is nothing to ask."""
    asking = _SUBJECTS.get(gate.subject)
    return asking(gate, task, ground) if asking is not None else None
