"""The JSON of ``firstlight inventory``."""

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypedDict

from firstlight.cli.output_form import DiagnosticData, ObjectData, OutputForm, PlaceData


class SecretData(TypedDict):
    """A Secret that must exist before an operator can fetch the rest: where its values are, not the values."""

    name: str
    namespace: str
    data: Mapping[str, str]
    place: PlaceData | None


class NeedData(TypedDict):
    """Something that a component needs."""

    id: str
    why: str
    place: PlaceData | None


ValuesData = TypedDict(
    "ValuesData", {"from": str, "place": PlaceData | None, "optional": bool, "unresolved": str}
)  # fmt: skip
ValuesData.__doc__ = "Where values of a chart come from."


class SourceData(TypedDict):
    """Where manifests come from; the type says which of the other fields are there."""

    type: Literal["chart", "directory", "remote", "embedded", "unresolved"]
    name: NotRequired[str]
    repository: NotRequired[str]
    version: NotRequired[str]
    digest: NotRequired[str]
    release: NotRequired[str]
    namespace: NotRequired[str]
    storageNamespace: NotRequired[str]
    values: NotRequired[list[ValuesData]]
    place: NotRequired[PlaceData | None]
    path: NotRequired[str]
    kustomize: NotRequired[bool]
    source: NotRequired[str]
    targetNamespace: NotRequired[str]
    substitutes: NotRequired[Sequence[str]]
    substituteFrom: NotRequired[Sequence[str]]
    components: NotRequired[Sequence[str]]
    decryption: NotRequired[str]
    url: NotRequired[str]
    revision: NotRequired[str]
    size: NotRequired[int]
    text: NotRequired[str]
    reason: NotRequired[str]


class OriginData(TypedDict):
    """One declaration that brings a component: a HelmRelease, an Application, a script, an inline manifest."""

    id: str
    form: str
    name: str
    namespace: str
    place: PlaceData | None
    sources: list[SourceData]
    version: str
    needs: list[NeedData]
    parent: str
    certainty: str
    doubt: str
    wave: int | None
    suspended: bool
    objects: list[ObjectData]
    command: str


class ComponentData(TypedDict):
    """A component of one cluster, with what brings it on each side."""

    name: str
    cluster: str
    phase: str
    side: str
    owner: str
    role: str
    why: str
    whyDeclared: bool
    version: str
    needs: Sequence[str]
    missing: list[NeedData]
    dependents: Sequence[str]
    parent: str
    partOf: str
    bootstrap: list[OriginData]
    gitops: list[OriginData]


class NetworkData(TypedDict):
    """The network of a cluster; null where nothing says."""

    pods: Sequence[str]
    services: Sequence[str]
    loadBalancers: Sequence[str]
    endpoint: str
    vip: str
    dnsDomain: str
    cni: str
    kubeProxy: bool | None
    coreDns: bool | None


class MachineData(TypedDict):
    """A machine."""

    name: str
    role: str
    address: str
    id: str
    installDisk: str
    schematic: str
    extensions: Sequence[str]
    patches: list[PlaceData | None]
    place: PlaceData | None


class ClusterFileData(TypedDict):
    """A file of machine config, and the kinds of documents in it."""

    path: str
    line: int
    column: int
    holds: Sequence[str]


class ClusterData(TypedDict):
    """A cluster."""

    name: str
    role: str
    engine: str | None
    url: str
    branch: str
    path: str
    talos: str
    kubernetes: str
    schedulesOnControlPlanes: bool | None
    network: NetworkData
    machines: list[MachineData]
    settings: Sequence[str]
    files: list[ClusterFileData]
    place: PlaceData | None
    said: Mapping[str, PlaceData | None]


class InventoryData(TypedDict):
    """Everything that a repo describes."""

    name: str
    engine: str | None
    declared: PlaceData | None
    clusters: list[ClusterData]
    components: list[ComponentData]
    secrets: list[SecretData]
    unreached: list[OriginData]
    diagnostics: list[DiagnosticData]


class ComponentsData(TypedDict):
    """With ``--component``: the component in each cluster that has it."""

    components: list[ComponentData]


OUTPUTS = {"inventory": OutputForm(2, (InventoryData, ComponentsData))}
