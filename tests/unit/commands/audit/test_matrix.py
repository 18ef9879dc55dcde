"""Patterns against clusters."""

import datetime
import re
from pathlib import Path

import pytest

from firstlight.commands.audit import matrix, rulebook
from firstlight.commands.audit.rule_form import AuditPattern
from firstlight.document import yaml_reader
from firstlight.model.diagnostic import Severity
from firstlight.model.finding import Finding, MatrixCell, PatternStanding
from firstlight.model.place import Place
from firstlight.repo import platform_reader
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.platform_view import PlatformView
from firstlight.repo.work_tree import WorkTree

SCENARIOS = Path(__file__).parents[3] / "scenarios" / "audit"
DOCUMENTED = (
    "crds-first", "bootstrap-declared", "dependencies-explicit", "engine-hooked", "cluster-values", "storage-on-infra",
    "day-two-by-gitops", "mesh-by-gitops", "pod-ranges-agree",
)  # fmt: skip
"""The nine rows of the comparison that was made by hand, in their order."""


def scene(tmp_path: Path, name: str, **more: str) -> PlatformView:
    file = SCENARIOS / "repos" / f"{name}.yaml"
    files = {**yaml_reader.read(file.read_bytes(), file.name).documents[0].value, **more}
    tree = OverlaidTree(WorkTree(tmp_path), {path: text.encode() for path, text in files.items()})
    return PlatformView(platform=platform_reader.read_tree(tree), files=tree, today=datetime.date(2026, 11, 1))


def cell(tmp_path: Path, pattern: AuditPattern, *found: Finding, tried: tuple[str, ...] = ("one",)) -> MatrixCell:
    book = rulebook.AuditRulebook(rules={}, patterns=(pattern,))
    drawn = matrix.matrix(scene(tmp_path, "gitops-flux"), book, found, tried=tried, clusters=["home"])
    assert drawn.columns[0] == "home"
    return drawn.rows[0].cells[0]


def finding(*clusters: str, rule: str = "one") -> Finding:
    return Finding(code=rule, severity=Severity.ERROR, message="it is so", places=(Place("a"),), clusters=clusters)


PATTERN = AuditPattern(id="p", title="P", rules=("zero", "one"))


def test_a_cluster_breaks_what_one_of_the_rules_finds_in_it(tmp_path: Path) -> None:
    found = cell(tmp_path, PATTERN, finding("home"))

    assert (found.standing, found.why, found.rules) == (PatternStanding.BREAKS, "it is so", ("one",))
    assert cell(tmp_path, PATTERN, finding()).standing is PatternStanding.BREAKS


def test_it_follows_what_others_break(tmp_path: Path) -> None:
    assert cell(tmp_path, PATTERN, finding("other"), finding("home", rule="two")).standing is PatternStanding.FOLLOWS


def test_nobody_knows_what_no_rule_has_looked_for(tmp_path: Path) -> None:
    assert cell(tmp_path, PATTERN, tried=("two",)).standing is PatternStanding.UNKNOWN
    assert (
        cell(tmp_path, AuditPattern(id="p", title="P", rules=("one",), applies="nonsense")).standing
        is PatternStanding.UNKNOWN
    )


def test_a_pattern_that_cannot_apply_is_not_applicable_whatever_is_found(tmp_path: Path) -> None:
    pattern = AuditPattern(id="p", title="P", rules=("one",), applies="several_clusters")

    found = cell(tmp_path, pattern, finding())

    assert (found.standing, found.why) == (PatternStanding.NOT_APPLICABLE, "there is one cluster")


def test_references_come_last_and_are_unknown_where_they_are_not_declared(tmp_path: Path) -> None:
    patterns = (
        AuditPattern(id="p", title="P", rules=("one",), references={"theirs": "n/a"}),
        AuditPattern(id="q", title="Q", rules=("one",)),
    )
    book = rulebook.AuditRulebook(rules={}, patterns=patterns)

    drawn = matrix.matrix(scene(tmp_path, "gitops-flux"), book, [], tried=["one"], clusters=["home"])

    assert (drawn.columns, drawn.references) == (("home", "theirs"), 1)
    assert [row.cells[1].standing for row in drawn.rows] == [PatternStanding.NOT_APPLICABLE, PatternStanding.UNKNOWN]


@pytest.mark.parametrize(
    ("repo", "cluster", "answers"),
    [
        ("gitops-flux", "home", {"flux": True, "argocd": False, "gitops": True, "bootstrap": None, "talos": None}),
        (
            "gitops-flux",
            "home",
            {"cilium": None, "storage": False, "mesh": False, "load_balancers": False, "data": None},
        ),
        ("helmfile-flux", "lab", {"bootstrap": True, "crds": True, "talos": True, "several_clusters": False}),
        ("helmfile-flux", "lab", {"cilium": True, "talos_and_cilium": True, "data": True, "identity": False}),
    ],
)
def test_conditions(tmp_path: Path, repo: str, cluster: str, answers: dict[str, bool | None]) -> None:
    look = scene(tmp_path, repo)

    assert {name: matrix.applicability(name, look, cluster).can_apply for name in answers} == answers


def test_conditions_between_clusters(tmp_path: Path) -> None:
    look = scene(tmp_path, "mesh")
    names = [each.name for each in look.clusters]

    assert len(names) > 1
    for name in ("several_clusters", "mesh", "identity"):
        assert {each: matrix.applicability(name, look, each).can_apply for each in names} == dict.fromkeys(names, True)


def test_a_condition_that_says_no_says_why(tmp_path: Path) -> None:
    for repo in ("gitops-flux", "helmfile-flux", "mesh"):
        look = scene(tmp_path, repo)
        for name in matrix.CONDITIONS:
            for cluster in look.clusters:
                found = matrix.applicability(name, look, cluster.name)
                assert bool(found.why) == (found.can_apply is not True), name


def test_our_patterns_name_rules_and_conditions_that_exist() -> None:
    book = rulebook.read_rulebook()
    for each in book.patterns:
        assert set(each.rules) <= set(book.rules), each.id
        assert not each.applies or each.applies in matrix.CONDITIONS, each.id
        assert each.why
        assert re.fullmatch(r"[^.]{3,60}", each.title)


def test_our_patterns_begin_with_those_of_the_comparison_by_hand() -> None:
    book = rulebook.read_rulebook()

    assert tuple(each.id for each in book.patterns[: len(DOCUMENTED)]) == DOCUMENTED
    assert len(book.patterns) >= len(DOCUMENTED) + 15
    by_id = {each.id: each for each in book.patterns}
    # The references have one cluster each: there is nothing to connect, and nothing to share.
    for name in ("cluster-values", "storage-on-infra", "mesh-by-gitops"):
        assert set(by_id[name].references.values()) == {"n/a"}
