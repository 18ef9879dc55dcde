"""Who owns an object or a field in a cluster, as the cluster itself tells it."""

import dataclasses
import enum
from collections.abc import Mapping

from firstlight.model.component import ObjectId


class Party(enum.StrEnum):
    """What sort of owner one is."""

    TALOS = "talos"
    BOOTSTRAP = "bootstrap"
    FLUX = "flux"
    ARGOCD = "argocd"
    HELM = "helm"
    CONTROLLER = "controller"
    PERSON = "person"
    SYSTEM = "system"
    """Kubernetes itself: what its own parts make without being asked."""
    NOBODY = "nobody"


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class ObjectOwner:
    """One owner."""

    party: Party
    name: str = ""
    """``Kustomization flux-system/cilium``, ``Application web``, ``release kube-system/cilium``, ``kubectl-edit``."""

    def __str__(self) -> str:
        return f"{self.party.value} ({self.name})" if self.name else self.party.value


class Flaw(enum.StrEnum):
    """What is wrong with the owners of an object."""

    ORPHAN = "orphan"
    """Nobody who would keep it up to date owns it."""
    TWO_ENGINES = "two GitOps owners"
    STALE_CO_OWNER = "stale co-owner"
    """Somebody who no longer applies it still owns fields of it: removed from Git, they would stay."""
    SOURCE_GONE = "source gone"
    """The owner that its marks name does not exist any more, or does not list it."""
    NOT_AS_DECLARED = "not as declared"
    """The repo says that somebody else owns it in the end."""


@dataclasses.dataclass(frozen=True, slots=True)
class Flawed:
    """One flaw of an object, in words."""

    flaw: Flaw
    says: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OwnedObject:
    """One object with its owners."""

    id: ObjectId
    api_version: str
    owner: ObjectOwner
    co_owners: tuple[ObjectOwner, ...] = ()
    """Others who own fields of it, controllers that write its status or scale it aside."""
    flaws: tuple[Flawed, ...] = ()
    component: str = ""
    """The one that brings it, where the repo is known."""
    fields: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """Managers by field path; empty unless asked for."""
    under: ObjectId | None = None
    """What brings it, at the top of its ownerReferences; a pod's Deployment. None for what stands by itself."""
    is_passing: bool | None = None
    """Whether a handover takes it, as bootstrap brings it and Git has it; None where no repo is known."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnerMap:
    """Every object of a cluster with its owners."""

    cluster: str
    objects: tuple[OwnedObject, ...]
    unread: tuple[str, ...] = ()
    """Kinds that could not be listed, with the reason."""
    notes: tuple[str, ...] = ()
    """What was not looked for, and why."""
