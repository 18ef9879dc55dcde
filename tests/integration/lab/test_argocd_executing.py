"""What a repository would have Argo CD execute is not executed in the lab: each case of ``scenarios/executing``."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
import yaml

from firstlight.clients import kube
from firstlight.lab import lab_settings
from tests import labs
from tests.argocd import HOME, REPO_SERVER, ArgoCD, application
from tests.labs import until

CASES = sorted((Path(__file__).parents[2] / "scenarios" / "executing").glob("*.yaml"))
PART_OF = {"app.kubernetes.io/part-of": "argocd"}


class Case:
    """One case, in a repository and an Application of its own."""

    def __init__(self, argocd: ArgoCD, site: str, tmp_path: Path, path: Path) -> None:
        self.argocd, self.site = argocd, site
        self.marker = tmp_path / "executed"
        self._root = tmp_path / "repo"
        filled = path.read_text().replace("{marker}", str(self.marker)).replace("{git}", argocd.git(site))
        self.given: dict[str, Any] = yaml.safe_load(filled.replace("{api}", "https://127.0.0.1:1"))

    async def push(self) -> str:
        for path, text in self.given["files"].items():
            file = self._root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(0o755 if text.startswith("#!") else 0o644)
        await self.argocd.sources.create_git(f"tests/{self.site}")
        moved = await self.argocd.sources.commit_directory(f"tests/{self.site}", self._root, message="a change")
        return moved.after

    async def declare(self) -> None:
        metadata = {"name": "argocd-cm", "namespace": HOME}
        data = {"data": self.given.get("settings") or None}
        await self.argocd.kube.patch("v1", "ConfigMap", metadata["name"], data, manager="tests", namespace=HOME)
        source = {"repoURL": self.argocd.git(self.site), "path": "app", "targetRevision": "main"}
        made = application(self.site, self.site, {**source, **self.given.get("source", {})})
        if cluster := self.given.get("cluster"):
            labels = {"argocd.argoproj.io/secret-type": "cluster"}
            secret = {"name": self.site, "namespace": HOME, "labels": labels}
            await self.argocd.kube.apply(
                {"apiVersion": "v1", "kind": "Secret", "metadata": secret, "stringData": cluster}, manager="tests"
            )
            made["spec"]["destination"]["server"] = cluster["server"]
        await self.argocd.kube.apply(made, manager="tests")


@pytest_asyncio.fixture
async def settings(argocd: ArgoCD, site: str) -> AsyncIterator[None]:
    """Leaves Argo CD's settings, and the clusters that it knows, as they were."""
    yield
    with contextlib.suppress(kube.NotFound):
        await argocd.kube.delete("v1", "Secret", site, namespace=HOME)
    await argocd.kube.patch("v1", "ConfigMap", "argocd-cm", {"data": None}, manager="tests", namespace=HOME)


@pytest.mark.parametrize("path", CASES, ids=lambda each: each.stem)
@pytest.mark.usefixtures("settings")
async def test_nothing_of_a_repository_is_executed(argocd: ArgoCD, site: str, tmp_path: Path, path: Path) -> None:
    case = Case(argocd, site, tmp_path, path)
    commit = await case.push()

    await case.declare()

    if case.given.get("is_synced"):
        await argocd.synced(site, commit)
    else:
        await argocd.says(site, *case.given["says"])
    assert not case.marker.exists()


@pytest.mark.usefixtures("settings")
async def test_what_is_allowed_is_executed_until_it_is_not_any_more(
    argocd: ArgoCD, site: str, tmp_path: Path, programs: dict[str, Path]
) -> None:
    """The other side of the coin: the case does execute something, were it not for the confinement."""
    path = next(each for each in CASES if each.stem == "exec-function")
    case = Case(argocd, site, tmp_path, path)
    nodes = lab_settings.with_nodes(labs.FAST, control_planes=1, workers=1)
    asked = msgspec.structs.replace(nodes, actors=("argocd",))
    free = msgspec.structs.replace(asked, actors_execute=True)
    commit = await case.push()

    before = (await argocd.part(REPO_SERVER)).pid
    await argocd.lab.up(programs, settings=free)
    await until(lambda: _restarted(argocd, before), "the repo server to start anew")
    await case.declare()
    await argocd.synced(site, commit)
    assert case.marker.exists()

    case.marker.unlink()
    before = (await argocd.part(REPO_SERVER)).pid
    await argocd.lab.up(programs, settings=asked)
    await until(lambda: _restarted(argocd, before), "the repo server to start anew")
    await argocd.refresh(site)
    await argocd.says(site, *case.given["says"])
    assert not case.marker.exists()


async def _restarted(argocd: ArgoCD, before: int) -> bool:
    part = await argocd.part(REPO_SERVER)
    return part.state == "ready" and part.pid not in (0, before)
