"""What a finding leads to where an edit alone does not do: steps in their order, and the files that go with them."""

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence

from firstlight import errors
from firstlight.cli import output as cli_output
from firstlight.commands.audit.interview import Interview, RemedyQuestion
from firstlight.commands.audit.output_form import RemedyData
from firstlight.commands.decide import text
from firstlight.drawing import decision_words, table
from firstlight.model.decision import ProcedureStep
from firstlight.model.finding import FileEdit, Finding
from firstlight.repo.file_patch import FilePatch
from firstlight.repo.platform_view import PlatformView


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """The way from a finding to a platform without it."""

    rule: str
    title: str
    steps: tuple[ProcedureStep, ...] = ()
    edits: tuple[FileEdit, ...] = dataclasses.field(default=(), repr=False)
    """What is written to the repo, to be reviewed."""
    refused: tuple[str, ...] = ()
    """What stands in the way, each in a sentence; then there is nothing to do but that."""
    open_questions: tuple[RemedyQuestion, ...] = ()
    """What only a person can say."""


# What findings lead to: for some rules a function that makes a remedy of them, in ``remedies``, a file a subject.


RemedyMaker = Callable[[PlatformView, Sequence[Finding], Interview], Remedy]
_PACKAGE = "firstlight.commands.audit.remedies"


def known_remedies() -> Mapping[str, RemedyMaker]:
    """By the id of the rule; each file of ``remedies`` has a ``REMEDIES`` of its own."""
    try:
        package = importlib.import_module(_PACKAGE)
    except ImportError:
        return {}
    found: dict[str, RemedyMaker] = {}
    for each in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{_PACKAGE}.{each.name}")
        found |= getattr(module, "REMEDIES", {})
    return found


def remedy_of(
    rule: str, scene: PlatformView, findings: Sequence[Finding] = (), answers: Mapping[str, str] | None = None
) -> Remedy | None:
    """What findings of a rule lead to; None for a rule without a remedy.

    Raises:
        errors.UsageError: An answer cannot be meant.
    """
    making = known_remedies().get(rule)
    if making is None:
        return None
    interview = Interview(answers)
    made = making(scene, findings, interview)
    interview.check()
    return dataclasses.replace(made, open_questions=() if made.refused else interview.open_questions)


# What ``firstlight audit --remedy`` prints.


def check_remedy(rule: str) -> None:
    """See that there is a remedy for a rule, before anything is looked at.

    Raises:
        errors.UsageError: There is none.
    """
    known = known_remedies()
    if rule not in known:
        names = ", ".join(sorted(known))
        raise errors.UsageError(
            f"there is no remedy for {rule}",
            hint=f"There is one for {names}." if names else f"What to do: firstlight audit --explain {rule}",
        )


def remedy_lines(made: Remedy, patch: FilePatch) -> list[str]:
    """The steps, what stands in the way, what only a person can say, and the patch."""
    columns = table.terminal_columns()
    lines = [decision_words.plain(made.title)]
    lines += decision_words.block("refused", made.refused, columns)
    lines += decision_words.block("asks", [str(each) for each in made.open_questions], columns)
    lines += text.procedure("do", made.steps, columns=columns)
    return [*lines, *(["", cli_output.printable_diff(patch.diff).rstrip("\n")] if patch.diff else [])]


def remedy_data(made: Remedy, patch: FilePatch) -> RemedyData:
    """The same for a program."""
    return {
        "rule": made.rule,
        "title": made.title,
        "refused": list(made.refused),
        "questions": [each.text for each in made.open_questions],
        "answers": [
            {"key": each.key, "form": str(each.form), "question": each.text} for each in made.open_questions if each.key
        ],
        "steps": [
            {"text": each.text, "command": each.command, "side": str(each.side) if each.side else None}
            for each in made.steps
        ],
        "patch": patch.diff,
    }
