"""When the base of a diff need not be read, since it describes the same platform."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from firstlight.commands.decide import judgement, rule_files
from firstlight.commands.decide.equivalence import is_alike, is_same
from firstlight.commands.decide.file_components import taken_in
from firstlight.model.decision import Decision
from firstlight.repo import platform_reader
from firstlight.repo.changes import repo_changes
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.work_tree import WorkTree
from tests.scenarios.decide.changes import deciding, test_changes

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {a: b}}
spec: {replicas: 1}
"""


def same(tmp_path: Path, path: str, before: str | None, after: str | None) -> bool:
    (tmp_path / "other.yaml").write_text(DEPLOYMENT)
    disk = WorkTree(tmp_path)
    one, other = (OverlaidTree(disk, {path: None if each is None else each.encode()}) for each in (before, after))
    return is_same(one, other, [path])


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [("web.yaml", "replicas: 1", "replicas: 2"), ("web.yml", "spec:", "# a word\nspec:"), ("a/README.md", "web", "x")],
)
def test_fields_of_workloads_and_prose_say_nothing_of_structure(path: str, old: str, new: str, tmp_path: Path) -> None:
    assert same(tmp_path, path, DEPLOYMENT, DEPLOYMENT.replace(old, new))


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("web.yaml", "name: web", "name: other"),
        ("web.yaml", "a: b", "config.kubernetes.io/local-config: 'true'"),
        ("web.yaml", "spec:", "$patch: delete\nspec:"),
        ("web.yaml", "kind: Deployment", "kind: ["),
        ("web.yaml", "spec: {replicas: 1}", "spec: {}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}"),
        ("kustomization.yaml", "replicas: 1", "replicas: 2"),
        ("deploy.sh", "replicas: 1", "replicas: 2"),
        ("Taskfile", "replicas: 1", "replicas: 2"),
    ],
)
def test_whatever_else_differs_may_say_something(path: str, old: str, new: str, tmp_path: Path) -> None:
    assert not same(tmp_path, path, DEPLOYMENT, DEPLOYMENT.replace(old, new))


@pytest.mark.parametrize(
    "kind", ["v1/ConfigMap", "helm.toolkit.fluxcd.io/v2/HelmRelease", "argoproj.io/v1/Application"]
)
def test_objects_that_others_are_made_by_are_structure(kind: str, tmp_path: Path) -> None:
    version, _, name = kind.rpartition("/")
    before = DEPLOYMENT.replace("apps/v1", version).replace("Deployment", name)

    assert not same(tmp_path, "web.yaml", before, before.replace("replicas: 1", "replicas: 2"))


@pytest.mark.parametrize(("before", "after"), [(None, DEPLOYMENT), (DEPLOYMENT, None)])
def test_files_that_come_or_go_are_structure(before: str | None, after: str | None, tmp_path: Path) -> None:
    assert not same(tmp_path, "web.yaml", before, after)


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web}
spec:
  chart: {spec: {chart: web, version: 1.0.0}}
  values: {replicas: 1}
"""
IMAGE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: web}
spec: {url: "oci://registry.example.org/web", ref: {tag: 1.0.0}}
"""


