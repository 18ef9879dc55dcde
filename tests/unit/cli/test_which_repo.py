"""Which repo a command reads: the nearest one around it, or the directory that is named."""

from pathlib import Path

import pytest

from firstlight.cli import which_repo, which_run

PLATFORM = "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\nmetadata: {name: NAME}\nclusters: {NAME: {}}\n"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with an example in it, which is a repo in itself."""
    (tmp_path / "clone/.git").mkdir(parents=True)
    (tmp_path / "clone/examples/home/apps").mkdir(parents=True)
    (tmp_path / "clone/firstlight.yaml").write_text(PLATFORM.replace("NAME", "other"))
    (tmp_path / "clone/examples/home/firstlight.yaml").write_text(PLATFORM.replace("NAME", "home"))
    return tmp_path / "clone"


@pytest.mark.parametrize(
    ("at", "name"), [(".", "other"), ("examples", "other"), ("examples/home", "home"), ("examples/home/apps", "home")]
)
def test_the_nearest_firstlight_yaml_is_the_repo(
    clone: Path, at: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clone / at)

    found = which_repo.platform(None)

    assert [each.name for each in found.clusters] == [name]
    assert which_run.state_directory(None) == found.root / ".firstlight"


def test_a_directory_that_is_named_is_meant(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone / "examples/home")

    assert [each.name for each in which_repo.platform(clone).clusters] == ["other"]
    assert which_repo.platform(Path("apps")).root == clone / "examples/home/apps"
