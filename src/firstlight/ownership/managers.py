"""Field managers: who stands behind the names that ``managedFields`` have."""

import dataclasses
import fnmatch
import functools
from collections.abc import Mapping
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.engines import adapters
from firstlight.model import argocd_names, flux_names, helm_names, talos_names
from firstlight.model.owner import ObjectOwner, Party

FIRSTLIGHT = "firstlight"
ENGINES = {
    flux_names.KUSTOMIZE_CONTROLLER: Party.FLUX,
    flux_names.HELM_CONTROLLER: Party.FLUX,
    flux_names.FLUX_OPERATOR: Party.FLUX,
    argocd_names.FIELD_MANAGER: Party.ARGOCD,
}
"""Those as which engines apply what Git has."""
APPLIES = {each.kind: each.manager for each in adapters.KINDS.values() if each.manager}
"""The manager of each kind of owner that an engine has."""
BEFORE = "before-first-apply"
"""What the server calls whoever wrote an object before somebody applied it."""
ANCIENT = "ancient-changes"
"""Under which the server puts the oldest updates of an object that more than ten have updated: whose they were, and by
which subresource, nobody can tell any more."""
_CHANGING = (
    "annotate",
    "autoscale",
    "cordon",
    "edit",
    "label",
    "patch",
    "rollout",
    "scale",
    "set",
    "taint",
    "uncordon",
)
"""What kubectl does to objects that are there: ``kubectl-edit`` did not make one."""
OLD = (
    talos_names.FIELD_MANAGER,
    FIRSTLIGHT,
    helm_names.FIELD_MANAGER,
    talos_names.TALOSCTL_MANAGER,
    talos_names.OMNI_MANAGER,
    flux_names.CLI_MANAGER,
    "kubectl*",
    BEFORE,
    ANCIENT,
)
"""Who applied things before an engine did, as patterns: their fields pass to it.

Others write beside Git, as autoscalers and injectors do, or are Git's. ``flux`` is the command, which installs Flux.
"""
_PARTIES = {
    talos_names.FIELD_MANAGER: Party.TALOS, talos_names.TALOSCTL_MANAGER: Party.TALOS,
    talos_names.MACHINED_MANAGER: Party.TALOS, talos_names.OMNI_MANAGER: Party.TALOS,
    f"{FIRSTLIGHT}*": Party.BOOTSTRAP, helm_names.FIELD_MANAGER: Party.HELM,
    "kube-apiserver": Party.SYSTEM, "kube-controller-manager": Party.SYSTEM, "kube-scheduler": Party.SYSTEM,
    "kubelet": Party.SYSTEM, "kube-proxy": Party.SYSTEM, "api-priority-and-fairness-*": Party.SYSTEM,
    BEFORE: Party.PERSON, ANCIENT: Party.PERSON, flux_names.CLI_MANAGER: Party.PERSON,
    "kubectl*": Party.PERSON, "k9s*": Party.PERSON,
    "lens*": Party.PERSON, "openlens*": Party.PERSON, "headlamp*": Party.PERSON, "node-fetch*": Party.PERSON,
    "mozilla*": Party.PERSON, "curl*": Party.PERSON, "terraform*": Party.PERSON, "hashicorp*": Party.PERSON,
    "pulumi-kubernetes*": Party.PERSON,
}  # fmt: skip
"""Who stands behind managers, as patterns in small letters."""
_REQUESTS = frozenset(
    {flux_names.RECONCILE_REQUEST_ANNOTATION, flux_names.FORCE_REQUEST_ANNOTATION, argocd_names.REFRESH_ANNOTATION}
)
"""Annotations by which engines are asked to come sooner: whoever asks owns nothing by it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Manager:
    """One entry of ``managedFields``."""

    name: str
    operation: str
    subresource: str
    fields: Mapping[str, Any]

    @property
    def party(self) -> Party:
        """What sort of owner it is."""
        return party(self.name)

    @property
    def is_incidental(self) -> bool:
        """Whether it owns nothing that somebody wrote: a status, a finalizer, the wish to be reconciled sooner."""
        return bool(self.subresource) or not any(_is_written(name, each) for name, each in self.fields.items())


def of(live: Mapping[str, Any]) -> tuple[Manager, ...]:
    """The managers of an object, in the order of its ``managedFields``."""
    return tuple(
        Manager(text(each, "manager"), text(each, "operation"), text(each, "subresource"), mapping(each, "fieldsV1"))
        for each in sequence(live, "metadata", "managedFields")
    )


@functools.lru_cache(maxsize=1024)
def party(manager: str) -> Party:
    """What sort of owner a manager is; one that nobody knows is a controller."""
    if manager in ENGINES:
        return ENGINES[manager]
    name = manager.lower()
    return next((each for pattern, each in _PARTIES.items() if fnmatch.fnmatchcase(name, pattern)), Party.CONTROLLER)


@functools.lru_cache(maxsize=1024)
def is_old(manager: str) -> bool:
    """Whether a manager applied things before an engine did, so that its fields pass."""
    return any(fnmatch.fnmatchcase(manager, each) for each in OLD)


def is_by_hand(manager: str) -> bool:
    """Whether it is a tool that people change things with by hand, whoever applied them."""
    return party(manager) == Party.PERSON and manager not in (BEFORE, flux_names.CLI_MANAGER)


def owner(manager: str) -> ObjectOwner:
    """A manager as an owner, where no mark and no inventory says more."""
    if manager in (talos_names.FIELD_MANAGER, FIRSTLIGHT, helm_names.FIELD_MANAGER):
        return ObjectOwner(party(manager))
    return ObjectOwner(party(manager), manager)


def makes(manager: str) -> bool:
    """Whether a person's manager makes objects; some of kubectl's only change what is there, as what is ancient may."""
    return manager != ANCIENT and manager.removeprefix("kubectl-") not in _CHANGING


def is_stale(manager: Manager, applies: str) -> bool:
    """Whether a manager applied an object before its engine did, and still owns fields of it.

    Args:
        manager: One that is not incidental.
        applies: The manager as which the engine applies the object.
    """
    # The engine's own updates are its fields too, by an older way of applying.
    return manager.name != applies and (manager.name in ENGINES or is_old(manager.name))


def _is_written(field: str, inside: Any) -> bool:
    if field == "f:status":
        return False
    if field != "f:metadata" or not isinstance(inside, Mapping):
        return True
    for name, each in inside.items():
        if name == "f:annotations" and isinstance(each, Mapping):
            if any(key != "." and key.removeprefix("f:") not in _REQUESTS for key in each):
                return True
        elif name not in ("f:finalizers", "."):
            return True
    return False