def alike(tmp_path: Path, before: str, after: str, *, kustomization: str = "resources: [web.yaml]\n") -> bool:
    (tmp_path / "kustomization.yaml").write_text(kustomization)
    disk = WorkTree(tmp_path)
    one, other = (OverlaidTree(disk, {"web.yaml": each.encode()}) for each in (before, after))
    return is_alike(one, other, ["web.yaml"])


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (RELEASE, "replicas: 1", "replicas: 2"),
        (RELEASE, "{replicas: 1}", "{replicas: 1, image: {tag: 2}}"),
        (RELEASE, "1.0.0", "2.0.0"),
        (IMAGE, "1.0.0", "2.0.0"),
        (IMAGE, "tag: 1.0.0", "digest: sha256:0"),
        (DEPLOYMENT, "replicas: 1", "replicas: 2"),
    ],
)
def test_versions_and_values_say_nothing_of_what_is_there(text: str, old: str, new: str, tmp_path: Path) -> None:
    assert alike(tmp_path, text, text.replace(old, new))


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (RELEASE, "chart: web", "chart: other"),
        (RELEASE, "values: {replicas: 1}", "values: {instance: {sync: {path: elsewhere}}}"),
        (RELEASE, "values: {replicas: 1}", "valuesFrom: [{kind: ConfigMap, name: a}]"),
        (RELEASE, "values:", "dependsOn: [{name: a}]\n  values:"),
        (RELEASE, "name: web}", "name: web, namespace: other}"),
        (IMAGE, "url: ", "insecure: true, url: "),
        (IMAGE, "OCIRepository", "GitRepository"),
    ],
)
def test_whatever_says_what_is_there_is_not_alike(text: str, old: str, new: str, tmp_path: Path) -> None:
    assert old in text
    assert not alike(tmp_path, text, text.replace(old, new))


def test_a_version_of_a_git_repository_may_be_a_cluster_s_branch(tmp_path: Path) -> None:
    before = IMAGE.replace("OCIRepository", "GitRepository").replace("tag", "branch")

    assert not alike(tmp_path, before, before.replace("1.0.0", "main"))


def test_where_fields_are_copied_anywhere_nothing_is_alike(tmp_path: Path) -> None:
    after = RELEASE.replace("1.0.0", "2.0.0")

    assert not alike(tmp_path, RELEASE, after, kustomization="resources: [web.yaml]\nreplacements: [{path: a.yaml}]\n")


def _judged(before: WorkTree, after: WorkTree, paths: list[str], *, is_short: bool) -> Decision:
    then = platform_reader.read_tree(after)
    first = then if is_short else platform_reader.read_tree(before)
    changes = repo_changes.changes(before, after, paths, platforms=(first, then))
    taken = taken_in(after, before, paths)
    return judgement.decide(changes, platform=then, before=first, book=rule_files.book(), taken=taken)


SCENARIOS = Path(__file__).parents[3] / "scenarios"
CASES = [(name, case) for name in test_changes.CLASSES for case in test_changes.cases(name)]


def test_the_answer_is_the_same_for_all_scenarios_of_changes() -> None:
    short = 0
    for name, case in CASES:
        base = deciding.base(deciding.REPOS / case.repo)
        files = test_changes.edited(base, case.edits)
        after = OverlaidTree(base.tree, files)
        if is_alike(base.tree, after, files):
            short += 1
            once, twice = (_judged(base.tree, after, [*files], is_short=each) for each in (True, False))
            assert once == twice, f"{name}: {case.name}"
    assert short >= 5


def test_the_answer_is_the_same_for_all_repos_with_other_versions_and_values() -> None:
    """In each repo of the scenarios, everything that may differ does."""
    seen = 0
    for root in sorted(SCENARIOS.glob("*/*/repo")):
        tree = WorkTree(root)
        files = dict(_bumped(tree))
        after = OverlaidTree(tree, files)
        if files and is_alike(tree, after, files):
            seen += len(files)
            once, twice = (_judged(tree, after, [*files], is_short=each) for each in (True, False))
            assert once == twice, root
    assert seen >= 15


def _bumped(tree: WorkTree) -> Iterator[tuple[str, bytes]]:
    for path in tree.files:
        data = tree.bytes(path) or b""
        if path.endswith(".yaml") and any(each in data for each in (b"kind: HelmRelease", b"kind: OCIRepository")):
            text = re.sub(r"((?:version|tag): [\"v]*)\d+", r"\g<1>9", data.decode())
            text = re.sub(r"^( +)values:\n", r"\1values:\n\1  bumped: true\n", text, flags=re.MULTILINE)
            text = re.sub(r"values: \{", "values: {bumped: true, ", text)
            if text.encode() != data:
                alone = OverlaidTree(tree, {path: text.encode()})
                if is_alike(tree, alone, [path]):
                    yield path, text.encode()
