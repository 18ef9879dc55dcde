"""What only bootstrap has, moved to Git on real Flux: manifests are written, the release is adopted, pods stay."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from firstlight.commands.change import followed_branch
from firstlight.lab.sources.declarations import Access
from firstlight.tools import install
from tests import changing, moving
from tests.changing import Clone
from tests.flux import Flux
from tests.integration.commands.change.test_change_flux import deployment, engine, platform
from tests.labs import until

CHART = {"apiVersion": "v2", "name": "greeter", "version": "1.0.0"}
TEMPLATE = yaml.safe_dump(deployment()).replace("replicas: 1", "replicas: {{ .Values.replicas }}")


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_branch, "PAUSES", (0.2,))


@pytest_asyncio.fixture
async def clone(flux: Flux, space: str, tmp_path: Path) -> Clone:
    """A platform that Flux has reconciled, and a release that a helmfile has installed."""
    made = await flux.sources.create_git(f"tests/{space}", access=Access(anonymous="write"))
    programs = await install.ensure(["helm", "kustomize"])
    release = {"name": "greeter", "namespace": space, "chart": "../charts/greeter", "values": [{"replicas": 2}]}
    files = {
        **platform(made.url, home="cluster"), **engine(made.url, space),
        "bootstrap/helmfile.yaml": {"releases": [release]},
        "charts/greeter/Chart.yaml": CHART,
        "charts/greeter/values.yaml": "replicas: 1\n",
        "charts/greeter/templates/web.yaml": TEMPLATE.replace("name: web", "name: greeter"),
    }  # fmt: skip
    found = changing.cloned(made.url, tmp_path / "repo", files, kubeconfig=flux.lab.kubeconfig, programs=programs)
    for each in files["cluster/sync.yaml"]:  # type: ignore[attr-defined]
        await flux.kube.apply(each, manager="tests")
    await flux.ready("Kustomization", "root", space)
    argv: list[str | Path] = [
        programs["helm"], "install", "greeter", found.root / "charts/greeter", "--namespace", space, "--set",
        "replicas=2", "--kubeconfig", flux.lab.kubeconfig,
    ]  # fmt: skip
    await asyncio.to_thread(lambda: subprocess.run(argv, check=True, capture_output=True))
    await until(lambda: _runs(flux, space), "two pods")
    return found


async def _runs(flux: Flux, space: str) -> bool:
    return len(await moving.pods(flux.kube, space, prefix="greeter")) == 2


async def _greeter(flux: Flux, space: str) -> dict[str, Any]:
    return dict(await flux.kube.get("apps/v1", "Deployment", "greeter", namespace=space))


async def test_a_release_of_a_helmfile_becomes_flux_own(clone: Clone, flux: Flux, space: str) -> None:
    pods, before = await moving.pods(flux.kube, space, prefix="greeter"), await _greeter(flux, space)
    assert "helm" in moving.managers(before)

    await moving.carry(clone, "greeter", "--to", "gitops")

    after = await _greeter(flux, space)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["labels"]["helm.toolkit.fluxcd.io/name"] == "greeter"
    assert "helm-controller" in moving.managers(after)
    assert "helm" not in moving.managers(after)
    assert await moving.pods(flux.kube, space, prefix="greeter") == pods
    release = await flux.get("HelmRelease", "greeter", space)
    assert release["spec"]["values"] == {"replicas": 2}
    assert release["status"]["history"][0]["version"] == 2, "one upgrade, of the release that was there"
    assert clone.records()[-1]["path"] == "move"
    assert yaml.safe_load((clone.root / "bootstrap/helmfile.yaml").read_text()) in (None, {})
