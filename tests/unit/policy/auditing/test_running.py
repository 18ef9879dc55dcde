"""What becomes of what rules find."""

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

from firstlight.model.finding import Evidence, Finding
from firstlight.model.place import Place
from firstlight.policy.auditing import loading, running
from firstlight.policy.auditing.form import Rule
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene
from firstlight.repo import platform as platforms
from firstlight.repo.work_tree import WorkTree

RULE = Rule(id="one", title="t", group="g", severity="error", why="w", fix="f")


def found(tmp_path: Path, *hits: Hit) -> list[Finding]:
    def check(scene: Scene) -> Iterator[Hit]:
        yield from hits

    tree = WorkTree(tmp_path)
    scene = Scene(platform=platforms.read_tree(tree), files=tree, today=datetime.date(2026, 11, 1))
    return running.findings(scene, loading.book(packaged=[loading.PackagedRule(RULE, check)]), only=["one"])


def test_passwords_of_urls_are_nowhere_in_a_finding(tmp_path: Path) -> None:
    url = "https://me:canary@git.example.org/x"
    hit = Hit(message=f"no {url}", place=Place("a.yaml", 1), evidence=(Evidence(url),), fix=f"not {url}", key=url)
    (one,) = found(tmp_path, hit)
    assert "canary" not in repr(one)
    assert one.message == "no https://git.example.org/x"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a is given twice, first in line 170; the last counts", "a is given twice, first in line 9; the last counts"),
        ("there is another at a/b.yaml:14: one of them wins", "there is another at a/b.yaml:150:3: one of them wins"),
    ],
)
def test_a_finding_is_the_same_when_lines_have_moved(tmp_path: Path, before: str, after: str) -> None:
    (one,) = found(tmp_path, Hit(message=before, place=Place("a.yaml", 1)))
    (two,) = found(tmp_path, Hit(message=after, place=Place("a.yaml", 5)))
    assert one.key == two.key
    (other,) = found(tmp_path, Hit(message=before.replace("a", "b"), place=Place("a.yaml", 1)))
    assert one.key != other.key
