"""``firstlight decide --ask``: the decision trees, question by question, in the terminal."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import output
from firstlight.commands.decide import data, rule_wording, sides, team_rules
from firstlight.commands.decide.output_form import TreesData
from firstlight.commands.decide.rule_book import RuleBook
from firstlight.commands.decide.rule_form import TreeQuestion
from firstlight.drawing import decision_words, table
from firstlight.model.component import Side
from firstlight.model.decision import TreePath
from firstlight.repo.work_tree import WorkTree

_ANSWERS = {"y": True, "yes": True, "n": False, "no": False}


def ask(top: Path, rules: Sequence[Path], form: str) -> int:
    """Ask, and say where the answers lead.

    Raises:
        errors.UsageError: Nobody is there to answer.
    """
    if not sys.stdin.isatty():
        raise errors.UsageError(
            "--ask needs a terminal, since it asks questions",
            hint="Say it in words: firstlight decide add node labels; or give a change: --diff main...HEAD",
        )

    book = team_rules.book(WorkTree(top), rules)
    paths = _walked(book)
    if form == "json":
        output.write_json(trees_data(paths))
    else:
        click.echo("", err=True)
        print(trees_text(paths, _reasons(book, trees_side(paths)), columns=table.terminal_columns()))
    return 0


def _walked(book: RuleBook) -> tuple[TreePath, ...]:
    """The way through each tree; what one has asked the next one knows."""
    answers: dict[str, bool] = {}
    paths = []
    for tree in sorted(book.trees, key=lambda each: len(each.questions), reverse=True):
        while not isinstance(asked := sides.next_question(tree, answers), Side):
            answers[asked.id] = _answer(len(answers) + 1, asked)
        paths.append(sides.walk_tree(tree, answers))
    return tuple(paths)


def _answer(number: int, question: TreeQuestion) -> bool:
    """Yes or no; what is usual is answered by the return key alone.

    Raises:
        errors.UsageError: There are no more answers.
    """
    columns = table.terminal_columns()
    for place, said in ((f"{number}  ", question.text), ("   ", question.help)):
        for line in table.wrap(decision_words.plain(said), columns - 3) if said else ():
            click.echo(f"{place}{line}", err=True)
            place = "   "
    usual = {None: "", True: ", return for yes", False: ", return for no"}[question.usually]
    while True:
        click.echo(f"   yes or no{usual}: ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            click.echo("", err=True)
            raise errors.UsageError("not all questions were answered, so there is no answer")
        typed = line.strip().lower()
        if not typed and question.usually is not None:
            return question.usually
        if typed and typed in _ANSWERS:
            return _ANSWERS[typed]
        click.echo("   Type y or n.", err=True)


def _reasons(book: RuleBook, side: str) -> tuple[str, ...]:
    """What the documents name as reasons for a side."""
    return tuple(rule_wording.criterion(each) for each in book.criteria.values() if each.side == side)


# Where answers lead in the decision trees, as text and as data.


def trees_side(paths: Sequence[TreePath]) -> Side:
    """The answer of all trees together: where they differ, the one that asks for more care."""
    found = {each.side for each in paths}
    return found.pop() if len(found) == 1 else Side.BOOTSTRAP


def trees_text(paths: Sequence[TreePath], reasons: Sequence[str] = (), *, columns: int) -> str:
    """The answer, the way to it, and what it does not know.

    Args:
        paths: The ways through the trees.
        reasons: What the documents name for this side.
        columns: How wide the terminal is.
    """
    lines = [str(trees_side(paths))]
    lines += decision_words.block("why", [f"{each.tree}: {decision_words.way(each)}" for each in paths], columns)
    if len({each.side for each in paths}) > 1:
        said = "The trees differ. Until somebody knows better it is treated as bootstrap, which asks for more care."
        lines += decision_words.block("but", [said], columns)
    lines += decision_words.block("fits if", reasons, columns)
    said = "Trees know no tables: a node label ends as gitops here, and belongs to bootstrap. Say what it is, and the "
    lines += decision_words.block("next", [f"{said}rules answer: firstlight decide add node labels"], columns)
    return "\n".join(lines)


def trees_data(paths: Sequence[TreePath]) -> TreesData:
    """The same for programs."""
    return {
        "side": trees_side(paths),
        "agree": len({each.side for each in paths}) == 1,
        "trees": [data.tree(each) for each in paths],
    }
