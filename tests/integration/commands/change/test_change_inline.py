"""A new version of the network plugin in the work tree, and the inline manifest of the machine config that follows."""

import shutil
import subprocess
from pathlib import Path

import pytest

from firstlight.commands.change import change_start
from firstlight.commands.decide import decide
from firstlight.commands.decide.change_source import RevisionRange, WorkTreeChanges
from firstlight.commands.decide.decide import Decided
from firstlight.commands.render import inline
from firstlight.repo import platform_reader
from firstlight.tools import install
from tests import runs

WHO = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
MANIFEST, CONFIG = Path("flannel/flannel.yaml"), Path("talos/all.yaml")


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *WHO, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
async def repo(tmp_path: Path) -> Path:
    """A repo whose machine config holds the network plugin, with another version of it in the work tree."""
    await install.ensure(["helm", "kustomize"])
    root = tmp_path / "repo"
    shutil.copytree(runs.PLATFORMS / "light", root)
    platform = platform_reader.read(root)
    flannel = next(each for each in platform.components if each.name == "flannel")
    assert await inline.embed(platform, flannel, inline.InlineOptions(file=str(CONFIG)), offline=True) == 0
    assert "cni-agent:1.0.0" in (root / CONFIG).read_text()
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=the platform")
    (root / MANIFEST).write_text((root / MANIFEST).read_text().replace("cni-agent:1.0.0", "cni-agent:1.1.0"))
    return root


async def decided(root: Path, *, base: str = "") -> Decided:
    asked = RevisionRange(base=base, head="HEAD") if base else WorkTreeChanges()
    return await decide.decide(root, asked, git=Path(shutil.which("git") or "git"))


async def test_the_inline_manifest_is_rendered_anew_and_only_once(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await change_start.regenerate_inline(platform_reader.read(repo), await decided(repo), offline=True)

    assert "cni-agent:1.1.0" in (repo / CONFIG).read_text()
    assert not await change_start.regenerate_inline(platform_reader.read(repo), await decided(repo), offline=True)
    assert capsys.readouterr().out == "", "standard output is the answer of the command alone"


async def test_what_is_committed_is_left_as_it_is(repo: Path) -> None:
    git(repo, "commit", "--quiet", "--all", "--message=another version")

    assert not await change_start.regenerate_inline(
        platform_reader.read(repo), await decided(repo, base="HEAD~1"), offline=True
    )

    assert "cni-agent:1.0.0" in (repo / CONFIG).read_text()


async def test_a_change_of_something_else_renders_nothing(repo: Path) -> None:
    git(repo, "checkout", "--", str(MANIFEST))
    notes = repo / "apps" / "notes.yaml"
    notes.write_text(notes.read_text().replace("notes:1.0.0", "notes:1.1.0"))

    assert not await change_start.regenerate_inline(platform_reader.read(repo), await decided(repo), offline=True)
