"""The boundary: what bootstrap applies against what GitOps applies, object by object."""

import dataclasses
import enum

from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic, Severity


class BoundaryStanding(enum.StrEnum):
    """How the two sides stand to each other."""

    EQUAL = "equal"
    DIFFERENT = "different"
    ONLY_BOOTSTRAP = "only bootstrap"
    ONLY_GITOPS = "only gitops"


class LifecycleEvent(enum.StrEnum):
    """What may happen to an object in the life of a cluster."""

    RECONCILE = "first reconcile"
    RERUN = "bootstrap again"
    UPGRADE = "talosctl upgrade-k8s"


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class ValueDifference:
    """One value that differs; what a Secret holds is masked."""

    path: tuple[str, ...]
    """Keys, and for items of lists the key by which they are known: ``containers``, ``[name=agent]``, ``image``."""
    bootstrap: str | None
    """As JSON, shortened; None where there is nothing."""
    gitops: str | None
    words: str
    """As people say it: ``image cilium 1.18.2 › 1.18.3``, ``replicas 1 › 2``."""
    rolls: bool = False
    """Whether pods are replaced when it changes."""
    is_fixed: bool = False
    """Whether Kubernetes refuses to change it."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Consequence:
    """What an event does to an object."""

    event: LifecycleEvent
    effect: str
    """A sentence without its subject and without a full stop."""
    severity: Severity = Severity.NOTE


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ComparedObject:
    """One object, on both sides."""

    id: ObjectId
    standing: BoundaryStanding
    differences: tuple[ValueDifference, ...] = ()
    consequences: tuple[Consequence, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """One component that both sides apply."""

    component: str
    cluster: str
    versions: tuple[str, str] = ("", "")
    """As declared, bootstrap's and GitOps'; known also where nothing could be rendered."""
    objects: tuple[ComparedObject, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    """What could not be rendered, so that it is not compared."""
    stays: Consequence | None = None
    """What an upgrade does with all of it, where Talos keeps it in the end."""

    @property
    def is_equal(self) -> bool:
        """Whether both sides apply the same."""
        return not self.diagnostics and all(each.standing == BoundaryStanding.EQUAL for each in self.objects)
