"""Components whose files are in other repositories, fetched from real servers."""

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.flux import chart
from tests.integration.render import repos, test_argocd_repo
from tests.integration.render.repos import Kitchen, messages, objects
from tests.integration.render.shop import Shop
from tests.integration.render.test_argocd_repo import application
from tests.integration.render.test_flux_repo import CHART, CONFIG, SYSTEM, kustomization, release, repo


@pytest.fixture
def here(kitchen: Kitchen, shop: Shop) -> Kitchen:
    return shop.served(kitchen)


async def other(shop: Shop) -> tuple[str, str]:
    """Another Git repository with a kustomization, plain files and a chart; its URL and commit."""
    name = shop.fresh("team/n")
    await shop.sources.create_git(name)
    files = {
        "deploy/kustomization.yaml": b"resources: [a.yaml]\nnamePrefix: far-\n",
        "deploy/a.yaml": (CONFIG % ("a", "${word}")).encode(),
        "plain/b.yaml": (CONFIG % ("b", "1")).encode(),
        **{path: repos.text(content).encode() for path, content in CHART.items()},
    }
    moved = await shop.sources.commit(name, files, message="one")
    return f"{shop.at.git}{name}.git", moved.after


async def test_a_kustomization_of_another_git_repository(here: Kitchen, shop: Shop, tmp_path: Path) -> None:
    url, commit = await other(shop)
    source = {
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": "far", "namespace": SYSTEM},
        "spec": {"url": url, "ref": {"branch": "main"}, "interval": "1m"},
    }  # fmt: skip
    far = kustomization("far", "./deploy", targetNamespace="there", postBuild={"substitute": {"word": "given"}})
    far["spec"]["sourceRef"] = {"kind": "GitRepository", "name": "far"}
    root = repo(tmp_path / "repo", {"app/a.yaml": CONFIG % ("x", "1"), "clusters/one/far.yaml": [source, far]})
    rendition = (await here.one(root, "far")).rendition

    assert messages(rendition) == []
    assert objects(rendition)["ConfigMap/far-a"]["data"] == {"word": "given"}
    assert objects(rendition)["ConfigMap/far-a"]["metadata"]["namespace"] == "there"
    assert [each.digest for each in rendition.pins] == [commit]
    again = await here.one(root, "far", offline=True)
    assert again.is_cached
    assert again.rendition == rendition


async def test_applications_of_another_git_repository(here: Kitchen, shop: Shop, tmp_path: Path) -> None:
    url, commit = await other(shop)

    def far(path: str, **more: Any) -> dict[str, Any]:
        return {"repoURL": url, "targetRevision": "main", "path": path, **more}

    apps = [
        application("kustomized", far("deploy")), application("plain", far("plain")),
        application("chart", far("charts/hello", helm={"valuesObject": {"word": "given"}})),
        application("bare-chart", far("charts/hello")),
    ]  # fmt: skip
    found = await here.everything(test_argocd_repo.repo(tmp_path / "repo", {}, *apps))
    by_name = {name: outcome.rendition for (name, _), outcome in found.items()}

    assert {name: messages(each, "error") for name, each in by_name.items()} == {name: [] for name in by_name}
    assert sorted(objects(by_name["kustomized"])) == ["ConfigMap/far-a"]
    assert sorted(objects(by_name["plain"])) == ["ConfigMap/b"]
    assert objects(by_name["chart"])["ConfigMap/chart-config"]["data"]["word"] == "given"
    assert objects(by_name["bare-chart"])["ConfigMap/bare-chart-config"]["data"]["word"] == "plain"
    assert {pin.digest for each in by_name.values() for pin in each.pins} == {commit}


async def test_charts_that_a_local_chart_needs(here: Kitchen, shop: Shop, tmp_path: Path) -> None:
    shelf = shop.fresh()
    archive = chart(
        "inner", "1.4.0", {"a.yaml": CONFIG % ("{{ .Release.Name }}-inner", "{{ .Values.word }}")}, "word: x\n"
    )
    repository = await shop.sources.create_charts(shelf)
    await shop.sources.push_chart(shelf, archive)
    await shop.sources.push_oci_chart(shelf, archive)
    outer = (
        "apiVersion: v2\nname: hello\nversion: 1.2.3\ndependencies:\n"
        f"  - {{name: inner, version: 1.x, repository: '{repository.url}', alias: one}}\n"
    )
    files: dict[str, object] = {
        **CHART,
        "charts/hello/Chart.yaml": outer,
        "app/release.yaml": release(values={"one": {"word": "given"}}),
    }
    rendition = (await here.one(repo(tmp_path / "repo", files), "hello")).rendition

    assert messages(rendition, "error") == []
    assert objects(rendition)["ConfigMap/hello-inner"]["data"] == {"word": "given"}
    assert [each.version for each in rendition.pins] == ["1.4.0"]


@pytest.mark.parametrize("is_right", [True, False])
async def test_a_declared_file_of_the_web_must_have_its_digest(here: Kitchen, tmp_path: Path, is_right: bool) -> None:
    content = (CONFIG % ("rocket", "1")).encode()

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=content)

    application = web.Application()
    application.router.add_get("/v1.1.0/rocket.yaml", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.71.254.6", 0).start()
    address = "{}:{}".format(*runner.addresses[0])
    digest = f"sha256:{hashlib.sha256(content if is_right else b'another').hexdigest()}"
    declared = {"from": f"http://{address}/v1.1.0/rocket.yaml", "digest": digest}
    root = repos.write(tmp_path / "repo", {
        "talos/cp-1.yaml": {"machine": {"type": "controlplane"}, "cluster": {"clusterName": "home"}},
        "firstlight.yaml": {
            "apiVersion": "firstlight.dev/v1alpha1", "kind": "Platform", "metadata": {"name": "home"},
            "components": {"rocket": declared},
        },
    })  # fmt: skip
    try:
        own = dataclasses.replace(here, plain_http=here.plain_http | {address})
        rendition = (await own.one(root, "rocket")).rendition
    finally:
        await runner.cleanup()

    assert sorted(objects(rendition)) == (["ConfigMap/rocket"] if is_right else [])
    assert bool(messages(rendition, "error")) is not is_right


async def test_a_chart_in_a_kustomization(here: Kitchen, shop: Shop, tmp_path: Path) -> None:
    """kustomize has helm inflate a chart that lies beside it; that of a registry is put there first."""
    files: dict[str, object] = {
        "app/kustomization.yaml": {
            "helmCharts": [{"name": "hello", "releaseName": "inflated", "valuesInline": {"word": "given"}}],
        },
        **{f"app/{path}": content for path, content in CHART.items()},
    }  # fmt: skip
    root = test_argocd_repo.repo(tmp_path / "repo", files, application("app", {
        "repoURL": "https://git.example.org/me/home.git", "targetRevision": "main", "path": "app"}))  # fmt: skip
    rendition = (await here.one(root, "app")).rendition

    assert messages(rendition, "error") == []
    assert objects(rendition)["ConfigMap/inflated-config"]["data"]["word"] == "given"
