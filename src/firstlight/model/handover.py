"""The passing of objects from bootstrap to the engine: what was before, what passes, and what would come of it.

What was before holds no content of objects: a certificate is held against it.
"""

import dataclasses

from firstlight.model.component import ObjectId
from firstlight.model.owner import ObjectOwner
from firstlight.model.rendition import Object


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


MARK = "firstlight.dev/handover"
"""The annotation on an engine's object that rests for a handover: the run that has suspended it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """One object that the engine is to own."""

    object: Object
    """As Git has it, without the marks that the engine adds."""
    component: str
    manager: str
    """The field manager as which the engine applies it: ``kustomize-controller``."""
    owner: ObjectOwner
    """Who of the engine has it: ``Kustomization flux-system/cilium``."""

    @property
    def id(self) -> ObjectId:
        """What it is called."""
        return self.object.id


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What becomes of one object when its engine applies it for the first time; told by the server's own dry run."""

    id: ObjectId
    component: str
    owner: ObjectOwner
    """Who of the engine has it then."""
    marks: tuple[str, ...] = ()
    """Paths of labels and annotations that the engine adds, by which it knows what is its own."""
    changed: tuple[str, ...] = ()
    """Paths of fields that get another value, marks of the engine aside."""
    lost: tuple[str, ...] = ()
    """Paths of fields that disappear, since Git does not have them and their old owner is gone."""
    rolls: bool = False
    """Whether pods are replaced."""
    refused: str = ""
    """Why the server would not take it, such as an immutable field; empty where it would."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A change of a file of the repo, to be reviewed and committed by a person: nothing is written."""

    component: str
    path: str
    """The file, relative to the root of the repo."""
    why: tuple[str, ...]
    """What each part of it is for."""
    diff: str = dataclasses.field(repr=False)
    """As ``git apply`` takes it."""
