"""What a change is called in Git at each stage: by what it was asked about, then by its commits, then by both ends."""

import dataclasses
from collections.abc import Sequence

from firstlight.policy.deciding.branch_names import Branches
from firstlight.policy.deciding.facts import Facts
from firstlight.policy.deciding.procedure_form import STAGES, Stage

_LAST = "HEAD~1"


@dataclasses.dataclass(frozen=True)
class GitNames:
    """Branches and revisions of a change."""

    facts: Facts
    branches: Branches
    branch: str
    """What the engine follows."""

    def values(self, stage: Stage) -> dict[str, str | Sequence[str]]:
        """What placeholders stand for at a stage."""
        return {
            "branch": self.branch,
            "topic": self.branches.topic,
            "fresh": self.branches.fresh,
            "undo": self.branches.undo,
            "patch": self.patch,
            "asked": [*self.asked(stage), *self.facts.looked],
            "revert": self._revert(),
            "since": self.facts.since or _LAST,
        }

    @property
    def patch(self) -> str:
        """The file of a patch that is not applied yet."""
        found = self.facts.asked[1] if self.facts.asked[:1] == ("--patch",) else ""
        return f"./{found}" if found.startswith("-") and found != "-" else found

    @property
    def carried(self) -> list[str] | None:
        """How ``firstlight change start`` is told of the change; None for a patch, for files and for own rules."""
        match self.facts.asked:
            case () | ("--staged",):
                found = list(self.facts.asked)
            case ("--diff", revisions) if self.facts.is_committed:
                found = ["--diff", revisions]
            case _:
                return None
        return None if self.facts.rules else found

    def asked(self, stage: Stage) -> list[str]:
        """How to ask about the same: of what is not committed as it was asked, and later by its commits."""
        return [*self._revisions(STAGES.index(stage)), *self.facts.rules]

    def _revisions(self, at: int) -> Sequence[str]:
        facts, topic = self.facts, self.branches.topic
        is_later = at > STAGES.index("merge")
        if facts.is_committed:
            # Once it is merged, nothing is left between the branch and what it was merged into.
            is_known = is_later and bool(facts.since and topic)
            return ("--diff", f"{facts.since}..{topic}") if is_known else facts.asked or ("--diff", f"{_LAST}..HEAD")
        if at < STAGES.index("add"):
            return facts.asked
        if at <= STAGES.index("commit"):
            return ("--staged",)
        return "--diff", f"{facts.since or _LAST}..{topic}" if is_later else f"{self._base()}...{topic}"

    def _base(self) -> str:
        """The branch that the engine follows, as it is called here."""
        known = self.facts.branches
        named = [each for each in (self.branch, f"origin/{self.branch}") if each in known]
        return named[0] if named else self.facts.since if known and self.facts.since else self.branch

    def _revert(self) -> Sequence[str]:
        facts, topic = self.facts, self.branches.topic
        if facts.revert:
            return facts.revert.split()
        if facts.is_committed or not topic:
            return ("HEAD",)
        return (f"{facts.since}..{topic}" if facts.since else topic,)
