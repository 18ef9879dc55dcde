"""Why a volume claim is not bound."""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import text
from firstlight.gates import status
from firstlight.gates.causes.cause import Cause


def of(claim: Mapping[str, Any], events: Sequence[Mapping[str, Any]] = (), since: float | None = None) -> Cause:
    """Why a claim is pending: what its provisioner says, else who must provide for it."""
    name, kind = text(claim, "metadata", "name"), text(claim, "spec", "storageClassName")
    began = since or status.created(claim)
    usually = (
        f"the provisioner of the storage class {kind} does not run" if kind else "no storage class is the default one"
    )
    mine = {
        text(each, "reason"): text(each, "message")
        for each in events
        if text(each, "involvedObject", "kind") == "PersistentVolumeClaim"
        and text(each, "involvedObject", "name") == name
        and text(each, "involvedObject", "namespace") == text(claim, "metadata", "namespace")
    }
    if message := mine.get("ProvisioningFailed"):
        return Cause(f"the volume claim {name} is pending: {status.said(message)}", usually, began, 1)
    if "WaitForFirstConsumer" in mine and "ExternalProvisioning" not in mine:
        return Cause(f"the volume claim {name} waits for a pod that uses it", "", began, 1)
    return Cause(f"the volume claim {name} is pending", usually, began, 1)


# A claim of a storage class that does not exist, with its event:
#
# spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}, storageClassName: fast}
# status: {phase: Pending}
#
# apiVersion: v1
# kind: Event
# involvedObject: {apiVersion: v1, kind: PersistentVolumeClaim, name: data, namespace: db}
# reason: ProvisioningFailed
# message: storageclass.storage.k8s.io "fast" not found
# type: Warning
