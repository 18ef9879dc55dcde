"""What the form of a file with rules cannot say: whether its words, patterns and names mean something."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from firstlight.document import mistakes
from firstlight.document.reading import Document
from firstlight.model.change import Matter, Verb
from firstlight.model.component import Owner, Phase, Side
from firstlight.model.remark import Grade, Remark
from firstlight.policy.deciding import patterns
from firstlight.policy.deciding.form import Factor, Rule, RuleFile, When
from firstlight.policy.deciding.procedure_form import PLACEHOLDER, PLACEHOLDERS, Procedure, Step
from firstlight.policy.deciding.tree_form import Tree

_ID = re.compile(r"[a-z0-9]+(?:[-.][a-z0-9]+)*")
_STARS = re.compile(r"\*+")
_MANY_STARS = 6
"""Each one more makes a pattern slower by as much as a way has steps."""
_WORDS: Mapping[str, tuple[str, ...]] = {
    "matter": tuple(Matter),
    "verb": tuple(Verb),
    "phases": tuple(Phase),
    "owners": tuple(Owner),
}
_SIDES = tuple(Side)
_SECTIONS = ("rules", "factors", "criteria", "procedures", "checks", "trees")
_Steps = tuple[str | int, ...]


class Names:
    """What rules can name: ids of all files together."""

    def __init__(self, files: Iterable[RuleFile]) -> None:
        known = tuple(files)
        self.criteria = [each.id for file in known for each in file.criteria]
        self.procedures = [each.id for file in known for each in file.procedures]
        self.checks = [each.id for file in known for each in file.checks]
        self.questions = [each.id for file in known for tree in file.trees for each in tree.questions]


def problems(file: RuleFile, document: Document, names: Names) -> Iterator[Remark]:
    """Everything that is wrong in a file whose form is right."""
    for steps, message, hint in _found(file, names):
        yield Remark(document.place(*steps), Grade.ERROR, message, hint)


def doubles(files: Iterable[tuple[RuleFile, Document]]) -> Iterator[Remark]:
    """Ids that stand in two files."""
    first: dict[tuple[str, str], Document] = {}
    for file, document in files:
        for section in _SECTIONS:
            for number, each in enumerate(getattr(file, section)):
                other = first.setdefault((section, each.id), document)
                if other is not document:
                    message = f"the id {each.id} stands in {other.path} as well"
                    yield Remark(document.place(section, number, "id"), Grade.ERROR, message, "Give one another id.")


def _found(file: RuleFile, names: Names) -> Iterator[tuple[_Steps, str, str]]:
    for section in _SECTIONS:
        yield from _ids(section, [each.id for each in getattr(file, section)])
    for number, rule in enumerate(file.rules):
        yield from _rule(("rules", number), rule, names)
    for number, factor in enumerate(file.factors):
        yield from _conditions(("factors", number), factor)
    for number, procedure in enumerate(file.procedures):
        yield from _procedure(("procedures", number), procedure, names)
    for number, tree in enumerate(file.trees):
        yield from _tree(("trees", number), tree)


def _ids(section: str, ids: Sequence[str]) -> Iterator[tuple[_Steps, str, str]]:
    for number, name in enumerate(ids):
        if not _ID.fullmatch(name):
            yield (section, number, "id"), f"{name[:60]!r} is no id", "Write lower-case letters, digits and hyphens."
        if name in ids[:number]:
            yield (section, number, "id"), f"there are two with the id {name}", "Give one of them another."


def _rule(at: _Steps, rule: Rule, names: Names) -> Iterator[tuple[_Steps, str, str]]:
    if not rule.when and not rule.words:
        yield at, f"nothing leads to the rule {rule.id}", "Write when: or words:."
    yield from _conditions(at, rule)
    for field, word, known in (("criteria", "criterion", names.criteria), ("checks", "check", names.checks)):
        for number, name in enumerate(getattr(rule, field)):
            if name not in known:
                yield (*at, field, number), f"there is no {word} {name}", mistakes.near(name, known)
    for name in rule.answers:
        if name not in names.questions:
            yield (*at, "answers", name), f"there is no question {name}", mistakes.near(name, names.questions)
    if rule.procedure and rule.procedure not in names.procedures:
        hint = mistakes.near(rule.procedure, names.procedures)
        yield (*at, "procedure"), f"there is no procedure {rule.procedure}", hint


def _conditions(at: _Steps, rule: Rule | Factor) -> Iterator[tuple[_Steps, str, str]]:
    for number, when in enumerate(rule.when):
        yield from _condition((*at, "when", number), when)


def _condition(at: _Steps, when: When) -> Iterator[tuple[_Steps, str, str]]:
    for field, words in _WORDS.items():
        for number, word in enumerate(getattr(when, field)):
            if word not in words:
                yield (*at, field, number), f"there is no {word!r} of {field}", mistakes.near(word, words)
    for field in ("kinds", "paths", "values", "files", "names", "before", "after"):
        for number, text in enumerate(getattr(when, field)):
            if isinstance(text, str) and len(_STARS.findall(text)) > _MANY_STARS:
                hint = f"Write two that have at most {_MANY_STARS}."
                yield (*at, field, number), "there are more stars in it than can be tried in time", hint
    for number, kind in enumerate(when.kinds):
        if kind.count("/") != 1:
            hint = f"Write */{kind} for any group, /{kind} for Kubernetes' own." if "/" not in kind else ""
            yield (*at, "kinds", number), f"{kind!r} is no kind", hint or "Write group/Kind, without a version."
    for field in ("paths", "values"):
        for number, text in enumerate(getattr(when, field)):
            try:
                patterns.split(text)
            except ValueError as error:
                hint = "Write such as spec.template.*.image; a step with a dot in it in double quotes."
                yield (*at, field, number), f"{text!r} is no way to a field: {error}", hint
    if when.whole and (when.paths or when.values or when.bump or when.grows is not None):
        yield (*at, "whole"), "an object as a whole has no path, value or version", "Leave one of them out."


def _procedure(at: _Steps, procedure: Procedure, names: Names) -> Iterator[tuple[_Steps, str, str]]:
    others = [each for each in names.procedures if each != procedure.id]
    for field in ("like", "covers"):
        for number, name in enumerate(getattr(procedure, field)):
            if name not in others:
                yield (*at, field, number), f"there is no other procedure {name}", mistakes.near(name, others)
    for field in ("steps", "rollback"):
        for number, step in enumerate(getattr(procedure, field)):
            yield from _step((*at, field, number), step)


def _step(at: _Steps, step: Step) -> Iterator[tuple[_Steps, str, str]]:
    known = (*PLACEHOLDERS[""], *(PLACEHOLDERS[step.each] if step.each else ()))
    for field in ("text", "command"):
        for name in (match["name"] for match in PLACEHOLDER.finditer(getattr(step, field))):
            if name not in known:
                hint = f"There is {mistakes.either(known)}{f' for each {step.each}' if step.each else ''}."
                yield (*at, field), f"{{{name}}} stands for nothing", hint
    if "\n" in step.command.strip():
        yield (*at, "command"), "a command is one line", "Write two steps."


def _tree(at: _Steps, tree: Tree) -> Iterator[tuple[_Steps, str, str]]:
    ids = [each.id for each in tree.questions]
    if not ids:
        yield at, f"the tree {tree.id} asks nothing", "Write questions:."
    for number, question in enumerate(tree.questions):
        # Only forwards, so that every way ends.
        later = ids[number + 1 :]
        for field, name in (("ifYes", question.if_yes), ("ifNo", question.if_no)):
            if name not in later and name not in _SIDES:
                hint = f"Write the id of a later question, or {mistakes.either(_SIDES)}."
                yield (*at, "questions", number, field), f"{name!r} leads nowhere", hint
