"""What differs by engine, as data: one ``EngineAdapter`` for each, in a package of its own."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.document.within import mapping
from firstlight.model.cluster import Engine


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """How one kind rests."""

    group: str
    """Of its API."""
    steps: tuple[str, ...]
    """Where it is said."""
    value: Any
    words: str
    """The same for people, as it is written."""


@dataclasses.dataclass(frozen=True, slots=True)
class Guard:
    """The annotation of one engine."""

    name: str
    value: str

    def holds(self, obj: Mapping[str, Any]) -> bool:
        """Whether an object is guarded, whoever says so."""
        key, _, _ = self.value.rpartition("=")
        options = [each.strip() for each in self.written(obj).split(",")]
        said = [each for each in options if each.startswith(f"{key}=")] if key else options
        return bool(said) and (said[0] if key else said[0].lower()) == self.value

    def written(self, obj: Mapping[str, Any]) -> str:
        """The annotation as an object has it; empty if it has none."""
        return str(mapping(obj, "metadata", "annotations").get(self.name) or "")

    def is_barred(self, obj: Mapping[str, Any]) -> bool:
        """Whether an object cannot be guarded: it has the annotation already, with something else to say.

        A value that were joined to it would be drift, which an engine that heals by itself takes back at once.
        """
        return bool(self.written(obj)) and not self.holds(obj)

    def joined(self, obj: Mapping[str, Any]) -> str:
        """What Git would have to say of an object that cannot be guarded otherwise."""
        said = self.written(obj)
        return f"{self.value},{said}" if "=" in self.value else self.value


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EngineKind:
    """A kind of object by which an engine brings others."""

    kind: str
    group: str
    version: str
    manager: str
    """The field manager as which its controller applies; empty where it applies nothing itself."""
    request_annotation: str
    """Asks its controller to reconcile now."""
    request_value: str = ""
    """The value of that; where it is empty, a token that the controller repeats in its status."""
    is_starting: bool = True
    """Whether it makes the engine reconcile something."""
    rest: Rest | None = None
    """How it is suspended in Git, where it can be."""

    @property
    def api_version(self) -> str:
        """As manifests have it."""
        return f"{self.group}/{self.version}"

    def request(self, token: str) -> dict[str, str]:
        """The annotations that ask for a reconciliation.

        Args:
            token: What the controller is to repeat, if it does so.
        """
        return {self.request_annotation: self.request_value or token}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EngineAdapter:
    """One engine."""

    engine: Engine
    title: str
    """Its name for people."""
    kinds: tuple[EngineKind, ...]
    needed_controllers: tuple[str, ...]
    """Without these it brings nothing of Git into the cluster."""
    part_of: str
    """The value of the label by which its workloads are known."""
    workload_kinds: tuple[str, ...]
    prune_guard: Guard
    """Keeps it from pruning a live object."""
