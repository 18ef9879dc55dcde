"""The evidence that a handover was complete and harmless. No content of objects is in it, only digests."""

import dataclasses
import enum

from firstlight.model.component import ObjectId
from firstlight.model.handover import OwnerSeen


class CertificateClaim(enum.StrEnum):
    """What is claimed of an object, a workload or a machine, and was tried."""

    SAME_OBJECT = "it is the same object as before"
    MARKED = "the engine lists it as its own"
    OWNED = "the engine owns every field that Git has"
    ALONE = "nobody else owns a field that Git has"
    """And no owner of old, such as Talos, owns any field at all."""
    NO_OP = "an unforced apply as the engine would change nothing"
    REPEATED = "a repeated apply left its version alone"
    VANISHES = "a field that is left out would vanish"
    SAME_TEMPLATE = "its pod template is the same as before"
    SAME_REVISION = "its ReplicaSet or ControllerRevision is the same as before"
    SAME_PODS = "its pods are the same as before, and none was restarted"
    NOT_IN_CONFIG = "no machine config has it"
    NOT_IN_INVENTORY = "it is not in Talos's inventory"
    NOT_TALOS = "no object carries Talos's annotation or has Talos as an owner"
    NOT_PRUNED = "an upgrade of Kubernetes would not touch it"
    RELEASED = "Talos has released it"
    CANARY = "a label added and removed in Git came and went"


OF_THE_MOMENT = frozenset(
    {
        CertificateClaim.REPEATED,
        CertificateClaim.SAME_TEMPLATE,
        CertificateClaim.SAME_REVISION,
        CertificateClaim.SAME_PODS,
        CertificateClaim.CANARY,
    }
)
"""What is claimed of the handover itself: pods that are replaced a week later are no flaw of it."""

OF_PODS = frozenset({CertificateClaim.SAME_TEMPLATE, CertificateClaim.SAME_REVISION, CertificateClaim.SAME_PODS})
"""What somebody may agree to do without: a node that was rebooted meanwhile, an engine that replaces pods."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClaimProof:
    """One claim, and whether it held."""

    claim: CertificateClaim
    holds: bool
    says: str = ""
    """What was seen: where it failed and why; for one that cannot be tried here, why not."""
    is_tried: bool = True
    """False where it could not be tried, which is no failure, and is shown."""
    is_agreed: bool = False
    """Whether it did not hold and somebody agreed to that, which is shown; only for what is claimed of pods."""
    is_overtaken: bool = False
    """Whether it held at the handover and does not now; only where a certificate is checked again."""

    @property
    def is_fine(self) -> bool:
        """Whether it held, or somebody agreed that it did not."""
        return self.holds or (self.is_agreed and self.claim in OF_PODS)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ObjectProof:
    """What was proven of one object."""

    id: ObjectId
    component: str
    manager: str
    """The engine's field manager."""
    owner: str
    """``flux (Kustomization flux-system/cilium)``."""
    uid: str = ""
    fields: int = 0
    """How many fields Git has of it, the marks of the engine included."""
    at: int = 0
    """When that was so, in seconds since the epoch."""
    before: tuple[OwnerSeen, ...] = ()
    after: tuple[OwnerSeen, ...] = ()
    proofs: tuple[ClaimProof, ...] = ()

    @property
    def is_proven(self) -> bool:
        """Whether everything that was tried held, or somebody agreed that it did not."""
        return bool(self.proofs) and all(each.is_fine for each in self.proofs)

    @property
    def is_staying(self) -> bool:
        """Whether Talos keeps it as well."""
        return any(each.claim == CertificateClaim.RELEASED and not each.is_tried for each in self.proofs)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MachineProof:
    """What was proven of what one machine, or Talos as a whole, still has."""

    machine: str
    """Empty for Talos as a whole."""
    proofs: tuple[ClaimProof, ...] = ()

    @property
    def is_proven(self) -> bool:
        """Whether everything that was tried held."""
        return all(each.holds for each in self.proofs)


class CertificateStage(enum.StrEnum):
    """How far the handover was when a certificate was made."""

    PROVISIONAL = "provisional"
    """The engine has everything, and Talos still has manifests of it: not yet released, or kept."""
    FINAL = "final"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The whole evidence."""

    cluster: str
    """Its name."""
    uid: str
    """Of its kube-system, which tells clusters apart."""
    engine: str
    revision: str
    """The commit that the engine had applied."""
    run: str
    at: int
    """Seconds since the epoch; whole ones, which every program writes alike."""
    baseline_at: int
    """When the baseline was saved that it is held against."""
    stage: CertificateStage
    objects: tuple[ObjectProof, ...]
    machines: tuple[MachineProof, ...] = ()
    released: tuple[str, ...] = ()
    """Manifests that Talos must not have any more; empty before it releases any."""
    kept: tuple[str, ...] = ()
    """Components that bootstrap keeps, since the repo says so."""
    missing: tuple[str, ...] = ()
    """What should have been looked at, and was not there; empty in a complete one."""
    version: int = 1
    """Of this form."""
    digest: str = ""
    """SHA-256 of everything else but the signature: the seal."""
    signature: str = ""
    """By the user's SSH key, if asked for."""

    @property
    def staying(self) -> tuple[ObjectId, ...]:
        """What Talos keeps as well."""
        return tuple(each.id for each in self.objects if each.is_staying)

    @property
    def is_complete(self) -> bool:
        """Whether everything holds, but for what somebody agreed to."""
        return (
            bool(self.objects)
            and not self.missing
            and all(each.is_proven for each in self.objects)
            and all(each.is_proven for each in self.machines)
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedCertificate:
    """A certificate that was held against the cluster again."""

    given: Certificate
    """As it was made; its seal is good."""
    now: Certificate
    """What came of trying it again."""
    signer: str = ""
    """Who signed it: one of the allowed signers, or the key; empty if nobody did."""
    is_known: bool = False
    """Whether the signer is one of those who were said to be allowed."""
    uncovered: tuple[ObjectId, ...] = ()
    """What passes today, and is not in it."""
