"""Commands that a platform's owners declare to run once bootstrap has a component up."""

import dataclasses
from typing import Any

from firstlight.model.place import Place

HOOK_TIMEOUT = 60.0
"""Seconds for a hook that says nothing else."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """Runs after a component's gates have passed; it runs only if it was allowed by its content."""

    place: Place
    run: tuple[str, ...]
    """The program and its words; there is no shell."""
    unless: tuple[str, ...]
    """Exits with 0 where there is nothing to do any more: asked before and after."""
    timeout: float = HOOK_TIMEOUT
    """Seconds for each of the two."""


# Gates that a platform's owners declare for a component, beside those that firstlight knows by itself.


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WatchedObject:
    """The one object that a gate looks at."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    """Empty for kinds that have none."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConditionGate:
    """Passes when an object's condition has a status."""

    place: Place
    object: WatchedObject
    type: str
    status: str = "True"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FieldGate:
    """Passes when a field of an object has a value."""

    place: Place
    object: WatchedObject
    path: str
    """``status.phase``, ``status.members[0].state``, ``metadata.labels['app.kubernetes.io/name']``."""
    equals: Any


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CelGate:
    """Passes when an expression over an object is true."""

    place: Place
    object: WatchedObject
    expression: str
    """Sees the whole object as ``object``."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HttpGate:
    """Passes when a URL answers as it must."""

    place: Place
    url: str
    status: int = 200
    timeout: float = 10.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CommandGate:
    """Passes when a command ends well; it runs only if it was allowed by its content."""

    place: Place
    run: tuple[str, ...]
    timeout: float = 30.0


OwnGate = ConditionGate | FieldGate | CelGate | HttpGate | CommandGate
