"""How everything was before Git took over; what a certificate is held against. No content of objects is in it."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OwnerSeen:
    """One entry of an object's managedFields."""

    manager: str
    operation: str
    """``Apply`` or ``Update``."""
    subresource: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSeen:
    """One object as it was."""

    group: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    """Empty for one that was not there."""
    resource_version: str = ""
    generation: int = 0
    owners: tuple[OwnerSeen, ...] = ()
    template: str = ""
    """The digest of the pod template, for what makes pods."""
    holder: str = ""
    """Who of the engine had it already: how it was before that is not known."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PodSeen:
    """One pod as it was."""

    namespace: str
    name: str
    uid: str
    owner: str = ""
    """``ReplicaSet/coredns-7c9f``."""
    restarts: int = 0
    """Of all its containers together."""
    node: str = ""
    """Where it runs; empty for one that has no place yet."""
    revision: str = ""
    """The hash of its ReplicaSet or ControllerRevision."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Everything as it was."""

    cluster: str = ""
    """The uid of kube-system."""
    at: float = 0.0
    """Seconds since the epoch."""
    objects: tuple[ObjectSeen, ...] = ()
    pods: tuple[PodSeen, ...] = ()
    version: int = 1
    """Of this form."""
