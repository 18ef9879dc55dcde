"""What ``firstlight handover`` refuses before it looks at any cluster."""

import shutil
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.cli import main
from firstlight.commands.handover import handover
from firstlight.repo import platform_reader
from tests import runs


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The light platform, of which bootstrap keeps a component."""
    root = tmp_path / "repo"
    shutil.copytree(runs.PLATFORMS / "light", root)
    declared = root / "firstlight.yaml"
    declared.write_text(
        declared.read_text().replace("greeter: {phase: core,", "greeter: {phase: core, owner: bootstrap,")
    )
    return root


def test_a_component_that_bootstrap_keeps_is_left_alone_and_says_so(kept: Path) -> None:
    assert handover.kept(platform_reader.read(kept), "light") == ("greeter",)


async def test_a_component_that_bootstrap_keeps_is_not_handed_over(kept: Path, tmp_path: Path) -> None:
    means = runs.means(
        runs.Place(root=str(kept), lab="", state=str(tmp_path), kept="", programs={"talosctl": "t", "helm": "h"},
                   reach={}, api="", commit="c")
    )  # fmt: skip

    with pytest.raises(errors.Refused, match="greeter stays with bootstrap") as caught:
        await handover.prepare(
            platform_reader.read(kept), handover.HandoverRequest(cluster="light", components=("greeter",)), means
        )
    assert "owner: gitops" in caught.value.hint


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--verify", "FILE", "--dry-run"], "--verify goes alone", id="verify-and-dry-run"),
        pytest.param(["--verify", "FILE", "--component", "x"], "--verify goes alone", id="verify-and-component"),
        pytest.param(["--signers", "FILE"], "--signers is for --verify", id="signers-alone"),
        pytest.param(["--sign", "/no/such/key"], "does not exist", id="no-key"),
    ],
)
def test_what_cannot_be_meant(
    arguments: list[str], said: str, kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("{}")
    given = [str(file) if each == "FILE" else each for each in arguments]

    assert main.run(["handover", "--repo", str(kept), *given]) == 64
    assert said in capsys.readouterr().err
