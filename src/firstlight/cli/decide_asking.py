"""``firstlight decide --ask``: the decision trees, question by question, in the terminal."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight import errors
from firstlight.cli import output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firstlight.model.decision import TreePath
    from firstlight.policy.deciding.book import Book
    from firstlight.policy.deciding.tree_form import Question


_ANSWERS = {"y": True, "yes": True, "n": False, "no": False}


def ask(top: Path, rules: "Sequence[Path]", form: str) -> int:
    """Ask, and say where the answers lead.

    Raises:
        errors.UsageError: Nobody is there to answer.
    """
    if not sys.stdin.isatty():
        raise errors.UsageError(
            "--ask needs a terminal, since it asks questions",
            hint="Say it in words: firstlight decide add node labels; or give a change: --diff main...HEAD",
        )
    from firstlight.operate.deciding import team_rules
    from firstlight.repo.work_tree import WorkTree
    from firstlight.report import table, tree_path

    book = team_rules.book(WorkTree(top), rules)
    paths = _walked(book)
    if form == "json":
        output.write_json(tree_path.data(paths))
    else:
        click.echo("", err=True)
        print(tree_path.text(paths, _reasons(book, tree_path.side(paths)), columns=table.terminal_columns()))
    return 0


def _walked(book: "Book") -> "tuple[TreePath, ...]":
    """The way through each tree; what one has asked the next one knows."""
    from firstlight.model.component import Side
    from firstlight.policy.deciding import trees

    answers: dict[str, bool] = {}
    paths = []
    for tree in sorted(book.trees, key=lambda each: len(each.questions), reverse=True):
        while not isinstance(asked := trees.question(tree, answers), Side):
            answers[asked.id] = _answer(len(answers) + 1, asked)
        paths.append(trees.walk(tree, answers))
    return tuple(paths)


def _answer(number: int, question: "Question") -> bool:
    """Yes or no; what is usual is answered by the return key alone.

    Raises:
        errors.UsageError: There are no more answers.
    """
    from firstlight.report import decision_words, table

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


def _reasons(book: "Book", side: str) -> tuple[str, ...]:
    """What the documents name as reasons for a side."""
    from firstlight.policy.deciding import wording

    return tuple(wording.criterion(each) for each in book.criteria.values() if each.side == side)
