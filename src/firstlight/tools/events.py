"""What happens while tools are acquired, as plain data: the CLI draws it, tests read it."""

import dataclasses
from collections.abc import Callable
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Waiting:
    """Another process is at it; ``holder`` says which."""

    name: str
    holder: str


@dataclasses.dataclass(frozen=True)
class PassedOver:
    """Something was found or tried, and does not do."""

    name: str
    what: str
    why: str


@dataclasses.dataclass(frozen=True)
class Downloading:
    """Bytes of a release are coming; ``size`` is 0 while it is not known."""

    name: str
    url: str
    received: int
    size: int


@dataclasses.dataclass(frozen=True)
class PreparingGo:
    """A Go toolchain is being installed, because there is none that will do."""

    name: str
    version: str


@dataclasses.dataclass(frozen=True)
class FetchingModules:
    """Go fetches the sources of modules; nobody knows before how many."""

    name: str
    modules: int
    seconds: float


@dataclasses.dataclass(frozen=True)
class Compiling:
    """Packages compiled of those that have to be, and an estimate of what is left."""

    name: str
    done: int
    total: int
    seconds: float
    seconds_left: float


@dataclasses.dataclass(frozen=True)
class Ready:
    """The tool or content is there; ``how`` says where it was found, or how it was acquired."""

    name: str
    version: str
    path: Path
    how: str
    seconds: float


Event = Waiting | PassedOver | Downloading | PreparingGo | FetchingModules | Compiling | Ready
Report = Callable[[Event], None]


def ignore(event: Event) -> None:
    """For callers that do not want to know."""
