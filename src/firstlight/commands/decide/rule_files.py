"""Files with rules in, the book out: ours, and before them a team's."""

import functools
import importlib.resources
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from firstlight.commands.decide.rule_book import RuleBook
from firstlight.commands.decide.rule_form import (
    PLACEHOLDER,
    PLACEHOLDERS,
    DecisionRule,
    DecisionTree,
    FactorForm,
    Procedure,
    RuleFile,
    StepForm,
    When,
)
from firstlight.commands.decide.rule_tests import RuleCaseFile
from firstlight.document import mistakes, path_patterns
from firstlight.document.mistakes import FormMistakes, parsed
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.change import ChangeVerb, Matter
from firstlight.model.component import Owner, Phase, Side
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place

_PACKAGE = "firstlight.commands.decide"
_Read = tuple[RuleFile, YamlDocument]


def book(files: Sequence[tuple[str, bytes]] = ()) -> RuleBook:
    """Our rules and a team's, which come first; files are given with their paths.

    Raises:
        Mistaken: A team's file says something that it must not say; everything that is wrong is said at once.
    """
    return _joined(_read(files, known=[each for each, _ in _ours()]), _ours()) if files else _our_book()


def alone(files: Sequence[tuple[str, bytes]]) -> RuleBook:
    """A book of these files in place of ours.

    Raises:
        Mistaken: Something is wrong with one of them.
    """
    return _joined((), _read(files, known=()))


def our_files() -> list[tuple[str, bytes]]:
    """Our own files, with their paths."""
    root = importlib.resources.files(_PACKAGE).joinpath("rules")
    names = sorted(each.name for each in root.iterdir() if each.name.endswith(".yaml"))
    return [(f"rules/{name}", root.joinpath(name).read_bytes()) for name in names]


def rule_schema() -> dict[str, Any]:
    """The JSON Schema of a file with rules."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(RuleFile)}


def case_schema() -> dict[str, Any]:
    """The JSON Schema of a file with tests of rules."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(RuleCaseFile)}


def _read(
    files: Iterable[tuple[str, bytes]], *, known: Sequence[RuleFile], is_proved: bool = True
) -> tuple[_Read, ...]:
    """Files in the order of their paths, if nothing is wrong with any of them."""
    read: list[_Read] = []
    diagnostics: list[Diagnostic] = []
    for path, data in sorted(files):
        try:
            read.append(parsed(data, path, RuleFile))
        except FormMistakes as mistaken:
            diagnostics += mistaken.diagnostics
    if is_proved:
        diagnostics += _problems(read, known)
    if diagnostics:
        raise FormMistakes(diagnostics)
    return tuple(read)


def _problems(read: Sequence[_Read], known: Sequence[RuleFile]) -> Iterator[Diagnostic]:
    names = KnownNames([*known, *(each for each, _ in read)])
    for file, document in read:
        yield from problems(file, document, names)
    yield from doubles(read)


@functools.cache
def _ours() -> tuple[_Read, ...]:
    # A test has proved them.
    return _read(our_files(), known=(), is_proved=False)


@functools.cache
def _our_book() -> RuleBook:
    return _joined((), _ours())


