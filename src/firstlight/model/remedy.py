"""What a finding leads to where an edit alone does not do: steps in their order, and the files that go with them."""

import dataclasses

from firstlight.model.decision import ProcedureStep
from firstlight.model.finding import Edit


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """The way from a finding to a platform without it."""

    rule: str
    title: str
    steps: tuple[ProcedureStep, ...] = ()
    edits: tuple[Edit, ...] = dataclasses.field(default=(), repr=False)
    """What is written to the repo, to be reviewed."""
    refused: tuple[str, ...] = ()
    """What stands in the way, each in a sentence; then there is nothing to do but that."""
    open_questions: tuple[str, ...] = ()
    """What only a person can say."""
