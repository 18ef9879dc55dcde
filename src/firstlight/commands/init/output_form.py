"""The JSON of ``firstlight init``."""

from typing import TypedDict

from firstlight.cli.output_form import OutputForm


class QuestionData(TypedDict):
    """Something that could not be inferred."""

    key: str
    text: str
    why: str


class InitData(TypedDict):
    """The declaration; its path is empty with ``--dry-run``."""

    path: str
    text: str
    questions: list[QuestionData]


OUTPUTS = {"init": OutputForm(1, (InitData,))}
