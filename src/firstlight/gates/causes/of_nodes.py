"""Why a node is not ready."""

from collections.abc import Mapping
from typing import Any

from firstlight.document.within import text
from firstlight.gates import status
from firstlight.gates.causes.cause import Cause

_NO_NETWORK = ("networkpluginnotready", "cni plugin not initialized", "cni config uninitialized", "networkready=false")


def of(node: Mapping[str, Any]) -> Cause | None:
    """Why a node is not ready; None if it is."""
    ready = status.condition(node, "Ready")
    if text(ready, "status") == "True":
        return None
    name, since = text(node, "metadata", "name"), status.since(node, "Ready")
    message = text(ready, "message")
    if not ready:
        return Cause(f"node {name} has not reported yet", "its kubelet has only just started", since)
    if text(ready, "status") == "Unknown":
        usually = "the machine is off, or has lost its network"
        return Cause(
            f"node {name} is silent ({status.said(message) or 'its kubelet stopped reporting'})", usually, since
        )
    if any(each in message.lower() for each in _NO_NETWORK):
        usually = "the CNI's pod on it does not run yet"
        return Cause(f"node {name} is NotReady because no CNI has set up its network", usually, since)
    return Cause(
        f"node {name} is NotReady ({status.said(message) or text(ready, 'reason') or 'no reason given'})", "", since
    )


# What kubelet writes on a node without a CNI:
#
# status:
#   conditions:
#   - type: Ready
#     status: "False"
#     reason: KubeletNotReady
#     message: 'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady
#       message:Network plugin returns error: cni plugin not initialized'
#     lastHeartbeatTime: "2026-11-16T06:40:11Z"
#     lastTransitionTime: "2026-11-16T06:38:02Z"
