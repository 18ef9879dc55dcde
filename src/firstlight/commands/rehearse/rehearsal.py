"""What a rehearsal was: what stood for what, what was only pretended, what could not be tried, and how it went."""

import dataclasses

from firstlight.model.diagnostic import Diagnostic


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class StandIn:
    """One thing of the repo, and what stood for it in the lab."""

    what: str
    """``machine``, ``API``, ``Git``, ``charts``, ``network``, ``secret``, ``encrypted`` …"""
    declared: str
    lab: str


@dataclasses.dataclass(frozen=True, slots=True)
class Untried:
    """Something that the rehearsal says nothing about."""

    what: str
    why: str
    component: str = ""
    """The component that it concerns; what needs that is not judged either."""
    hint: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedStep:
    """How one step went."""

    id: str
    phase: str
    name: str
    verdict: str
    """passed, skipped, failed, waiting, or blocked for one that never began."""
    seconds: float = 0.0
    writes: int = 0
    reason: str = ""
    hint: str = ""
    component: str = ""
    needs: tuple[str, ...] = ()
    """Ids of other steps."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """A rehearsal that is over."""

    cluster: str
    lab: str
    revision: str = ""
    """Of the user's repo."""
    copy: str = ""
    """The commit of the copy on the lab's Git server: the one that the engine and the certificate name."""
    changes: int = 0
    """Files of the work tree that are not committed; they were rehearsed, too."""
    is_kept: bool = False
    mapped: tuple[StandIn, ...] = ()
    simulated: tuple[tuple[str, str], ...] = ()
    """What the lab pretends, each with how."""
    notes: tuple[str, ...] = ()
    """What the lab says of itself, such as a version that is not the declared one."""
    untried: tuple[Untried, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    """What stood in the way before the first write."""
    steps: tuple[RehearsedStep, ...] = ()
    seconds: float = 0.0
    refused: str = ""
    """Why it did not begin, or did not go on, where that is firstlight's own no."""

    @property
    def causes(self) -> tuple[RehearsedStep, ...]:
        """The steps that failed or were given up, and that nothing before them explains; in their order."""
        return tuple(each for each in self.steps if each.verdict in _BAD and not self._is_explained(each))

    @property
    def unjudged(self) -> tuple[RehearsedStep, ...]:
        """The steps that did not pass, and whose reason may be something that could not be tried."""
        return tuple(each for each in self.steps if each.verdict in _BAD and self._is_explained(each))

    @property
    def verdict(self) -> str:
        """``passed``, ``failed`` or ``refused``."""
        if self.refused or self.problems:
            return "refused"
        return "failed" if self.causes else "passed"

    def _is_explained(self, step: RehearsedStep) -> bool:
        """Whether it is, or needs, something that could not be tried."""
        absent = {each.component for each in self.untried if each.component}
        by_id = {each.id: each for each in self.steps}
        seen: set[str] = set()
        waiting = [step.id]
        while waiting:
            name = waiting.pop()
            if name in seen or name not in by_id:
                continue
            seen.add(name)
            if by_id[name].component in absent:
                return True
            waiting += by_id[name].needs
        return False


_BAD = ("failed", "waiting")
