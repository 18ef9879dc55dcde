"""Changes carried through with a real Argo CD: an app of apps, the very commit, and the way back."""

from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from firstlight.lab.sources.declarations import Access
from firstlight.tools import install
from tests import changing
from tests.argocd import HOME, ArgoCD, application
from tests.changing import Clone


def deployment(image: str = "example.org/web:1.0.0", replicas: int = 1) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": image}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


@pytest_asyncio.fixture
async def clone(argocd: ArgoCD, site: str, tmp_path: Path) -> Clone:
    """An app of apps that Argo CD has synced."""
    made = await argocd.sources.create_git(f"tests/{site}", access=Access(anonymous="write"))
    programs = await install.ensure(["helm", "kustomize"])
    root, web = (f"{site}-{each}" for each in ("root", "web"))
    declared = {
        "apiVersion": "firstlight.dev/v1alpha1",
        "kind": "Platform",
        "metadata": {"name": "small"},
        "gitops": {"engine": "argocd", "url": made.url, "branch": "main"},
        "clusters": {"home": {"path": "apps"}},
    }
    files = {
        "firstlight.yaml": declared,
        "root.yaml": application(root, HOME, {"repoURL": made.url, "path": "apps", "targetRevision": "main"}),
        "apps/web.yaml": application(web, site, {"repoURL": made.url, "path": "web", "targetRevision": "main"}),
        "web/web.yaml": deployment(),
    }
    found = changing.cloned(made.url, tmp_path / "repo", files, kubeconfig=argocd.lab.kubeconfig, programs=programs)
    await argocd.kube.apply(files["root.yaml"], manager="tests")
    await argocd.synced(web, found.git("rev-parse", "HEAD"))
    return found


async def test_a_change_is_synced_at_the_very_commit(clone: Clone, argocd: ArgoCD, site: str) -> None:
    clone.write("web/web.yaml", deployment(replicas=2))

    told = await clone.change("start", "--why", "more load", "--merge", "--yes", "-ojson")

    assert told.code == 0, told.err
    found = await argocd.get(f"{site}-web")
    assert (
        found["status"]["sync"]["revision"] == told.data["parts"][0]["merged"] == clone.git("rev-parse", "origin/main")
    )
    live = await argocd.kube.get("apps/v1", "Deployment", "web", namespace=site)
    assert live["spec"]["replicas"] == 2
    asked = next(each for each in told.data["steps"] if each["id"] == "home:reconcile")
    assert f"Application {HOME}/{site}-web at " in asked["says"]


@pytest.mark.long
async def test_what_does_not_become_healthy_is_taken_back(clone: Clone, argocd: ArgoCD, site: str) -> None:
    clone.write("web/web.yaml", deployment(image="example.org/broken:1.0.1"))

    told = await clone.change(
        "start", "--why", "a fix", "--merge", "--yes", "--patience", "8", "--revert-on-failure", "-ojson"
    )

    assert told.code == 1, told.err
    assert told.data["standing"] == "reverted"
    live = await argocd.kube.get("apps/v1", "Deployment", "web", namespace=site)
    assert live["spec"]["template"]["spec"]["containers"][0]["image"] == "example.org/web:1.0.0"
    found = await argocd.get(f"{site}-web")
    assert found["status"]["sync"]["revision"] == told.data["parts"][0]["reverted"]
