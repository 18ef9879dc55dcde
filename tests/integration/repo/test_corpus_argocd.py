"""Every object of Argo CD in the repos of others: what grep finds is found, at its place."""

import re
from pathlib import Path

import pytest

from firstlight.model.component import Phase
from firstlight.repo import argocd
from firstlight.repo.work_tree import WorkTree

CORPUS = Path(__file__).parents[3] / "../shared/corpus"
REPOS = sorted(each.name for each in CORPUS.iterdir() if each.is_dir()) if CORPUS.is_dir() else []
KINDS = ("Application", "ApplicationSet", "AppProject")

pytestmark = pytest.mark.skipif(not REPOS, reason="the corpus is not on this machine")

_HEAD = re.compile(r"^(?P<indent> *)apiVersion: [\"']?argoproj\.io/", re.MULTILINE)


def grepped(root: Path) -> list[tuple[str, int, int, str]]:
    """File, first and last line, and kind of each document, found by text alone; also those inside of other texts."""
    found = []
    for path in sorted(root.rglob("*.y*ml")):
        lines = path.read_text(errors="replace").splitlines()
        starts = [n for n, line in enumerate(lines) if line.strip() == "---"]
        for first, last in zip([-1, *starts], [*starts, len(lines)], strict=True):
            text = "\n".join(lines[first + 1 : last])
            for head in _HEAD.finditer(text):
                kind = re.search(rf"^{head['indent']}kind: (\w+)\s*$", text, re.MULTILINE)
                if kind and kind[1] in KINDS:
                    found.append((path.relative_to(root).as_posix(), first + 2, last, kind[1]))
    return found


@pytest.mark.parametrize("repo", REPOS)
def test_every_document_is_accounted_for(repo: str) -> None:
    wanted = grepped(CORPUS / repo)
    found = argocd.read(WorkTree(CORPUS / repo))

    places = [each.place for each in (*found.origins, *found.unreached)]
    for path, first, last, kind in wanted:
        if kind != "AppProject":
            assert any(each.path == path and first <= each.line <= last for each in places), (path, first, kind)
    files = {path for path, *_ in wanted}
    # Argo CD itself may come from a kustomization.
    installs = {each.place.path for each in found.origins if each.phase is Phase.ENGINE}
    assert {each.path for each in places} <= files | installs, "nothing is found where there is nothing"
    assert all(each.place.line for each in found.diagnostics if each.place.path in files)
    print(f"{repo}: {len(wanted)} by grep, {len(found.origins)} origins, {len(found.unreached)} not reached")


def test_there_is_something_to_account_for() -> None:
    assert sum(len(grepped(CORPUS / repo)) for repo in REPOS) > 10
