"""Every audit rule against a repo where it fires and one where it must not: tests/scenarios/audit, a file a rule.

fires:                       one repo, or a list of them
  files: {PATH: TEXT}
  live: {CLUSTER: [OBJECT]}  what the cluster answers, if it is asked
  git: {tracked: [PATH], untracked: [PATH], committed: {PATH: DATE}, modes: {PATH: 420}}
  finds: [{place: "PATH:LINE", says: part of the message, clusters: [NAME], severity: note}]
  fixed: {PATH: TEXT}        the files that the finding's edits change, as they are afterwards
quiet:                       the same without finds and fixed
"""

import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from firstlight.commands.audit import rulebook
from firstlight.document import yaml_reader
from firstlight.model.component import ObjectId
from firstlight.model.finding import Finding
from firstlight.model.incident import Incident
from firstlight.repo import overlaid_tree, platform_reader
from firstlight.repo.platform_view import LiveObjects, PlatformView
from firstlight.repo.secrecy import secret_search
from firstlight.repo.work_tree import WorkTree

SCENARIOS = Path(__file__).parents[3] / "scenarios" / "audit"
TODAY = datetime.date(2026, 11, 1)
NOON = datetime.datetime(2026, 11, 1, 12, tzinfo=datetime.UTC).timestamp()


def _cases(what: str) -> list[Any]:
    return list(_each_case(what))


def _each_case(what: str) -> Iterator[Any]:
    for file in sorted(SCENARIOS.glob("*.yaml")):
        (document,) = yaml_reader.read(file.read_bytes(), file.name).documents
        found = document.value.get(what) or []
        for number, repo in enumerate(found if isinstance(found, list) else [found]):
            yield pytest.param(file.stem, repo, id=f"{file.stem}-{number}" if number else file.stem)


def _scene(repo: Mapping[str, Any], root: Path) -> PlatformView:
    for path, text in _files(repo).items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    tree = WorkTree(root)
    git = repo.get("git") or {}
    return PlatformView(
        platform=platform_reader.read_tree(tree),
        files=tree,
        today=TODAY,
        tracked=frozenset(git["tracked"]) if "tracked" in git else None,
        untracked=tuple(git.get("untracked") or ()),
        ignored=tuple(git.get("ignored") or ()),
        modes=git.get("modes") or {},
        committed={path: datetime.date.fromisoformat(day) for path, day in (git.get("committed") or {}).items()},
        clear_secrets=secret_search.clear_secrets_of(tree),
        live={name: _live(objects) for name, objects in (repo.get("live") or {}).items()},
        incidents=tuple(map(_incident, repo.get("incidents") or ())),
    )


def _incident(given: Mapping[str, Any]) -> Incident:
    return Incident(
        id=given["id"], cluster=given["cluster"], day=datetime.datetime.strptime(given["id"][:8], "%Y%m%d").date(),
        path=f".firstlight/{given['cluster']}/incidents/{given['id']}.md", has_cause=given.get("cause", False),
        has_follow_ups=given.get("followUps", False),
    )  # fmt: skip


def _files(repo: Mapping[str, Any]) -> dict[str, str]:
    below: dict[str, str] = {}
    if "like" in repo:
        file = SCENARIOS / "repos" / f"{repo['like']}.yaml"
        below = yaml_reader.read(file.read_bytes(), file.name).documents[0].value
    return {path: text for path, text in {**below, **(repo.get("files") or {})}.items() if text is not None}


def _live(objects: list[Mapping[str, Any]]) -> LiveObjects:
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for each in objects:
        named = ObjectId.of(each)
        found.setdefault((named.group, named.kind), []).append(each)
    return LiveObjects(objects={key: tuple(each) for key, each in found.items()}, at=NOON)


def _findings(rule: str, repo: Mapping[str, Any], root: Path) -> list[Finding]:
    return rulebook.findings(_scene(repo, root), rulebook.read_rulebook(), only=[rule])


@pytest.mark.parametrize(("rule", "repo"), _cases("fires"))
def test_fires(rule: str, repo: Mapping[str, Any], tmp_path: Path) -> None:
    found = _findings(rule, repo, tmp_path)
    shown = [f"{each.place.path}:{each.place.line} {each.message}" for each in found]
    assert len(found) == len(repo["finds"]), shown
    for each, wanted in zip(sorted(found, key=lambda one: one.place), repo["finds"], strict=True):
        assert f"{each.place.path}:{each.place.line}" == wanted["place"], shown
        assert wanted["says"] in each.message, shown
        assert each.clusters == tuple(wanted.get("clusters", each.clusters)), shown
        assert wanted.get("fix", "") in each.fix, shown
        assert each.severity == wanted.get("severity", each.severity), shown
    assert any(each.edits for each in found) == ("fixed" in repo), "what its fix makes of the files is written down"


@pytest.mark.parametrize(("rule", "repo"), _cases("quiet"))
def test_is_quiet(rule: str, repo: Mapping[str, Any], tmp_path: Path) -> None:
    assert [f"{each.place} {each.message}" for each in _findings(rule, repo, tmp_path)] == []


@pytest.mark.parametrize(("rule", "repo"), [each for each in _cases("fires") if "fixed" in each.values[1]])
def test_its_fix_takes_it_away_and_changes_nothing_else(rule: str, repo: Mapping[str, Any], tmp_path: Path) -> None:
    found = _findings(rule, repo, tmp_path)
    after = overlaid_tree.edited_files(WorkTree(tmp_path), [edit for each in found for edit in each.edits])
    assert after == repo["fixed"]
    fixable = [each for each in found if each.edits]
    again = _findings(rule, {**repo, "files": {**_files(repo), **after}}, tmp_path)
    assert not {each.key for each in again} & {each.key for each in fixable}


def test_every_rule_has_both() -> None:
    both = {case.values[0] for case in _cases("fires")} & {case.values[0] for case in _cases("quiet")}
    # What is said of a baseline is known when all rules were run: test_baseline.py.
    known = {name for name, rule in rulebook.read_rulebook().rules.items() if rule.check != "excuses.afterwards"}
    assert known == both
