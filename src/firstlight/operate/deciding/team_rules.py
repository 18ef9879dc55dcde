"""A team's own rules and their tests: those of the repo, and those that are named besides."""

import posixpath
from collections.abc import Iterator, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.model.rule_card import RuleTest
from firstlight.operate import team_links
from firstlight.policy import team_files
from firstlight.policy.checking import owners
from firstlight.policy.deciding import loading, testing
from firstlight.policy.deciding.book import Book
from firstlight.repo.work_tree import YAML, WorkTree

DIRECTORY = team_files.DIRECTORY
TESTS = (".test.yaml", ".test.yml")
_UNREAD = f"{DIRECTORY}/owners.yml"

File = tuple[str, bytes]


def book(tree: WorkTree | None, more: Sequence[Path] = ()) -> Book:
    """Our rules, and before them a team's.

    Args:
        tree: The repo as it was before the change, which must not judge itself.
        more: Files and directories with rules besides.

    Raises:
        errors.ConfigError: A file says something that it must not say.
    """
    if tree is not None and tree.is_file(_UNREAD):
        hint = f"Give it that name: git mv {_UNREAD} {owners.FILE}"
        raise errors.ConfigError(f"who may approve is read from {owners.FILE} alone", path=_UNREAD, hint=hint)
    if tree is not None:
        team_links.check(tree)
    found = [*(_of_tree(tree) if tree is not None else ()), *given(more)]
    return loading.book([each for each in found if _is_rules(each[0])])


def cases(tree: WorkTree, more: Sequence[Path]) -> list[File]:
    """The files with tests of rules."""
    return [each for each in [*_of_tree(tree), *given(more)] if each[0].endswith(TESTS)]


def tested(tree: WorkTree, more: Sequence[Path]) -> tuple[RuleTest, ...]:
    """A team's tests of its rules, run.

    Raises:
        errors.ConfigError: A file says something that it must not say.
    """
    done = testing.run(testing.cases(cases(tree, more)), book(tree, more))
    return tuple(RuleTest(name=each.case.name, place=str(each.place), wrong=each.wrong) for each in done)


def given(paths: Sequence[Path]) -> list[File]:
    """The YAML files that are named, or are in directories that are named.

    Raises:
        errors.UsageError: One cannot be read.
    """
    found = []
    for path in paths:
        inner = sorted(each for each in path.iterdir() if each.name.endswith(YAML)) if path.is_dir() else [path]
        for each in inner:
            try:
                found.append((str(each), each.read_bytes()))
            except OSError as error:
                raise errors.UsageError(f"{each} cannot be read: {error.strerror or error}") from error
    return found


def _of_tree(tree: WorkTree) -> Iterator[File]:
    for name in tree.listing(DIRECTORY):
        path = f"{DIRECTORY}/{name}"
        content = tree.bytes(path) if name.endswith(YAML) else None
        if content is not None:
            yield path, content


def _is_rules(path: str) -> bool:
    """Whether a file has rules: those that say who may approve, or when a drill was, have none."""
    others = {posixpath.basename(each) for each in team_files.WITHOUT_RULES}
    return not path.endswith(TESTS) and posixpath.basename(path) not in others
