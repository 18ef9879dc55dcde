"""The JSON of ``firstlight decide``."""

from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from firstlight.cli.output_form import DiagnosticData, ObjectData, OutputForm, PlaceData
from firstlight.model.component import Side
from firstlight.model.decision import Approval, Risk

SideWord = Annotated[str, Meta(extra_json_schema={"enum": [*Side, "none"]})]
RiskWord = Annotated[str, Meta(extra_json_schema={"enum": [str(each) for each in Risk]})]
ApprovalWord = Annotated[str, Meta(extra_json_schema={"enum": [*Approval]})]


class TreeStepData(TypedDict):
    """A question of a decision tree, and its answer."""

    question: str
    text: str
    answer: bool


class TreeData(TypedDict):
    """The way through one decision tree."""

    tree: str
    side: str
    overruled: bool
    steps: list[TreeStepData]


class FactorData(TypedDict):
    """Something that raises the risk."""

    id: str
    risk: str
    why: str


class RulingData(TypedDict):
    """What one rule says of a change."""

    rule: str
    side: str
    risk: str
    why: str
    field: str | None
    criteria: list[str]
    factors: list[FactorData]
    procedure: str
    checks: list[str]
    trees: list[TreeData]


class ChangedFieldData(TypedDict):
    """A field that differs; before and after are null where it is secret."""

    path: str
    verb: str
    line: int
    secret: bool
    before: Any
    after: Any
    values: Any


class TouchedData(TypedDict):
    """A component that a change touches."""

    cluster: str
    component: str
    role: str
    phase: str
    owner: str
    dependents: list[str]
    brings: list[str]


class ItemData(TypedDict):
    """One change, of a file or of a rendered object."""

    side: SideWord
    risk: RiskWord
    approval: ApprovalWord
    path: str
    line: int
    oldPath: str
    title: str
    matter: str
    verb: str
    kind: str
    object: ObjectData | None
    component: str
    clusters: list[str]
    components: list[TouchedData]
    why: str
    fields: list[ChangedFieldData]
    rulings: list[RulingData]
    doubt: str


class ProcedureStepData(TypedDict):
    """One step of the procedure, or of the way back."""

    side: str
    text: str
    command: str


class CheckData(TypedDict):
    """One check of before or after the change."""

    id: str
    moment: str
    title: str
    state: str
    says: str
    details: list[str]
    place: PlaceData | None
    diagnostics: list[DiagnosticData]


class ApprovedData(TypedDict):
    """Whether the approval is there, with ``--approvals``."""

    needed: str
    given: bool
    says: str
    by: list[str]


class DecisionData(TypedDict):
    """The decision on a change. Nothing changed: none, low, self."""

    side: SideWord
    risk: RiskWord
    approval: ApprovalWord
    title: str
    changed: bool
    items: list[ItemData]
    rendered: list[ItemData]
    procedure: list[ProcedureStepData]
    rollback: list[ProcedureStepData]
    checks: list[CheckData]
    affected: list[str]
    doubts: list[str]
    approved: ApprovedData | None


class CommandData(TypedDict):
    """A step of a rule's procedure."""

    text: str
    command: str


class RuleCardData(TypedDict):
    """With ``--explain RULE``: everything about a rule; its side is empty for a factor."""

    id: str
    title: str
    side: str
    risk: str
    approval: str
    why: str
    fits: list[str]
    criteria: list[str]
    trees: list[TreeData]
    ways: list[str]
    procedure: list[CommandData]
    rollback: list[CommandData]
    checks: list[str]
    words: list[str]
    asks: list[str]
    sources: list[str]
    place: str
    own: bool


class RuleCardsData(TypedDict):
    """With ``--explain`` alone: every rule and every factor."""

    rules: list[RuleCardData]
    factors: list[RuleCardData]


class SuggestionData(RuleCardData):
    """A rule that a sentence may mean."""

    score: float
    about: list[str]
    questions: list[str]


class SuggestionsData(TypedDict):
    """A change in words: the answer of the nearest rule, and all that may be meant."""

    side: str | None
    risk: str | None
    approval: str | None
    sentence: str
    by: Literal["words"]
    sure: bool
    """Whether the nearest rule is an answer; else the rules are a question."""
    rules: list[SuggestionData]


class TestData(TypedDict):
    """A team's test of its rules."""

    name: str
    place: str
    passed: bool
    wrong: list[str]


class TestsData(TypedDict):
    """With ``--test``: a team's tests of its rules."""

    passed: bool
    tests: list[TestData]


class TreesData(TypedDict):
    """With ``--ask``: where the answers lead."""

    side: str
    agree: bool
    trees: list[TreeData]


OUTPUTS = {"decide": OutputForm(1, (DecisionData, RuleCardData, RuleCardsData, SuggestionsData, TestsData, TreesData))}
