"""The form of firstlight.yaml; its JSON Schema is made from this."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

API_VERSION = "firstlight.dev/v1alpha1"
KIND = "Platform"
FILE = "firstlight.yaml"

Name = Annotated[str, Meta(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=253)]
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


class Metadata(_Section, frozen=True):
    """What the platform is called."""

    name: Name


class GitOps(_Section, frozen=True):
    """Who reconciles from which repository; what the repo says itself need not be repeated."""

    engine: Literal["flux", "argocd"] | UnsetType = UNSET
    url: Annotated[str, Meta(description="The Git repository that the engine follows.")] = ""
    branch: str = ""


class Secret(_Section, frozen=True):
    """A Secret that must exist before an operator can fetch the rest."""

    name: Name
    namespace: Name
    data: Annotated[dict[str, Reference], Meta(min_length=1)]


class Machine(_Section, frozen=True):
    """A machine written here instead of in a Talos file."""

    name: Name
    address: str
    role: Literal["controlplane", "worker"] = "worker"


class Network(_Section, frozen=True):
    """What Talos or Git say already is not repeated; where it is, it must be equal."""

    pods: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    load_balancers: Annotated[tuple[str, ...], Meta(description="Ranges (10.0.0.10-10.0.0.20) or CIDRs.")] = ()
    endpoint: Annotated[str, Meta(description="The URL of the Kubernetes API.")] = ""
    vip: str = ""
    dns_domain: str = ""


class Cluster(_Section, frozen=True):
    """One cluster."""

    role: str = ""
    machines: Annotated[
        str | tuple[Machine, ...],
        Meta(description="A talconfig.yaml, an Omni template, a topf file or a directory of Talos files; or a list."),
    ] = ""
    path: Annotated[str, Meta(description="The directory that the engine starts from.")] = ""
    network: Network = Network()
    talos: str = ""
    kubernetes: str = ""


class Component(_Section, frozen=True):
    """What cannot be inferred of a component."""

    phase: Phase | UnsetType = UNSET
    from_: Annotated[
        str, Meta(description="The directory or file whose HelmRelease, Kustomization or Application it is.")
    ] = msgspec.field(default="", name="from")
    needs: tuple[Name, ...] = ()
    owner: Annotated[
        Literal["gitops", "bootstrap"] | UnsetType, Meta(description="Who owns it in the end; gitops takes it over.")
    ] = UNSET
    why: Annotated[str, Meta(description="Why it is in bootstrap; shown wherever somebody may ask.")] = ""
    clusters: Annotated[tuple[Name, ...], Meta(description="Only in these clusters; in all if empty.")] = ()


class Platform(_Section, frozen=True):
    """Everything that one Git repo describes."""

    api_version: Literal["firstlight.dev/v1alpha1"]
    kind: Literal["Platform"]
    metadata: Metadata
    gitops: GitOps = GitOps()
    secrets: tuple[Secret, ...] = ()
    clusters: dict[Name, Cluster] = {}
    components: dict[Name, Component] = {}


def schema() -> dict[str, Any]:
    """The JSON Schema of firstlight.yaml."""
    made = msgspec.json.schema(Platform)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{FILE} ({API_VERSION})",
        **made,
    }
