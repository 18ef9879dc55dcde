"""What one component needs and another brings, besides each other: Secrets, kinds, classes, services, hosts."""

import dataclasses
import enum

from firstlight.model.component import Side
from firstlight.model.place import Place
from firstlight.model.plan import Severity

ANY = "*"


class Sort(enum.StrEnum):
    """What sort of thing."""

    SECRET = "Secret"  # noqa: S105
    CONFIG_MAP = "ConfigMap"
    KIND = "kind"
    """A custom resource definition: ``GROUP/KIND``, or ``GROUP/*`` where only the group is known."""
    OPERATOR = "operator"
    """Somebody who acts upon the objects of a group."""
    STORE = "store"
    """A SecretStore or ClusterSecretStore."""
    STORAGE_CLASS = "StorageClass"
    """By name; the empty name is the default one."""
    PRIORITY_CLASS = "PriorityClass"
    SERVICE = "Service"
    HOST = "host"
    """A name that the cluster itself serves."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Thing:
    """One thing that must be there."""

    sort: Sort
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        path = "/".join(each for each in (self.namespace, self.name) if each)
        match self.sort:
            case Sort.KIND:
                group, _, kind = self.name.rpartition("/")
                return f"the kinds of {group}" if kind == ANY else f"the kind{'s' * (',' in kind)} {kind} ({group})"
            case Sort.OPERATOR:
                return f"an operator for {self.name}"
            case Sort.STORE:
                return f"the store {path}"
            case Sort.STORAGE_CLASS:
                return f"the StorageClass {path}" if path else "a default StorageClass"
            case Sort.HOST:
                return path
        return f"the {self.sort} {path}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """That a component brings a thing."""

    thing: Thing
    component: str
    """Empty for the foundation: Secrets that bootstrap creates itself."""
    side: Side
    place: Place
    how: str
    """``by ExternalSecret ns/name`` …"""
    requires: tuple[Thing, ...] = ()
    """What must be there besides before the thing appears."""
    in_git: bool = False
    """Whether Git has its content, so that rendering can read it before it is in the cluster."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """That a component needs a thing."""

    thing: Thing
    component: str
    side: Side
    place: Place
    how: str
    """A sentence without its subject: ``Deployment x reads it into its environment``."""
    severity: Severity = Severity.ERROR
    """How bad it is if the thing comes too late."""
    by_rendering: bool = False
    """Needed to render it, not to run it: what Git holds is enough."""
    is_soft: bool = False
    """Better after it, if bootstrap has it; fine without."""
