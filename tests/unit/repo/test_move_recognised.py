"""A change that is a move is known for one, whoever wrote it; and no other is."""

import shutil
import types
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight import errors
from firstlight.commands.change.moves import move_path
from firstlight.commands.move import move_proposal
from firstlight.model import argocd_names
from firstlight.model.move import OwnerSplit
from firstlight.repo import file_patch, platform_reader
from firstlight.repo.work_tree import WorkTree
from tests.unit.repo.test_moving import SCENARIOS

RENAMED = {"cluster/apps.yaml": [("{name: apps,", "{name: pages,")]}
MERGED = {
    "cluster/tools.yaml": None,
    "apps/kustomization.yaml": [("  - notes.yaml\n", "  - notes.yaml\n  - ../tools\n")],
}
PASSED = {
    "apps/kustomization.yaml": [("  - web # the shop itself\n", "")],
    "tools/kustomization.yaml": [("  - tools.yaml\n", "  - tools.yaml\n  - ../apps/web\n")],
}
KEPT = {
    "firstlight.yaml": [("home: {path: cluster}\n", "home: {path: cluster}\ncomponents:\n  apps: {phase: core, "
                         "owner: bootstrap, why: a test}\n")],
    "cluster/apps.yaml": [("  interval: 10m", "  suspend: true\n  interval: 10m")],
}  # fmt: skip
SCALED = {"apps/web/web.yaml": [("spec:\n  selector", "spec:\n  replicas: 2\n  selector")]}


@pytest.mark.parametrize(
    ("edits", "is_one"),
    [
        pytest.param(RENAMED, True, id="a Kustomization with another name, which has the same objects"),
        pytest.param(MERGED, True, id="one that goes, and another that has what it had"),
        pytest.param(PASSED, True, id="a directory that another one lists"),
        pytest.param(KEPT, True, id="a component that bootstrap keeps"),
        pytest.param(SCALED, False, id="another number of replicas"),
        pytest.param({**PASSED, **SCALED}, False, id="a move and another change"),
        pytest.param({**KEPT, **SCALED}, False, id="to bootstrap, and another change"),
        pytest.param({"tools/kustomization.yaml": None}, False, id="nothing of a directory is left out"),
        pytest.param({"cluster/tools.yaml": None}, False, id="one that goes with all that it has"),
    ],
)
def test_what_a_change_is(edits: dict[str, Any], is_one: bool, tmp_path: Path) -> None:
    root = tmp_path / "repo"
    shutil.copytree(SCENARIOS / "shop", root)
    before = platform_reader.read_tree(WorkTree(root))
    for path, changes in edits.items():
        if changes is None:
            (root / path).unlink()
            continue
        text = (root / path).read_text()
        for old, new in changes:
            assert old in text, path
            text = text.replace(old, new)
        (root / path).write_text(text)

    assert move_path.is_move(before, platform_reader.read_tree(WorkTree(root))) == is_one


@pytest.mark.parametrize(("finalizers", "is_refused"), [([], False), ([argocd_names.RESOURCES_FINALIZER], True)])
def test_an_application_that_goes_takes_nothing_with_it(
    finalizers: list[str], is_refused: bool, tmp_path: Path
) -> None:
    """A split taken back: its settings are the core's again, and the Application that had them goes."""
    root = tmp_path / "repo"
    shutil.copytree(SCENARIOS / "hybrid-argocd", root)
    after = platform_reader.read_tree(WorkTree(root))
    found = move_proposal.propose_relocation(WorkTree(root), OwnerSplit(component="cert-manager", name="issuers"))
    file_patch.write(found.tree, found.patch)
    app = yaml.safe_load((root / "apps/issuers.yaml").read_text())
    app["metadata"]["finalizers"] = finalizers
    (root / "apps/issuers.yaml").write_text(yaml.safe_dump(app))
    before = platform_reader.read_tree(WorkTree(root))
    carrying: Any = types.SimpleNamespace(before=before, after=after)

    assert move_path.is_move(before, after)
    if is_refused:
        with pytest.raises(errors.Refused, match="Application issuers goes"):
            move_path._check_gone(carrying, after.clusters[0])
    else:
        move_path._check_gone(carrying, after.clusters[0])
