"""Whether the Kubernetes API is ready."""

from firstlight.gates import gate_parts
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model.observation import Ask, AskRequest, GateView
from firstlight.model.plan import Gate
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.model.work import Task

_READYZ = AskRequest(Ask.READYZ, "/readyz")


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """What the API server says of itself."""
    hint = "See the control plane's pods: talosctl -n NODE containers --kubernetes"
    return gate_parts.make_question(gate, "api", GatePart((), _judge, (_READYZ,)), hint=hint)


def _judge(view: GateView) -> Verdict:
    answer = view.answers.get(_READYZ)
    if answer is None:
        return Waiting("the API server has not answered yet")
    if answer.is_yes:
        return Passed("the API server is ready")
    usually = "etcd has no leader, or the control plane still starts"
    said = answer.said.removeprefix("not ready").removeprefix(": ") or "no reason given"
    return Waiting(f"the API server is not ready: {said}; usually {usually}")


# GET /readyz?verbose of an API server whose etcd is not there yet (500):
#
# [+]ping ok
# [+]log ok
# [-]etcd failed: reason withheld
# [+]poststarthook/start-apiextensions-informers ok
# [-]informer-sync failed: reason withheld
# readyz check failed