def _joined(own: Sequence[_Read], ours: Sequence[_Read]) -> RuleBook:
    everything = [*own, *ours]

    def all_of(section: Callable[[RuleFile], Iterable[Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for file, _ in everything:
            for each in section(file):
                found.setdefault(each.id, each)
        return found

    places: dict[str, Callable[[], Place]] = {}
    for file, document in everything:
        for section in ("rules", "factors"):
            for number, each in enumerate(getattr(file, section)):
                places.setdefault(each.id, functools.partial(document.place, section, number))
    return RuleBook(
        rules=tuple(all_of(lambda file: file.rules).values()),
        factors=tuple(all_of(lambda file: file.factors).values()),
        trees=tuple(all_of(lambda file: file.trees).values()),
        criteria=all_of(lambda file: file.criteria),
        procedures=all_of(lambda file: file.procedures),
        checks=tuple(all_of(lambda file: file.checks).values()),
        places=_Places(places),
        own=frozenset(each.id for file, _ in own for each in file.rules),
        synonyms=_merged(file.synonyms for file, _ in everything),
        examples=_merged(file.examples for file, _ in everything),
    )


def _merged(tables: Iterable[Mapping[str, Sequence[str]]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for table in tables:
        for word, others in table.items():
            found.setdefault(word.lower(), []).extend(each.lower() for each in others)
    return found


class _Places(Mapping[str, Place]):
    """Where things are written; only looked up when somebody asks, since a text must be parsed again for it."""

    def __init__(self, lookups: Mapping[str, Callable[[], Place]]) -> None:
        self._lookups = lookups

    def __getitem__(self, name: str) -> Place:
        return self._lookups[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._lookups)

    def __len__(self) -> int:
        return len(self._lookups)


# What the form of a file with rules cannot say: whether its words, patterns and names mean something.


_ID = re.compile(r"[a-z0-9]+(?:[-.][a-z0-9]+)*")
_STARS = re.compile(r"\*+")
_MANY_STARS = 6
"""Each one more makes a pattern slower by as much as a way has steps."""
_WORDS: Mapping[str, tuple[str, ...]] = {
    "matter": tuple(Matter),
    "verb": tuple(ChangeVerb),
    "phases": tuple(Phase),
    "owners": tuple(Owner),
}
_SIDES = tuple(Side)
_SECTIONS = ("rules", "factors", "criteria", "procedures", "checks", "trees")
_Steps = tuple[str | int, ...]
_Mistake = tuple[str, _Steps, str, str]
"""A code, the way to what is wrong, what is wrong, and what to write instead."""


class KnownNames:
    """What rules can name: ids of all files together."""

    def __init__(self, files: Iterable[RuleFile]) -> None:
        known = tuple(files)
        self.criteria = [each.id for file in known for each in file.criteria]
        self.procedures = [each.id for file in known for each in file.procedures]
        self.checks = [each.id for file in known for each in file.checks]
        self.questions = [each.id for file in known for tree in file.trees for each in tree.questions]


def problems(file: RuleFile, document: YamlDocument, names: KnownNames) -> Iterator[Diagnostic]:
    """Everything that is wrong in a file whose form is right."""
    for code, steps, message, fix in _found(file, names):
        yield Diagnostic.error(code, message, at=document.place(*steps), fix=fix)


def doubles(files: Iterable[tuple[RuleFile, YamlDocument]]) -> Iterator[Diagnostic]:
    """Ids that stand in two files."""
    first: dict[tuple[str, str], YamlDocument] = {}
    for file, document in files:
        for section in _SECTIONS:
            for number, each in enumerate(getattr(file, section)):
                other = first.setdefault((section, each.id), document)
                if other is not document:
                    message = f"the id {each.id} stands in {other.path} as well"
                    yield Diagnostic.error(
                        "rule-id-twice", message, at=document.place(section, number, "id"), fix="Give one another id."
                    )


def _found(file: RuleFile, names: KnownNames) -> Iterator[_Mistake]:
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


def _ids(section: str, ids: Sequence[str]) -> Iterator[_Mistake]:
    for number, name in enumerate(ids):
        if not _ID.fullmatch(name):
            yield (
                "field-name-wrong",
                (section, number, "id"),
                f"{name[:60]!r} is no id",
                "Write lower-case letters, digits and hyphens.",
            )
        if name in ids[:number]:
            yield (
                "rule-id-twice",
                (section, number, "id"),
                f"there are two with the id {name}",
                "Give one of them another.",
            )


def _rule(at: _Steps, rule: DecisionRule, names: KnownNames) -> Iterator[_Mistake]:
    if not rule.when and not rule.words:
        yield "rule-never-fits", at, f"nothing leads to the rule {rule.id}", "Write when: or words:."
    yield from _conditions(at, rule)
    for field, word, known in (("criteria", "criterion", names.criteria), ("checks", "check", names.checks)):
        for number, name in enumerate(getattr(rule, field)):
            if name not in known:
                yield (
                    "rule-name-unknown",
                    (*at, field, number),
                    f"there is no {word} {name}",
                    mistakes.near(name, known),
                )
    for name in rule.answers:
        if name not in names.questions:
            yield (
                "rule-name-unknown",
                (*at, "answers", name),
                f"there is no question {name}",
                mistakes.near(name, names.questions),
            )
    if rule.procedure and rule.procedure not in names.procedures:
        hint = mistakes.near(rule.procedure, names.procedures)
        yield "rule-name-unknown", (*at, "procedure"), f"there is no procedure {rule.procedure}", hint


def _conditions(at: _Steps, rule: DecisionRule | FactorForm) -> Iterator[_Mistake]:
    for number, when in enumerate(rule.when):
        yield from _condition((*at, "when", number), when)


def _condition(at: _Steps, when: When) -> Iterator[_Mistake]:
    for field, words in _WORDS.items():
        for number, word in enumerate(getattr(when, field)):
            if word not in words:
                yield (
                    "rule-name-unknown",
                    (*at, field, number),
                    f"there is no {word!r} of {field}",
                    mistakes.near(word, words),
                )
    for field in ("kinds", "paths", "values", "files", "names", "before", "after"):
        for number, text in enumerate(getattr(when, field)):
            if isinstance(text, str) and len(_STARS.findall(text)) > _MANY_STARS:
                hint = f"Write two that have at most {_MANY_STARS}."
                yield (
                    "rule-pattern-too-slow",
                    (*at, field, number),
                    "there are more stars in it than can be tried in time",
                    hint,
                )
    for number, kind in enumerate(when.kinds):
        if kind.count("/") != 1:
            hint = f"Write */{kind} for any group, /{kind} for Kubernetes' own." if "/" not in kind else ""
            yield (
                "rule-kind-wrong",
                (*at, "kinds", number),
                f"{kind!r} is no kind",
                hint or "Write group/Kind, without a version.",
            )
    for field in ("paths", "values"):
        for number, text in enumerate(getattr(when, field)):
            try:
                path_patterns.split(text)
            except ValueError as error:
                hint = "Write such as spec.template.*.image; a step with a dot in it in double quotes."
                yield "rule-path-wrong", (*at, field, number), f"{text!r} is no way to a field: {error}", hint
    if when.whole and (when.paths or when.values or when.bump or when.grows is not None):
        yield (
            "rule-whole-with-fields",
            (*at, "whole"),
            "an object as a whole has no path, value or version",
            "Leave one of them out.",
        )


def _procedure(at: _Steps, procedure: Procedure, names: KnownNames) -> Iterator[_Mistake]:
    others = [each for each in names.procedures if each != procedure.id]
    for field in ("like", "covers"):
        for number, name in enumerate(getattr(procedure, field)):
            if name not in others:
                yield (
                    "rule-name-unknown",
                    (*at, field, number),
                    f"there is no other procedure {name}",
                    mistakes.near(name, others),
                )
    for field in ("steps", "rollback"):
        for number, step in enumerate(getattr(procedure, field)):
            yield from _step((*at, field, number), step)


def _step(at: _Steps, step: StepForm) -> Iterator[_Mistake]:
    known = (*PLACEHOLDERS[""], *(PLACEHOLDERS[step.each] if step.each else ()))
    for field in ("text", "command"):
        for name in (match["name"] for match in PLACEHOLDER.finditer(getattr(step, field))):
            if name not in known:
                hint = f"There is {mistakes.either(known)}{f' for each {step.each}' if step.each else ''}."
                yield "rule-placeholder-unknown", (*at, field), f"{{{name}}} stands for nothing", hint
    if "\n" in step.command.strip():
        yield "procedure-command-wrong", (*at, "command"), "a command is one line", "Write two steps."


def _tree(at: _Steps, tree: DecisionTree) -> Iterator[_Mistake]:
    ids = [each.id for each in tree.questions]
    if not ids:
        yield "decision-tree-empty", at, f"the tree {tree.id} asks nothing", "Write questions:."
    for number, question in enumerate(tree.questions):
        # Only forwards, so that every way ends.
        later = ids[number + 1 :]
        for field, name in (("ifYes", question.if_yes), ("ifNo", question.if_no)):
            if name not in later and name not in _SIDES:
                hint = f"Write the id of a later question, or {mistakes.either(_SIDES)}."
                yield "decision-tree-answer-wrong", (*at, "questions", number, field), f"{name!r} leads nowhere", hint
