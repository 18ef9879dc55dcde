"""Why something does not work: one cause on top, what follows from it below, each with evidence and a next command."""

import dataclasses
import enum


class SymptomLayer(enum.IntEnum):
    """Where something is wrong; what is lower carries what is higher."""

    MACHINE = 0
    ETCD = 1
    API = 2
    NETWORK = 3
    DNS = 4
    ADMISSION = 5
    SECRETS = 6
    ENGINE = 7
    SOURCE = 8
    COMPONENT = 9
    WORKLOAD = 10


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SymptomEvidence:
    """Something that anybody can look up."""

    where: str
    """``event of Pod shop/web-1``, ``log of kustomize-controller``, ``Node cp-1, status.conditions``."""
    text: str
    """As it was found, shortened, secrets masked."""
    at: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NextCommand:
    """What to type next, and what for."""

    command: str
    why: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Symptom:
    """One thing that is wrong."""

    rule: str
    """The id of what recognised it: ``git-authentication``."""
    layer: SymptomLayer
    subject: str
    """What it is wrong with: ``GitRepository flux-system/home``; two symptoms of one rule differ in it."""
    says: str
    """A sentence without a full stop."""
    title: str = ""
    """What the rule recognises, whatever it is wrong with."""
    remedy: str = ""
    """What one can do about it."""
    evidence: tuple[SymptomEvidence, ...] = ()
    next: tuple[NextCommand, ...] = ()
    since: float = 0.0
    """When it began, as far as anything tells; 0 if nothing does."""
    because: tuple[str, ...] = ()
    """Keys of symptoms that explain it: ``git-authentication GitRepository flux-system/home``."""

    @property
    def key(self) -> str:
        """What others call it."""
        return f"{self.rule} {self.subject}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RootCause:
    """A symptom that nothing else explains, with all that follows from it."""

    symptom: Symptom
    effects: tuple[Symptom, ...] = ()
    """The nearest first."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What is wrong with a cluster."""

    cluster: str
    causes: tuple[RootCause, ...]
    """The one that explains most first; none where nothing is wrong."""
    looked: tuple[str, ...] = ()
    """What was looked at: ``4 machines``, ``612 objects``, ``38 events``."""
    unseen: tuple[str, ...] = ()
    """What could not be looked at, and why."""
    seconds: float = 0.0
