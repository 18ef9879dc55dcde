"""Whether certificates can be asked for: cert-manager's workloads, its webhooks, then a request that is only tried."""

import re
from collections.abc import Sequence

from firstlight.gates import gate_parts, webhook, workload
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model.observation import Ask, AskRequest, GateView
from firstlight.model.plan import Gate
from firstlight.model.rendition import Object
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.model.work import Task

_REQUEST = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIdE1JR1VBZ0VBTUFBd1dUQVRCZ2NxaGtqT1BRSUJCZ2dxaGtq"
    "T1BRTUJCd05DQUFTM1RoZVRqOEhUcG9JcQpOcXkxbkFpTk9UTncxK0d0eW5sQS91UmtWQmR0YitaK2Uxd1lhSjBqMHhrUkNjazdk"
    "aUc3L1ZpcWkvb1NYWG5KCnlzQTl6d0lmb0RJd01BWUpLb1pJaHZjTkFRa09NU013SVRBZkJnTlZIUkVCQWY4RUZUQVRnaEZqYUdW"
    "amF5NWwKZUdGdGNHeGxMbTl5WnpBS0JnZ3Foa2pPUFFRREFnTklBREJGQWlFQXU3TjRtVU1rQTNoZUYrZzhER3l5TVQxNwoxM2hL"
    "U2huZGJZT3FCUlRZMDBrQ0lEU0ZNanBwbFhtYXVnU21DaUd2SWVCZUlFN2lOMzdkN0duZDZ6SXJCSDA2Ci0tLS0tRU5EIENFUlRJ"
    "RklDQVRFIFJFUVVFU1QtLS0tLQo="
)
"""A signing request of nobody, base64 as the field wants it; its key was thrown away."""
_PROBLEMS = (
    (r"could not find the requested resource|no matches for kind|not served|serves no such kind|no kind",
     "its CRDs are not served yet"),
    (r'service "[^"]*-webhook" not found', "the Service of its webhook is not there yet"),
    (r"connection refused|no endpoints available|no route to host", "its webhook is not ready yet"),
    (r"x509|certificate signed by unknown authority",
     "the CA bundle of its webhook is not the one that it serves under"),
    (r"context deadline exceeded|i/o timeout|Client\.Timeout",
     "the API server does not reach its webhook: usually the CNI, or a firewall between control plane and pods"),
)  # fmt: skip


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """cert-manager, told by its objects; another component of the role only by its workloads."""
    objects = gate_parts.gate_objects(gate, task, ground)
    asked = [*workload.of_objects(objects)]
    if (home := _home(objects)) is not None:
        asked = [gate_parts.together(asked), gate_parts.together(webhook.of_objects(objects)), _tried(home)]
    if not asked:
        return None
    hint = "See: cmctl check api; kubectl -n cert-manager get pods"
    return gate_parts.make_question(
        gate, f"certificates {gate.component}".strip(), gate_parts.in_turn(asked, last=True), hint=hint
    )


def _home(objects: Sequence[Object]) -> str | None:
    """The namespace of cert-manager, if it is among the objects."""
    for each in objects:
        if each.id.kind == "Deployment" and each.id.name.endswith("cert-manager"):
            return each.id.namespace or "default"
    return None


def _tried(namespace: str) -> GatePart:
    """A request as cert-manager's own check makes it; the server answers, and stores nothing."""
    request = {
        "apiVersion": "cert-manager.io/v1",
        "kind": "CertificateRequest",
        "metadata": {"generateName": "firstlight-check-", "namespace": namespace},
        "spec": {"request": _REQUEST, "issuerRef": {"name": "firstlight-check"}},
    }
    asked = AskRequest(Ask.DRY_RUN, f"CertificateRequest {namespace}", request)

    def judge(view: GateView) -> Verdict:
        answer = view.answers.get(asked)
        if answer is None:
            return Waiting("a CertificateRequest has not been tried yet")
        if answer.is_yes:
            return Passed("certificates can be asked for")
        for pattern, meaning in _PROBLEMS:
            if re.search(pattern, answer.said):
                return Waiting(f"a CertificateRequest is not taken yet: {meaning}")
        return Waiting(f"a CertificateRequest is not taken: {answer.said or 'no reason given'}")

    return GatePart((), judge, (asked,))


# What the API server answers while the webhook's pod starts (500, reason InternalError):
#
# Internal error occurred: failed calling webhook "webhook.cert-manager.io": failed to call webhook:
# Post "https://cert-manager-webhook.cert-manager.svc:443/validate?timeout=30s": dial tcp 10.96.61.3:443:
# connect: connection refused
