"""A gate and its ground in, a question out: each subject has a file of its own."""

from collections.abc import Callable, Mapping

from firstlight.gates import (
    api,
    certificates,
    cni,
    crds,
    dns,
    engine,
    namespaces,
    nodes,
    own,
    reconciled,
    root,
    secret,
    source,
    store,
    webhook,
    workload,
)
from firstlight.gates.ground import GateGround
from firstlight.gates.question import Question
from firstlight.model.plan import Gate, Subject
from firstlight.model.work import Task

_Asking = Callable[[Gate, Task, GateGround], Question | None]

_SUBJECTS: Mapping[Subject, _Asking] = {
    Subject.API: api.question,
    Subject.CNI: cni.question,
    Subject.NODES: nodes.question,
    Subject.DNS: dns.question,
    Subject.CRDS: crds.question,
    Subject.NAMESPACES: namespaces.question,
    Subject.SECRET: secret.question,
    Subject.WORKLOAD: workload.question,
    Subject.WEBHOOK: webhook.question,
    Subject.CERTIFICATES: certificates.question,
    Subject.STORE: store.question,
    Subject.ENGINE: engine.question,
    Subject.SOURCE: source.question,
    Subject.ROOT: root.question,
    Subject.RECONCILED: reconciled.question,
    Subject.ADOPTION: reconciled.question,
    Subject.OWN: own.question,
}
"""Others are judged elsewhere: machines and etcd by Talos, the rest by the steps that do them."""


def question(gate: Gate, task: Task, ground: GateGround) -> Question | None:
    """What to watch and ask for a gate, and how to judge it; None where there is nothing to ask."""
    asking = _SUBJECTS.get(gate.subject)
    return asking(gate, task, ground) if asking is not None else None
