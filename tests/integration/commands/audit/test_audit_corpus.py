"""The audit of real repos, where they are at hand: what document 004 wrote of one of them, and what it did not see."""

import datetime
import functools
from pathlib import Path

import pytest

from firstlight.commands.audit import matrix, rulebook
from firstlight.model.diagnostic import Severity
from firstlight.model.finding import Finding
from firstlight.repo import overlaid_tree, platform_reader
from firstlight.repo.platform_view import PlatformView
from firstlight.repo.secrecy import secret_search
from firstlight.repo.work_tree import WorkTree

CORPUS = Path(__file__).parents[4] / "../shared/corpus"
AUDITED = "k8s-gitops"
REPOS = sorted(each.name for each in CORPUS.iterdir() if each.is_dir()) if CORPUS.is_dir() else []
pytestmark = pytest.mark.skipif(not REPOS, reason="the repos to try it on are not here")


@functools.cache
def _scene(name: str) -> PlatformView:
    tree = WorkTree(CORPUS / name)
    return PlatformView(
        platform=platform_reader.read_tree(tree),
        files=tree,
        today=datetime.date(2026, 11, 1),
        clear_secrets=secret_search.clear_secrets_of(tree),
    )


@functools.cache
def _findings(name: str) -> tuple[Finding, ...]:
    return tuple(rulebook.findings(_scene(name), rulebook.read_rulebook()))


def _of(rule: str) -> list[Finding]:
    found = [each for each in _findings(AUDITED) if each.code == rule]
    assert found, f"{rule} finds nothing"
    return found


@pytest.mark.parametrize("name", REPOS)
def test_every_finding_has_a_place_that_is_there(name: str) -> None:
    tree = WorkTree(CORPUS / name)
    for each in _findings(name):
        text = tree.text(each.place.path)
        assert text is not None, each
        assert each.place.line <= text.count("\n") + 1, each
        assert each.fix, each


@pytest.mark.parametrize("name", REPOS)
def test_every_safe_edit_can_be_made_and_takes_its_finding_away(name: str, tmp_path: Path) -> None:
    fixable = [each for each in _findings(name) if each.edits]
    tree = WorkTree(CORPUS / name)
    after = overlaid_tree.edited_files(tree, [edit for each in fixable for edit in each.edits])
    for path in tree.files:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((after[path] or "").encode() if path in after else tree.bytes(path) or b"")
    again = WorkTree(tmp_path)
    scene = PlatformView(platform=platform_reader.read_tree(again), files=again, today=datetime.date(2026, 11, 1))
    rules = {each.code for each in fixable}
    left = rulebook.findings(scene, rulebook.read_rulebook(), only=rules) if rules else []
    fixed = {(each.code, each.place.path, each.key) for each in fixable}
    assert not fixed & {(each.code, each.place.path, each.key) for each in left}


@pytest.mark.skipif(AUDITED not in REPOS, reason="the audited repo is not here")
class TestWhatTheDocumentFound:
    def test_its_first_issue_is_disks_of_its_own_and_not_operators(self) -> None:
        (own,) = _of("storage-own-devices")
        assert "apps" in own.clusters
        assert "infra" not in own.clusters
        assert not any(each.code.startswith("storage") and "operator" in each.message for each in _findings(AUDITED))

    def test_its_second_issue_is_where_dns_is_and_not_the_routing_range(self) -> None:
        (dns,) = _of("dns-outside-services")
        assert "10.246.0.10" in dns.message
        assert str(dns.place).startswith("bootstrap/clusters/apps/values.yaml:9")
        # What the document calls correct, a range a cluster, is too narrow for a mesh.
        assert {each.clusters for each in _of("native-routing-too-narrow")} == {("apps",), ("infra",)}

    def test_its_third_issue_is_a_mesh_that_only_hands_connect(self) -> None:
        (mesh,) = _of("mesh-by-hand")
        assert mesh.clusters == ("apps", "infra")

    def test_its_fourth_issue_is_a_pin_outside_of_every_pool_and_pins_stay(self) -> None:
        (pin,) = _of("pin-outside-pool")
        assert "10.25.12.100" in pin.message
        assert "remove" not in pin.fix.lower()

    def test_it_missed_these(self) -> None:
        for rule in (
            "crds-still-in-chart", "root-applied-twice", "value-unknown", "key-given-twice", "cilium-dropped",
            "storage-foreign-nodes", "patch-finds-nothing", "talos-identity-shared", "sync-ref-short",
            "placeholder-secret", "backup-schedule-misread", "etcd-without-backup",
        ):  # fmt: skip
            _of(rule)

    def test_its_matrix_has_what_cannot_apply(self) -> None:
        book = rulebook.read_rulebook()
        scene = _scene(AUDITED)
        names = [each.name for each in scene.clusters]
        drawn = matrix.matrix(scene, book, _findings(AUDITED), tried=book.rules, clusters=names)
        mesh = next(row for row in drawn.rows if "ClusterMesh" in row.title)
        cells = dict(zip(drawn.columns, mesh.cells, strict=True))
        assert cells["infra"].standing == cells["apps"].standing == "no"
        assert {each.standing for each in mesh.cells[-drawn.references :]} == {"n/a"}

    def test_nothing_is_critical_there(self) -> None:
        assert not [each for each in _findings(AUDITED) if each.severity is Severity.CRITICAL]
