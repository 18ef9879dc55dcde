"""The approval of kubelets' certificate requests; signing is the real controller manager's."""

import datetime

from firstlight.clients import kube
from firstlight.lab.simulations.world import MANAGER, Object, World

WHAT = "kubelets' certificate requests are approved (signing is real)"

SIGNERS = {"kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"}


async def run(world: World) -> None:
    """Approve what kubelets ask for."""
    async for event in world.client.watch("certificates.k8s.io/v1", "CertificateSigningRequest"):
        if isinstance(event, kube.Synced):
            world.start("certificate_requests")
        elif not isinstance(event, kube.Deleted) and is_due(event.object):
            name = event.object["metadata"]["name"]
            now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            entry = {
                "type": "Approved", "status": "True", "reason": "LabApproved",
                "message": "approved by the lab (simulated)", "lastUpdateTime": now, "lastTransitionTime": now,
            }  # fmt: skip
            with world.forgiving(f"certificate request {name}"):
                await world.client.patch(
                    "certificates.k8s.io/v1", "CertificateSigningRequest", name, {"status": {"conditions": [entry]}},
                    form="strategic", manager=MANAGER, subresource="approval",
                )  # fmt: skip


def is_due(request: Object) -> bool:
    """Whether nobody has decided on a request that a kubelet makes."""
    decided = request.get("status", {}).get("conditions")
    return request["spec"]["signerName"] in SIGNERS and not decided
