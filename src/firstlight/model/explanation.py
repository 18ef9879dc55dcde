"""What something is and why it is here, in sentences; and the chain in which one thing needs another."""

import dataclasses
import enum

from firstlight.model.component import Phase, Side
from firstlight.model.place import Place


class Sort(enum.StrEnum):
    """What sort of name was explained."""

    COMPONENT = "component"
    CLUSTER = "cluster"
    MACHINE = "machine"
    PHASE = "phase"
    SIDE = "side"
    RULE = "rule"
    FACTOR = "factor"
    WORD = "word"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One thing to say, perhaps with the place that says it, or with what to type."""

    text: str
    place: Place | None = None
    command: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What there is to say under one heading."""

    name: str
    """One word, stable for programs: ``what``, ``why``, ``needs`` …"""
    sentences: tuple[Sentence, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One meaning of a name."""

    sort: Sort
    name: str
    clusters: tuple[str, ...] = ()
    """Those in which it is so; empty where it is of no cluster."""
    parts: tuple[Part, ...]
    see: tuple[str, ...] = ()
    """Other names that can be explained."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One member of the chain: what stands on all that is above it."""

    name: str
    """What it is called; how many they are, where it stands for several."""
    says: str
    phase: Phase
    side: Side
    level: int
    """Counted from the machines, which are 0; what has the same stands side by side."""
    members: tuple[str, ...] = ()
    """The components, or Secrets, that it stands for; empty where it is one by itself."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """From the machines to the apps of one cluster, each link after what it needs."""

    cluster: str
    links: tuple[Link, ...]
    engine: str = ""
    """Who follows Git."""
    url: str = ""
    path: str = ""
    """What it follows: the repository, and the directory that it begins with."""
