"""Which releases bootstrap keeps, as the repo says."""

import shutil
from pathlib import Path

import pytest

from firstlight.commands.recover import component_repair
from firstlight.repo import platform_reader
from firstlight.repo.work_tree import WorkTree

HOME = Path(__file__).parents[4] / "examples" / "home"


@pytest.mark.parametrize(
    ("owner", "release", "is_kept"),
    [
        (", owner: bootstrap", "kube-system/cilium", True),
        (", owner: bootstrap", "cert-manager/cert-manager", False),
        (", owner: bootstrap", "kube-system/other", False),
        ("", "kube-system/cilium", False),
    ],
)
def test_what_is_kept(owner: str, release: str, is_kept: bool, tmp_path: Path) -> None:
    root = tmp_path / "home"
    shutil.copytree(HOME, root)
    text = (root / "firstlight.yaml").read_text()
    assert "  cilium: {phase: core," in text
    (root / "firstlight.yaml").write_text(text.replace("  cilium: {phase: core,", f"  cilium: {{phase: core{owner},"))

    known = platform_reader.read_tree(WorkTree(root))

    assert component_repair.is_kept_release(release, known.components_of("home")) is is_kept
