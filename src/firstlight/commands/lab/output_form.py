"""The JSON of ``firstlight lab``."""

from collections.abc import Mapping
from typing import Literal, TypedDict

from firstlight.cli.output_form import OutputForm
from firstlight.lab.faults import ActiveFault
from firstlight.lab.lab_status import MachineStatus, PartStatus


class LabNodeData(TypedDict):
    """A node of the lab's cluster."""

    name: str
    role: str
    address: str
    ready: bool
    why: str


class LabData(TypedDict):
    """A lab, part by part; nodes are null where the API does not answer."""

    name: str
    ready: bool
    loopback: str
    declared: str
    directory: str
    kubeconfig: str
    parts: tuple[PartStatus, ...]
    machines: tuple[MachineStatus, ...]
    followed: str
    notes: tuple[str, ...]
    simulations: Mapping[str, str]
    nodes: list[LabNodeData] | None


class LabBriefData(TypedDict):
    """A lab in the list."""

    name: str
    running: bool
    directory: str


class LabsData(TypedDict):
    """All labs on this machine."""

    labs: list[LabBriefData]


class LabsDownData(TypedDict):
    """The labs that were stopped."""

    labs: list[str]
    kept: bool


class KubeconfigData(TypedDict):
    """Where the kubeconfig of a lab is."""

    name: str
    kubeconfig: str


class TalosconfigData(TypedDict):
    """Where the talosconfig of a lab is."""

    name: str
    talosconfig: str


class SavedData(TypedDict):
    """A state that was saved."""

    name: str
    saved: str


class RestoredData(TypedDict):
    """A state that was restored."""

    name: str
    restored: str


class LabMachinesData(TypedDict):
    """The machines of a lab."""

    machines: tuple[MachineStatus, ...]


class PowerData(TypedDict):
    """A machine that was switched on or off."""

    machine: str
    power: Literal["on", "off"]


class OmniMachineData(TypedDict):
    """A machine of an Omni template."""

    name: str
    uuid: str
    role: str


class OmniData(TypedDict):
    """The cluster of an Omni template, in the lab."""

    name: str
    cluster: str
    machines: list[OmniMachineData]
    notes: list[str]


class RepositoryData(TypedDict):
    """A repository that a lab serves."""

    kind: str
    name: str
    url: str
    holds: list[str]


class RepositoriesData(TypedDict):
    """All repositories that a lab serves."""

    repositories: list[RepositoryData]


class NewRepositoryData(TypedDict):
    """A Git repository."""

    name: str
    url: str


class CommittedData(TypedDict):
    """A branch after a commit."""

    branch: str
    commit: str
    changed: bool


class ChartAddressData(TypedDict):
    """Where a chart is served."""

    oci: str
    http: str


class FaultAddedData(TypedDict):
    """The id of a fault."""

    id: str


class FaultsData(TypedDict):
    """The faults in force."""

    faults: tuple[ActiveFault, ...]


class SeedData(TypedDict):
    """The seed of the faults."""

    seed: int


class CutData(TypedDict):
    """Every running watch was ended."""

    cut: bool


class ClearedData(TypedDict):
    """The fault that was ended, or ``all``."""

    cleared: str


class ProcessData(TypedDict):
    """What was done to a part's process."""

    part: str
    action: str


OUTPUTS = {
    "lab down": OutputForm(1, (LabsDownData,)),
    "lab fault add": OutputForm(1, (FaultAddedData,)),
    "lab fault clear": OutputForm(1, (ClearedData,)),
    "lab fault cut": OutputForm(1, (CutData,)),
    "lab fault list": OutputForm(1, (FaultsData,)),
    "lab fault process": OutputForm(1, (ProcessData,)),
    "lab fault seed": OutputForm(1, (SeedData,)),
    "lab kubeconfig": OutputForm(1, (KubeconfigData,)),
    "lab list": OutputForm(1, (LabsData,)),
    "lab machine list": OutputForm(1, (LabMachinesData,)),
    "lab machine off": OutputForm(1, (PowerData,)),
    "lab machine on": OutputForm(1, (PowerData,)),
    "lab omni": OutputForm(1, (OmniData,)),
    "lab restore": OutputForm(1, (RestoredData,)),
    "lab save": OutputForm(1, (SavedData,)),
    "lab source chart": OutputForm(1, (ChartAddressData,)),
    "lab source commit": OutputForm(1, (CommittedData,)),
    "lab source list": OutputForm(1, (RepositoriesData,)),
    "lab source repo": OutputForm(1, (NewRepositoryData,)),
    "lab status": OutputForm(1, (LabData,)),
    "lab talosconfig": OutputForm(1, (TalosconfigData,)),
    "lab up": OutputForm(1, (LabData,)),
}
