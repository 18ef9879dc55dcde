"""The JSON of ``firstlight node``; what is carried out prints events."""

from collections.abc import Sequence
from typing import TypedDict

from firstlight.cli.output_form import DiagnosticData, OutputForm

NodeConfigData = TypedDict("NodeConfigData", {"is": str, "fields": list[str], "reboot": bool, "reason": str})
NodeConfigData.__doc__ = "Whether a machine has the config of the repo."


class NodeData(TypedDict):
    """A machine."""

    name: str
    declared: bool
    role: str
    address: str
    answers: bool
    state: str
    talos: str
    kubernetes: str
    node: str
    etcd: str
    schedulable: bool | None
    begun: str
    config: NodeConfigData
    diagnostics: Sequence[str]


class NodesData(TypedDict):
    """Every machine of a cluster."""

    cluster: str
    machines: list[NodeData]
    unseen: Sequence[str]


class StayingFieldData(TypedDict):
    """Old fields that stay, with the reason."""

    group: str
    field: str
    place: str
    why: str


class UneditedFileData(TypedDict):
    """A file that is not edited."""

    path: str
    why: str


class MigrationProofData(TypedDict):
    """Whether talosctl takes the configs of all machines."""

    talosctl: str
    machines: Sequence[str]
    unknown: str


class MigrationData(TypedDict):
    """What ``node migrate`` writes, or would."""

    cluster: str
    files: Sequence[str]
    written: bool
    diff: str
    stays: Sequence[StayingFieldData]
    notEdited: Sequence[UneditedFileData]
    lostComments: Sequence[str]
    proof: MigrationProofData


class ConfigFieldData(TypedDict):
    """A field of a config that differs."""

    path: str
    verb: str
    secret: bool
    shown: str


class ConfigData(TypedDict):
    """What a machine would do with its config."""

    name: str
    config: str
    reboot: bool
    reason: str
    fields: list[ConfigFieldData]


class ConfigsData(TypedDict):
    """With ``--dry-run``: what each machine would do with its config."""

    cluster: str
    revision: str
    machines: list[ConfigData]


class PodFateData(TypedDict):
    """What becomes of a pod."""

    namespace: str
    name: str
    fate: str
    why: str


class EtcdVerdictData(TypedDict):
    """Whether etcd can spare the machine."""

    verdict: str
    reason: str


class MaintenanceData(TypedDict):
    """With ``--dry-run``: what maintaining a machine would mean."""

    machine: str
    node: str
    cordoned: bool
    begun: str
    pods: list[PodFateData]
    storage: list[DiagnosticData]
    etcd: EtcdVerdictData | None


class MachineUpgradeData(TypedDict):
    """One machine of an upgrade."""

    name: str
    role: str
    before: str
    after: str
    image: str
    done: bool


class UpgradeRoundData(TypedDict):
    """One version of an upgrade."""

    version: str
    machines: list[MachineUpgradeData]


class UpgradeData(TypedDict):
    """With ``--dry-run``: the plan of an upgrade."""

    cluster: str
    product: str
    done: bool
    rounds: list[UpgradeRoundData]
    changes: list[str]
    repo: str
    warnings: list[DiagnosticData]
    refusals: list[DiagnosticData]


class DepartureData(TypedDict):
    """With ``--dry-run``: what goes with a machine."""

    cluster: str
    machine: str
    role: str
    standing: str
    members: list[str]
    node: str
    storage: list[DiagnosticData]
    warnings: list[DiagnosticData]
    refusals: list[DiagnosticData]
    declared: list[str]


OUTPUTS = {
    "node add": OutputForm(1, (), has_events=True),
    "node apply": OutputForm(1, (ConfigsData,), has_events=True),
    "node list": OutputForm(1, (NodesData,)),
    "node maintain": OutputForm(2, (MaintenanceData,), has_events=True),
    "node migrate": OutputForm(1, (MigrationData,)),
    "node remove": OutputForm(2, (DepartureData,), has_events=True),
    "node reset": OutputForm(2, (DepartureData,), has_events=True),
    "node upgrade": OutputForm(2, (UpgradeData,), has_events=True),
}
