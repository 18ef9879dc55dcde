"""A team's tests of its audit rules, each run over the repo that it makes up."""

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients import scratch
from firstlight.model.component import ObjectId
from firstlight.model.rule_card import RuleTest
from firstlight.operate.auditing import fixing, team_rules
from firstlight.policy.auditing import running, testing
from firstlight.policy.auditing.loading import Book
from firstlight.policy.auditing.scene import Live, Scene
from firstlight.policy.auditing.testing import Case
from firstlight.repo import clear_secrets
from firstlight.repo import platform as platforms
from firstlight.repo.overlaid import OverlaidTree
from firstlight.repo.work_tree import WorkTree


def tested(tree: WorkTree) -> tuple[RuleTest, ...]:
    """A team's tests, run.

    Raises:
        errors.ConfigError: A file says something that it must not say.
    """
    book = team_rules.book(tree)
    files = [each for each in team_rules.of_tree(tree) if each[0].endswith(team_rules.TESTS)]
    with scratch.directory("audit") as directory:
        empty = WorkTree(Path(directory))
        return tuple(
            RuleTest(name=each.case.name, place=str(each.place), wrong=_wrong(each.case, book, empty))
            for each in testing.cases(files, book)
        )


def _wrong(case: Case, book: Book, empty: WorkTree) -> tuple[str, ...]:
    tree = OverlaidTree(empty, {path: text.encode() for path, text in case.files.items()})
    try:
        today = datetime.date.fromisoformat(case.today) if case.today else datetime.datetime.now().astimezone().date()
        scene = Scene(
            platform=platforms.read_tree(tree),
            files=tree,
            today=today,
            clear_secrets=clear_secrets.found(tree),
            live={name: _live(objects) for name, objects in case.live.items()},
        )
        found = running.findings(scene, book, only=[case.rule])
    except errors.FirstlightError as error:
        return (error.message,)
    except Exception as error:  # noqa: BLE001 - a rule may be a team's own function
        return (f"the rule broke down: {type(error).__name__}: {error}",)
    made = fixing.patch(tree, found)
    edited = {path: (data or b"").decode() for path, data in made.after.items()}
    return tuple(testing.wrong(case, found, edited))


def _live(objects: Sequence[Mapping[str, Any]]) -> Live:
    found: dict[tuple[str, str], tuple[Mapping[str, Any], ...]] = {}
    for each in objects:
        named = ObjectId.of(each)
        key = named.group, named.kind
        found[key] = (*found.get(key, ()), each)
    return Live(objects=found)
