"""What is broken in a cluster, from the outside in, and the ways back with what each may cost."""

import dataclasses
import enum


class Condition(enum.StrEnum):
    """How a part of a cluster is."""

    WELL = "well"
    BROKEN = "broken"
    FOLLOWS = "follows"
    """Nothing in it is broken: it does not work because of something below."""
    UNSEEN = "not seen"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a cluster; they stand from the outside in."""

    name: str
    """machines, etcd, API, CNI, DNS, secrets, engine, workloads."""
    condition: Condition
    says: str = ""
    """What was seen of it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One thing that is broken by itself."""

    key: str
    """The doctor's: ``machine-unreachable machine cp-3``; options name what they answer by it."""
    part: str
    says: str
    follows: tuple[str, ...] = ()
    """What does not work because of it."""
    since: float = 0.0
    commands: tuple[str, ...] = ()
    """What the doctor would type next."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Something that an option cannot do without."""

    says: str
    is_met: bool | None = None
    """None where only trying tells."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One way back."""

    name: str
    """What ``--do`` takes."""
    on: str = ""
    """What ``--on`` takes: a machine, a release, a phase or a component; empty where the cluster is meant."""
    does: str
    risk: str
    """What may be lost."""
    needs: tuple[Need, ...] = ()
    answers: tuple[str, ...] = ()
    """Keys of the troubles that it ends."""
    commands: tuple[str, ...] = ()
    """What to type."""
    is_by_hand: bool = False
    """Whether nobody but a person can do it."""

    @property
    def is_possible(self) -> bool:
        """Whether nothing that it needs is known to be missing."""
        return all(each.is_met is not False for each in self.needs)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """A cluster as far as it could be looked at."""

    cluster: str
    parts: tuple[Part, ...]
    troubles: tuple[Trouble, ...] = ()
    """The one that explains most first; none where nothing is broken."""
    options: tuple[Option, ...] = ()
    """The best first."""
    looked: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    seconds: float = 0.0
    is_blind: bool = False
    """Whether nothing could be looked at."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Drilled:
    """A recovery that was practised in the lab."""

    scenario: str
    cluster: str
    option: str
    """What repaired it, with what it was done to."""
    diagnosed: float
    """Seconds from the fault to the assessment that offers this option."""
    repaired: float
    """Seconds from there until nothing is broken that it answers."""
    compared: int
    """Objects that were there before."""
    lost: tuple[str, ...] = ()
    """What is not there any more, or another one: objects, contents of Secrets, volumes of claims."""
    code: int = 0
    """The exit code of the repair."""

    @property
    def is_fine(self) -> bool:
        """Whether it was repaired, and nothing was lost."""
        return self.code == 0 and not self.lost
