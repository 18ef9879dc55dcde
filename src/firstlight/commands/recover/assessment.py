"""What is broken in a cluster, from the outside in, and the ways back with what each may cost."""

import dataclasses
import enum

from firstlight.commands.doctor.symptoms import Diagnosis, RootCause
from firstlight.model.cluster import MachineRole
from firstlight.model.machine_report import EtcdData, MachineStanding
from firstlight.observe.cluster.observation import ClusterObservation


class PartCondition(enum.StrEnum):
    """How a part of a cluster is."""

    WELL = "well"
    BROKEN = "broken"
    FOLLOWS = "follows"
    """Nothing in it is broken: it does not work because of something below."""
    UNSEEN = "not seen"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPart:
    """One part of a cluster; they stand from the outside in."""

    name: str
    """machines, etcd, API, CNI, DNS, addresses, secrets, engine, workloads."""
    condition: PartCondition
    says: str = ""
    """What was seen of it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OptionNeed:
    """Something that an option cannot do without."""

    says: str
    is_met: bool | None = None
    """None where only trying tells."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryOption:
    """One way back."""

    name: str
    """What ``--do`` takes."""
    on: str = ""
    """What ``--on`` takes: a machine, a release, a phase or a component; empty where the cluster is meant."""
    does: str
    risk: str
    """What may be lost."""
    needs: tuple[OptionNeed, ...] = ()
    answers: tuple[str, ...] = ()
    """Keys of the symptoms that it ends."""
    commands: tuple[str, ...] = ()
    """What to type."""
    is_by_hand: bool = False
    """Whether nobody but a person can do it."""

    @property
    def is_possible(self) -> bool:
        """Whether nothing that it needs is known to be missing."""
        return all(each.is_met is not False for each in self.needs)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """A cluster as far as it could be looked at."""

    cluster: str
    parts: tuple[ClusterPart, ...]
    causes: tuple[RootCause, ...] = ()
    """What is broken by itself, each with what follows; the one that explains most first."""
    options: tuple[RecoveryOption, ...] = ()
    """The best first."""
    looked: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    seconds: float = 0.0
    is_blind: bool = False
    """Whether nothing could be looked at."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DrillResult:
    """A recovery that was practised in the lab."""

    scenario: str
    cluster: str
    option: str
    """What repaired it, with what it was done to."""
    diagnosed: float
    """Seconds from the fault to the assessment that offers this option."""
    repaired: float
    """Seconds from there until nothing is broken that it answers."""
    compared: int
    """Objects that were there before."""
    lost: tuple[str, ...] = ()
    """What is not there any more, or another one: objects, contents of Secrets, volumes of claims."""
    code: int = 0
    """The exit code of the repair."""

    @property
    def is_fine(self) -> bool:
        """Whether it was repaired, and nothing was lost."""
        return self.code == 0 and not self.lost


# What is known when ways back are looked for: what the doctor saw and said, and what is at hand here.


NO_QUORUM = "etcd-no-quorum"


@dataclasses.dataclass(frozen=True, kw_only=True)
class LocalMeans:
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
class RecoveryContext:
    """Everything that options are chosen by."""

    scene: ClusterObservation
    diagnosis: Diagnosis
    hand: LocalMeans = dataclasses.field(default_factory=LocalMeans)

    @property
    def is_without_data(self) -> bool:
        """Whether control planes of a cluster that was there have lost what etcd had: to ``up`` they look new."""
        planes = [each.report for each in self.scene.machines if each.machine.role is MachineRole.CONTROL_PLANE]
        ours = [each for each in planes if each.standing is MachineStanding.OURS]
        return self.hand.was_here and bool(ours) and all(each.etcd.data is EtcdData.NONE for each in ours)

    @property
    def is_without_quorum(self) -> bool:
        """Whether etcd has no quorum, as a cause or as a consequence."""
        return any(
            one.code == NO_QUORUM for each in self.diagnosis.causes for one in (each.symptom, *each.effects)
        )  # fmt: skip
