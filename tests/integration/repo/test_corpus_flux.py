"""Real repos: every Kustomization and HelmRelease that a plain search finds is accounted for."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from firstlight.model.component import SourceForm
from firstlight.model.source import ChartSource, DirectorySource, RemoteSource, Unresolved
from firstlight.repo import flux
from firstlight.repo.reader_result import ReaderResult
from firstlight.repo.work_tree import WorkTree

CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"
REPOS = sorted(CORPUS.iterdir()) if CORPUS.is_dir() else []

pytestmark = pytest.mark.skipif(not REPOS, reason="the corpus is not on this machine")

KINDS = {"Kustomization": "kustomize.toolkit.fluxcd.io", "HelmRelease": "helm.toolkit.fluxcd.io"}


def searched(root: Path) -> Iterator[tuple[str, int, int]]:
    """Files with the first and last lines of documents, found by nothing but their text."""
    for path in sorted(root.rglob("*.y*ml")):
        lines = path.read_text(errors="replace").splitlines()
        starts = [number for number, line in enumerate(lines) if re.match(r"---(\s|$)", line)]
        for first, last in zip([-1, *starts], [*starts, len(lines)], strict=True):
            text = "\n".join(lines[first + 1 : last])
            for kind, group in KINDS.items():
                if re.search(rf"^kind: {kind}\s*$", text, re.M) and re.search(rf"^apiVersion: {group}/", text, re.M):
                    yield str(path.relative_to(root)), first + 1, last


def read(repo: Path) -> ReaderResult:
    return flux.read(WorkTree(repo))


@pytest.mark.parametrize("repo", REPOS, ids=lambda each: each.name)
def test_every_document_is_accounted_for(repo: Path) -> None:
    found = read(repo)
    places = {each.place for each in (*found.origins, *found.unreached)}

    documents = list(searched(repo))
    missing = [
        (path, first)
        for path, first, last in documents
        if not any(each.path == path and first < each.line <= last for each in places)
    ]

    assert documents
    assert missing == []
    # And nothing is made up: what is not in a document of its own is the operator's work, or Flux itself.
    made = [
        each
        for each in (*found.origins, *found.unreached)
        if each.form in (SourceForm.KUSTOMIZATION, SourceForm.HELM_RELEASE)
        and not any(p == each.place.path and first < each.place.line <= last for p, first, last in documents)
    ]
    assert made == []


@pytest.mark.parametrize("repo", REPOS, ids=lambda each: each.name)
def test_what_every_origin_has(repo: Path) -> None:
    found = read(repo)

    assert found.clusters
    for cluster in found.clusters:
        mine = [each for each in found.origins if each.cluster == cluster.name]
        ids = [each.id for each in mine]
        assert len(ids) == len(set(ids))
        assert all(not each.parent or each.parent in ids for each in mine)
        assert any(not each.parent for each in mine)
        for each in mine:
            assert each.place.line
            assert isinstance(each.source, ChartSource | DirectorySource | RemoteSource | Unresolved)
            assert all(need.place.line for need in each.needs)
    assert all(each.doubt for each in found.unreached)
    assert all(each.place.path for each in found.diagnostics)


@pytest.mark.parametrize("repo", REPOS, ids=lambda each: each.name)
def test_secrets_are_never_shown(repo: Path) -> None:
    found = read(repo)

    assert "ENC[" not in repr(found)


@pytest.mark.parametrize("repo", REPOS, ids=lambda each: each.name)
def test_it_takes_no_time(repo: Path) -> None:
    begin = time.process_time()

    read(repo)

    assert time.process_time() - begin < 3
