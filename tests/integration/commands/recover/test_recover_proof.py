"""The proof before a rebuild: what only this work tree has is not there when the commit is all that is left."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import pytest_asyncio

from firstlight.clients import talosctl
from firstlight.commands.recover import rebuild
from firstlight.execute.means import Means
from firstlight.execute.world import RunPrograms
from firstlight.model.cluster import AddressBook, Cluster
from firstlight.model.diagnostic import Severity
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.render.chart_fetch import ChartCredentials, FetchClients
from firstlight.render.chart_store import ChartStore
from firstlight.render.component_renderer import Renderer
from firstlight.render.render_cache import RenderCache
from firstlight.render.renderer_programs import RendererPrograms
from firstlight.repo import platform_reader
from firstlight.secrets import secret_resolver
from firstlight.tools import install
from tests.runs import PLATFORMS

GIT = shutil.which("git") or "git"


@pytest_asyncio.fixture
async def programs() -> dict[str, Path]:
    return await install.ensure(["helm", "kustomize", "talosctl", "sops"])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The light platform, committed; its Talos secrets are named, and not there yet."""
    root = tmp_path / "repo"
    shutil.copytree(PLATFORMS / "light", root)
    declared = (root / "firstlight.yaml").read_text()
    (root / "firstlight.yaml").write_text(
        declared.replace("    path: cluster", "    talosSecrets: file:talos/keys.yaml\n    path: cluster")
    )
    (root / "cluster/flux-system/gotk-components.yaml").write_text(
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: flux-system}\n"
    )
    committed(root)
    return root


def committed(root: Path) -> None:
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "all", "--allow-empty"]):
        names = ["-c", "user.name=tests", "-c", "user.email=tests@example.org"]
        subprocess.run(
            [GIT, *names, *words], cwd=root, check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
        )


def means(platform: Platform, programs: dict[str, Path], home: Path) -> Means:
    """How a tree is read and asked, without a network; the machine refuses at once."""
    resolver = secret_resolver.SecretResolver(platform.root, sops=programs["sops"])

    async def open_renderer(one: Platform) -> Renderer:
        fetching = FetchClients(programs["helm"], None, ChartCredentials(), frozenset())
        return Renderer(
            one, programs=RendererPrograms(helm=programs["helm"], kustomize=programs["kustomize"]),
            store=ChartStore(home / "charts", fetching, offline=True), cache=RenderCache(None),
        )  # fmt: skip

    async def talos_secrets(cluster: Cluster) -> Secret:
        raise AssertionError("keys are neither made nor wanted by whoever only looks")

    return Means(
        programs=RunPrograms(talosctl=programs["talosctl"], helm=programs["helm"]), state=platform.root / ".firstlight",
        open_renderer=open_renderer, resolve=resolver.resolve, talos_secrets=talos_secrets, git=Path(GIT),
        reach=AddressBook(machines={"10.9.0.11": "127.0.0.1:1"}), close=resolver.close,
    )  # fmt: skip


async def missing(root: Path, programs: dict[str, Path], home: Path) -> list[tuple[str, str]]:
    platform = platform_reader.read(root)
    own = means(platform, programs, home)

    async def means_of(there: Platform) -> Means:
        assert there.root != root, "the work tree is no proof"
        return means(there, programs, home)

    try:
        found = await rebuild.proof(platform, platform.clusters[0], own, means_of=means_of)
    finally:
        await own.close()
    # Whether machines answer is another question.
    return sorted(
        (each.code, each.message) for each in found if each.severity == Severity.ERROR and each.code != "machine-silent"
    )


async def test_what_is_not_committed_is_missed(
    root: Path, programs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GREETER_TOKEN", raising=False)
    keys = (await talosctl.Talosctl(programs["talosctl"]).gen_secrets()).reveal()
    (root / "talos/keys.yaml").write_bytes(keys)

    found = dict(await missing(root, programs, tmp_path))

    assert set(found) == {"keys-missing", "secret-missing"}
    assert "the Talos secrets of light cannot be had from the commit (file:talos/keys.yaml)" in found["keys-missing"]
    assert "token" in found["secret-missing"]

    monkeypatch.setenv("GREETER_TOKEN", "a-token")
    committed(root)
    (root / "charts/greeter/Chart.yaml").unlink()

    assert await missing(root, programs, tmp_path) == [], "the work tree does not matter any more"
