"""Comments that excuse findings."""

import datetime
import time
from pathlib import Path

import pytest

from firstlight.commands.audit import excuses
from firstlight.model.finding import Excuse, Finding
from firstlight.model.place import Place
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.work_tree import WorkTree

TODAY = datetime.date(2026, 11, 1)
GOOD = "firstlight: ignore one until 2026-11-01: it is known"


def tree(tmp_path: Path, text: str, path: str = "a.yaml") -> WorkTree:
    return OverlaidTree(WorkTree(tmp_path), {path: text.encode()})


def left(tmp_path: Path, text: str, *places: Place, rule: str = "one") -> list[int]:
    """Lines whose findings are left."""
    found = [Finding.error(rule, "m", at=each) for each in places]
    outcome = excuses.excused(found, excuses.ignores(tree(tmp_path, text)), today=TODAY)
    return [each.place.line for each in outcome.findings]


LINES = [Place("a.yaml", number) for number in range(1, 5)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (f"a: 1  # {GOOD}\nb: 2\nc: 3\nd: 4\n", [2, 3, 4]),
        (f"# {GOOD}\nb: 2\nc: 3\nd: 4\n", [3, 4]),
        (f"# {GOOD}\n# and another comment\n\nd: 4\n", []),
        (f"a: 1\n  // {GOOD}\nc: 3\nd: 4\n", [1, 4]),
        (f"# {GOOD.replace('ignore', 'ignore-file')}\nb: 2\nc: 3\nd: 4\n", []),
        (f"#{GOOD.replace(': ignore', ':ignore')}\nb: 2\nc: 3\nd: 4\n", [3, 4]),
        (f"{{# {GOOD} #}}\nb: 2\nc: 3\nd: 4\n", [3, 4]),
        (f"  {{{{- /* {GOOD} */ -}}}}\n{{{{/* more */}}}}\nc: 3\nd: 4\n", [4]),
        (f"a: {{{{ one }}}} {{# {GOOD} #}}\nb: 2\nc: 3\nd: 4\n", [2, 3, 4]),
    ],
)
def test_a_comment_is_for_its_line_or_the_next_that_says_something(tmp_path: Path, text: str, lines: list[int]) -> None:
    assert left(tmp_path, text, *LINES) == lines


@pytest.mark.parametrize(
    "comment",
    [
        "firstlight: ignore one until 2026-10-31: too late",
        "firstlight: ignore one until 2026-13-31: no month",
        "firstlight: ignore one until 20271231: not so written",
        "firstlight: ignore one until 2026-12-31",
        "firstlight: ignore one until 2026-12-31:   ",
        "firstlight: ignore one: no end",
        "firstlight: ignore",
        "firstlight: ignore another until 2026-12-31: another rule",
    ],
)
def test_what_is_not_whole_excuses_nothing(tmp_path: Path, comment: str) -> None:
    assert left(tmp_path, f"a: 1  # {comment}\n", Place("a.yaml", 1)) == [1]


@pytest.mark.parametrize(
    "comment", ["# {}", "{{# {} #}}", "{{#- {} -#}}", "{{{{/* {} */}}}}", "<!-- {} -->", "/* {} */"]
)
def test_the_end_of_a_comment_is_no_part_of_the_reason(tmp_path: Path, comment: str) -> None:
    (found,) = excuses.ignores(tree(tmp_path, comment.format(GOOD)))
    assert (found.reason, found.problem, found.place.column) == ("it is known", "", 1)


def test_several_rules_are_named_at_once(tmp_path: Path) -> None:
    text = "a: 1  # firstlight: ignore zero, one until 2026-12-31: both are known\n"

    assert left(tmp_path, text, Place("a.yaml", 1)) == []


def test_a_whole_file_is_excused_in_its_first_lines_alone(tmp_path: Path) -> None:
    text = "a: 1\n" * 10 + f"# {GOOD.replace('ignore', 'ignore-file')}\n"

    assert left(tmp_path, text, Place("a.yaml", 1)) == [1]


def test_prose_excuses_nothing_and_is_not_wrong(tmp_path: Path) -> None:
    assert excuses.ignores(tree(tmp_path, "# firstlight: ignore\n", "README.md")) == ()


def test_what_is_excused_says_why_and_until_when(tmp_path: Path) -> None:
    finding = Finding.error("one", "m", at=Place("a.yaml", 1))

    (one,) = excuses.excused([finding], excuses.ignores(tree(tmp_path, f"a: 1  # {GOOD}\n")), today=TODAY).excused

    assert (one.by, one.reason, one.until) == (Excuse.INLINE, "it is known", "2026-11-01")
    assert str(one.place) == "a.yaml:1:7"


def test_nothing_excuses_what_is_said_of_excuses(tmp_path: Path) -> None:
    found = [Finding.error("one", "m", at=Place("a.yaml", 1))]
    given = excuses.ignores(tree(tmp_path, f"a: 1  # {GOOD}\n"))
    assert excuses.excused(found, given, today=TODAY).findings == ()
    assert list(excuses.excused(found, given, today=TODAY, never={"one"}).findings) == found


@pytest.mark.parametrize(
    "text", [f"# {GOOD}{' ' * 200_000}x", f"#{' ' * 200_000}x firstlight:", f"# {GOOD[:22]}{' ,a' * 50_000}!"]
)
def test_no_line_keeps_us_busy(tmp_path: Path, text: str) -> None:
    begun = time.process_time()
    excuses.ignores(tree(tmp_path, text))
    assert time.process_time() - begun < 2
