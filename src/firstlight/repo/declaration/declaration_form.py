"""The form of firstlight.yaml; its JSON Schema is made from this."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

API_VERSION = "firstlight.dev/v1alpha1"
KIND = "Platform"
FILE = "firstlight.yaml"

NAME = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
Name = Annotated[str, Meta(pattern=NAME, max_length=253)]
COMPONENT = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(/[a-z0-9]([-a-z0-9.]*[a-z0-9])?){0,2}$"
ComponentName = Annotated[
    str,
    Meta(pattern=COMPONENT, max_length=253, description="As firstlight inventory calls it, such as web or shop/web."),
]
DIGEST = r"^(sha256:[0-9a-f]{64})?$"
Phase = Literal["inline", "crds", "core", "engine", "gitops"]
REFERENCE = r"^(op://[^/]+/[^/]+/.+|(sops|vault|env|file):.+)$"
Reference = Annotated[
    str,
    Meta(
        pattern=REFERENCE,
        description="Where the value is: op://vault/item/field, sops:FILE#key, vault:PATH#key, env:NAME or file:PATH.",
    ),
]


class _Section(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """What all sections share: unknown fields are errors."""


class MetadataSection(_Section, frozen=True):
    """What the platform is called."""

    name: Name


class GitOpsSection(_Section, frozen=True):
    """Who reconciles from which repository; what the repo says itself need not be repeated."""

    engine: Literal["flux", "argocd"] | UnsetType = UNSET
    url: Annotated[str, Meta(description="The Git repository that the engine follows.")] = ""
    branch: str = ""


class SecretSection(_Section, frozen=True):
    """A Secret that must exist before an operator can fetch the rest."""

    name: Name
    namespace: Name
    data: Annotated[dict[str, Reference], Meta(min_length=1)]


class MachineSection(_Section, frozen=True):
    """A machine written here instead of in a Talos file."""

    name: Name
    address: str
    role: Literal["controlplane", "worker"] = "worker"
    disk: Annotated[str, Meta(description="Where Talos is installed: /dev/nvme0n1 or /dev/disk/by-id/….")] = ""
    disk_selector: Annotated[
        dict[str, str], Meta(description="Chooses the disk instead: size, model, serial, wwid, type, busPath ….")
    ] = {}
    image: Annotated[str, Meta(description="The installer image; that of the Talos version if left out.")] = ""
    schematic: Annotated[str, Meta(description="The id of an image factory schematic: 64 hexadecimal digits.")] = ""
    interfaces: Annotated[
        tuple[dict[str, Any], ...], Meta(description="As Talos's machine.network.interfaces; addresses, dhcp, vip ….")
    ] = ()
    patches: Annotated[tuple[str, ...], Meta(description="Files with patches for this machine alone.")] = ()


class RoleSection(_Section, frozen=True):
    """What all machines of a role share."""

    patches: Annotated[tuple[str, ...], Meta(description="Files with patches.")] = ()


class NetworkSection(_Section, frozen=True):
    """What Talos or Git say already is not repeated; where it is, it must be equal."""

    pods: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    load_balancers: Annotated[tuple[str, ...], Meta(description="Ranges (10.0.0.10-10.0.0.20) or CIDRs.")] = ()
    endpoint: Annotated[str, Meta(description="The URL of the Kubernetes API.")] = ""
    vip: str = ""
    dns_domain: str = ""


class ClusterSection(_Section, frozen=True):
    """One cluster."""

    role: str = ""
    machines: Annotated[
        str | tuple[MachineSection, ...],
        Meta(description="A talconfig.yaml, an Omni template, a topf file or a directory of Talos files; or a list."),
    ] = ""
    path: Annotated[str, Meta(description="The directory that the engine starts from.")] = ""
    network: NetworkSection = NetworkSection()
    talos: str = ""
    kubernetes: str = ""
    talos_secrets: Annotated[
        Reference | UnsetType, Meta(description="What talosctl gen secrets made; made once if it is not there yet.")
    ] = UNSET
    talosconfig: Annotated[
        Reference | UnsetType, Meta(description="The administrator's, where whole machine configs hold the secrets.")
    ] = UNSET
    talos_contract: Annotated[
        str,
        Meta(
            description="The Talos version whose form and defaults generated machine configs have, such as v1.13; "
            "where it is left out, what the machines run tells, and the version of Talos for a new cluster.",
            pattern=r"^(v[0-9]+\.[0-9]+(\.[0-9]+)?)?$",
        ),
    ] = ""
    patches: Annotated[tuple[str, ...], Meta(description="Files with Talos patches for all machines.")] = ()
    control_plane: RoleSection = RoleSection()
    worker: RoleSection = RoleSection()
    schedules_on_control_planes: bool | UnsetType = UNSET


class _Watched(_Section, frozen=True):
    """The object that a gate looks at."""

    api_version: Annotated[str, Meta(description="Such as apps/v1.", min_length=1)]
    kind: Annotated[str, Meta(min_length=1)]
    name: Name
    namespace: Annotated[str, Meta(description="Left out for kinds that have none.")] = ""


class ConditionGateSection(_Watched, frozen=True):
    """Passes when a condition of an object has a status."""

    type: Annotated[str, Meta(description="The condition, such as Ready.", min_length=1)] = "Ready"
    status: Literal["True", "False", "Unknown"] = "True"


class FieldGateSection(_Watched, frozen=True, kw_only=True):
    """Passes when a field of an object has a value."""

    path: Annotated[str, Meta(description="Such as status.phase, status.members[0].state.", min_length=1)]
    equals: Annotated[Any, Meta(description="The value that it must have.")]


class CelGateSection(_Watched, frozen=True, kw_only=True):
    """Passes when an expression is true; it sees the object as object."""

    expression: Annotated[str, Meta(description="CEL, such as object.status.readyInstances >= 2.", min_length=1)]


class HttpGateSection(_Section, frozen=True):
    """Passes when a URL answers as it must."""

    url: Annotated[str, Meta(description="http:// or https://", min_length=1)]
    status: int = 200
    timeout: Annotated[float, Meta(description="Seconds for one try.")] = 10.0


class CommandGateSection(_Section, frozen=True):
    """Passes when a command ends well; it runs only in up and rehearse, and only if it was allowed by its content."""

    run: Annotated[tuple[str, ...], Meta(description="The program and its words; there is no shell.", min_length=1)]
    timeout: Annotated[float, Meta(description="Seconds for one try.")] = 30.0


class GateSection(_Section, frozen=True):
    """What must hold before anything builds on a component: one of these."""

    condition: ConditionGateSection | UnsetType = UNSET
    field: FieldGateSection | UnsetType = UNSET
    cel: CelGateSection | UnsetType = UNSET
    http: HttpGateSection | UnsetType = UNSET
    command: CommandGateSection | UnsetType = UNSET


class HookSection(_Section, frozen=True):
    """Runs after a component's gates have passed; in up and rehearse only, and only if allowed by its content."""

    run: Annotated[tuple[str, ...], Meta(description="The program and its words; there is no shell.", min_length=1)]
    unless: Annotated[
        tuple[str, ...],
        Meta(description="A command that exits with 0 where the hook has nothing to do any more.", min_length=1),
    ]
    timeout: Annotated[float | str, Meta(description="Seconds, or such as 90s or 5m.")] = 60.0


