"""Volume claims that are not bound."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import text
from firstlight.gates import status
from firstlight.gates.causes import of_claims
from firstlight.policy.diagnosing import found
from firstlight.policy.diagnosing.found import Found
from firstlight.policy.diagnosing.scene import Scene, name_of

_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def pending_claims(scene: Scene) -> Iterator[Found]:
    """Claims that nobody provides for."""
    for claim in scene.of("/PersistentVolumeClaim"):
        if text(claim, "status", "phase") != "Pending" or status.is_going(claim):
            continue
        waits = scene.events_of(claim, "WaitForFirstConsumer")
        failed = scene.events_of(claim, "ProvisioningFailed", "FailedBinding", "ExternalProvisioning", "Provisioning")
        if (waits and not failed) or not scene.is_over(status.created(claim)):
            continue
        yield _pending(claim, scene, failed)


def _pending(claim: Mapping[str, Any], scene: Scene, failed: tuple[Mapping[str, Any], ...]) -> Found:
    cause = of_claims.of(claim, scene.events)
    name = text(claim, "spec", "storageClassName")
    storage = scene.one("storage.k8s.io/StorageClass", name) if name else None
    says, rule, needs = f"{name_of(claim)}: {cause.what}", "claim-pending", set()
    if not name and scene.is_listed("storage.k8s.io/StorageClass") and not _default(scene):
        rule, says = "no-default-class", f"{name_of(claim)} names no storage class, and no class is the default one"
    elif name and storage is None and scene.is_listed("storage.k8s.io/StorageClass"):
        rule, says = "storage-class-missing", f"{name_of(claim)}: the storage class {name} does not exist"
    elif storage is not None:
        needs.add(f"provisioner {text(storage, 'provisioner')}")
        says += f"; usually the provisioner {text(storage, 'provisioner')} does not run"
    shown = [found.of_event(each) for each in failed[:1]]
    shown.append(found.of_field(claim, "status.phase", "Pending"))
    return Found(
        rule=rule,
        subject=name_of(claim),
        says=says,
        evidence=tuple(shown),
        next=(
            found.kubectl("describe", claim, "what the provisioner says"),
            found.command("kubectl get storageclass", "which there are, and which is the default"),
        ),
        since=status.created(claim),
        needs=found.names(
            needs, f"StorageClass {name}" if name else "", f"Namespace {text(claim, 'metadata', 'namespace')}"
        ),
    )


def _default(scene: Scene) -> bool:
    return any(
        text(each, "metadata", "annotations", key) == "true"
        for each in scene.of("storage.k8s.io/StorageClass")
        for key in _DEFAULT
    )
