"""The approval of kubelets' certificate requests; signing is the real controller manager's."""

from firstlight.lab.simulations.world import MANAGER, Object, World, now

GROUP, KIND = "certificates.k8s.io/v1", "CertificateSigningRequest"
SIGNERS = {"kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"}


class Simulation:
    """The approver."""

    what = "kubelets' certificate requests are approved (signing is real)"

    async def start(self, world: World) -> None:
        """Follow requests."""
        self._requests = await world.follow(GROUP, KIND)

    async def act(self, world: World) -> None:
        """Approve what kubelets ask for."""

        async def approve(request: Object) -> None:
            entry = {
                "type": "Approved", "status": "True", "reason": "LabApproved",
                "message": "approved by the lab (simulated)", "lastUpdateTime": now(), "lastTransitionTime": now(),
            }  # fmt: skip
            patched = await world.client.patch(
                GROUP, KIND, request["metadata"]["name"], {"status": {"conditions": [entry]}}, form="strategic",
                manager=MANAGER, subresource="approval",
            )  # fmt: skip
            world.put(self._requests, patched)

        await world.each([request for request in list(self._requests.values()) if is_due(request)], approve)


def is_due(request: Object) -> bool:
    """Whether nobody has decided on a request that a kubelet makes."""
    decided = request.get("status", {}).get("conditions")
    return request["spec"]["signerName"] in SIGNERS and not decided