class ComponentSection(_Section, frozen=True):
    """What cannot be inferred of a component."""

    phase: Phase | UnsetType = UNSET
    from_: Annotated[
        str,
        Meta(
            description="The directory or file that deploys it, or that it is made from: any chart, kustomization or "
            "manifests of the repo; or the URL of a file of manifests, with its digest."
        ),
    ] = msgspec.field(default="", name="from")
    digest: Annotated[
        str,
        Meta(pattern=DIGEST, description="What the file of from must be: sha256:…, of its bytes. A URL needs one."),
    ] = ""
    needs: tuple[ComponentName, ...] = ()
    owner: Annotated[
        Literal["gitops", "bootstrap"] | UnsetType, Meta(description="Who owns it in the end; gitops takes it over.")
    ] = UNSET
    why: Annotated[str, Meta(description="Why it is in bootstrap; shown wherever somebody may ask.")] = ""
    clusters: Annotated[tuple[Name, ...], Meta(description="Only in these clusters; in all if empty.")] = ()
    gates: Annotated[
        tuple[GateSection, ...],
        Meta(description="What must hold, beside what is asked by itself, before others build on it."),
    ] = ()
    hooks: Annotated[
        tuple[HookSection, ...],
        Meta(description="Commands that run once bootstrap has it up, before others build on it."),
    ] = ()


class PlatformSection(_Section, frozen=True):
    """Everything that one Git repo describes."""

    api_version: Literal["firstlight.dev/v1alpha1"]
    kind: Literal["Platform"]
    metadata: MetadataSection
    gitops: GitOpsSection = GitOpsSection()
    secrets: tuple[SecretSection, ...] = ()
    clusters: dict[Name, ClusterSection] = {}
    components: dict[ComponentName, ComponentSection] = {}


def schema() -> dict[str, Any]:
    """The JSON Schema of firstlight.yaml."""
    made = msgspec.json.schema(PlatformSection)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{FILE} ({API_VERSION})",
        **made,
    }
