"""What is known when ways back are looked for: what the doctor saw and said, and what is at hand here."""

import dataclasses

from firstlight.model.cluster import MachineRole
from firstlight.model.diagnosis import Diagnosis
from firstlight.model.machine_report import EtcdData, Standing
from firstlight.policy.diagnosing.scene import Scene

NO_QUORUM = "etcd-no-quorum"


@dataclasses.dataclass(frozen=True, kw_only=True)
class AtHand:
    """What this computer has of a cluster."""

    has_keys: bool = True
    """Whether there is a way to its machines: a talosconfig, or the Talos secrets."""
    lost: tuple[str, ...] = ()
    """Which of ``kubeconfig`` and ``talosconfig`` is not where ``up`` leaves it."""
    dns: str = ""
    """The component that is the cluster's DNS; empty where Talos brings it."""
    snapshots: int = 0
    """Backups with a snapshot of etcd that were kept."""
    was_here: bool = False
    """Whether the cluster was brought up before, as far as this computer knows."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ground:
    """Everything that options are chosen by."""

    scene: Scene
    diagnosis: Diagnosis
    hand: AtHand = dataclasses.field(default_factory=AtHand)

    @property
    def is_without_data(self) -> bool:
        """Whether control planes of a cluster that was there have lost what etcd had: to ``up`` they look new."""
        planes = [each.report for each in self.scene.machines if each.machine.role is MachineRole.CONTROL_PLANE]
        ours = [each for each in planes if each.standing is Standing.OURS]
        return self.hand.was_here and bool(ours) and all(each.etcd.data is EtcdData.NONE for each in ours)

    @property
    def is_without_quorum(self) -> bool:
        """Whether etcd has no quorum, as a cause or as a consequence."""
        return any(
            one.rule == NO_QUORUM for each in self.diagnosis.causes for one in (each.symptom, *each.effects)
        )  # fmt: skip
