"""CRDs stuck in Installing: their names are accepted, and the API server does not go on to establish them.

The API server establishes a CRD when it sees it change, and keeps the queue for that in memory. If it dies between the
two, the CRD is not new to the next one and does not change any more. Only the resync of its informers, every five
minutes, comes to it by chance. Any write to the CRD gets it established at once.

See customresource_handler.go and establishing_controller.go of k8s.io/apiextensions-apiserver (1.36.3): only the
handler of updates queues a CRD; the handler of additions, which is all that a restarted API server calls, does not.
"""

from collections.abc import Mapping
from typing import Any

from firstlight.document.within import sequence, text
from firstlight.gates import status

LONGEST = 10.0
"""Seconds that a healthy API server may take: with others beside it, it waits five before it establishes a CRD."""
WHY = "the API server was restarted before it finished installing it"
_INSTALLING = "Installing"


def is_installing(crd: Mapping[str, Any]) -> bool:
    """Whether a CRD waits for nothing but the API server, for a moment or for minutes."""
    return (
        not status.is_going(crd)
        and status.is_true(crd, "NamesAccepted")
        and status.is_false(crd, "Established")
        # Others need more than a push: InvalidCABundle, NotAccepted.
        and text(status.condition(crd, "Established"), "reason") == _INSTALLING
    )


def is_stuck(crd: Mapping[str, Any], now: float) -> bool:
    """Whether it has been so for longer than a healthy API server needs, as far as clocks agree."""
    since = status.since(crd, "Established")
    return is_installing(crd) and since is not None and now - since > LONGEST


def wake(crd: Mapping[str, Any], now: float) -> list[dict[str, str]]:
    """A JSON patch of its status that makes the API server look at it again, and is undone by that.

    It writes the message of the condition that the API server writes next, so that the API server owns all of it
    again: neither a field nor a manager of the patch is left. The time makes every patch another one, since a write
    that changes nothing is not seen.
    """
    conditions = [text(each, "type") for each in sequence(crd, "status", "conditions")]
    path = f"/status/conditions/{conditions.index('Established')}"
    return [
        {"op": "test", "path": f"{path}/type", "value": "Established"},
        {"op": "test", "path": f"{path}/reason", "value": _INSTALLING},
        {"op": "replace", "path": f"{path}/message", "value": f"woken at {status.clock(now, now)}"},
    ]


# A CRD that was created just before the API server was killed:
#
# status:
#   conditions:
#   - {type: NamesAccepted, status: "True", reason: NoConflicts, message: no conflicts found,
#      lastTransitionTime: "2026-11-18T13:24:07Z"}
#   - {type: Established, status: "False", reason: Installing, message: the initial names have been accepted,
#      lastTransitionTime: "2026-11-18T13:24:07Z"}
