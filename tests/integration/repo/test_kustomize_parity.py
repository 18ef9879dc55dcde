"""The static follower against kustomize itself: on our scenarios, and on every kustomization of the corpus."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from firstlight.document import yaml_reader
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
from firstlight.repo import kustomize
from firstlight.repo.kustomize.kustomization_file import NAMES
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree
from firstlight.tools import install

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "kustomize"
CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"


@pytest_asyncio.fixture(scope="session")
async def program() -> Path:
    return (await install.ensure(["kustomize"]))["kustomize"]


def real(program: Path, directory: Path) -> list[Any] | None:
    """What kustomize makes of a directory; None if it refuses."""
    argv = [str(program), "build", "--load-restrictor=LoadRestrictionsNone", str(directory)]
    done = subprocess.run(argv, capture_output=True, check=False, timeout=60)
    return None if done.returncode else [each.value for each in yaml_reader.read(done.stdout, "").documents]


def by_id(values: list[Any]) -> dict[ObjectId, Any]:
    return {Manifest(each, Place("")).id: each for each in values}


@pytest.mark.parametrize("name", sorted(each.parent.name for each in SCENARIOS.glob("*/expected.yaml")))
def test_expected_files_are_what_kustomize_prints(program: Path, name: str) -> None:
    expected = yaml_reader.read((SCENARIOS / name / "expected.yaml").read_bytes(), "").documents

    found = real(program, SCENARIOS / name / "repo" / "app")

    assert found is not None
    assert by_id(found) == by_id([each.value for each in expected])


@pytest.mark.parametrize("name", sorted(each.parent.name for each in SCENARIOS.glob("*/diagnostics.txt")))
def test_kustomize_refuses_what_has_errors(program: Path, name: str) -> None:
    has_errors = "error " in (SCENARIOS / name / "diagnostics.txt").read_text()

    assert (real(program, SCENARIOS / name / "repo" / "app") is None) == has_errors


def is_refolded(manifest: Manifest, value: Any) -> bool:
    """The one exception: kustomize writes folded texts with indented lines (``>-``) anew, and adds empty lines."""
    text = manifest.document.text if manifest.document else ""
    return bool(re.search(r"[:-] >[-+]?\n", text)) and without_empty_lines(manifest.value) == without_empty_lines(value)


def without_empty_lines(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_empty_lines(each) for name, each in value.items()}
    if isinstance(value, list):
        return [without_empty_lines(each) for each in value]
    return re.sub(r"\n+", "\n", value) if isinstance(value, str) else value


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not on this machine")
@pytest.mark.parametrize("repo", sorted(CORPUS.iterdir()) if CORPUS.is_dir() else [], ids=lambda each: each.name)
def test_every_kustomization_of_the_corpus(program: Path, repo: Path) -> None:
    tree = WorkTree(repo)
    directories = sorted({str(Path(each).parent) for each in tree.files if Path(each).name in NAMES})
    compared = 0

    for directory in directories:
        build = kustomize.build(tree, directory)
        if build.remotes or build.charts:
            continue  # kustomize would fetch, and that is no part of reading
        errors = [each for each in (*build.diagnostics, *tree.diagnostics) if each.severity == Severity.ERROR]
        own = [each for each in errors if each in build.diagnostics or each.place.path in build.files]
        found = real(program, tree.root / directory)
        assert (found is None) == bool(own), (directory, own)
        if found is not None:
            wanted, ours = by_id(found), {each.id: each for each in build.manifests}
            assert set(ours) == set(wanted), directory
            for key, value in wanted.items():
                assert ours[key].value == value or is_refolded(ours[key], value), (directory, key)
            compared += 1

    assert compared > len(directories) * 0.75
