"""What ``audit --fix`` writes, carried through with Argo CD: an Application goes, Git loses files, and all stays."""

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.clients import kube
from tests.argocd import ArgoCD
from tests.flux import chart
from tests.integration.commands.audit.audited_clone import Clone, clone
from tests.integration.commands.audit.test_audit_fixes import BY_ARGOCD
from tests.integration.commands.node import precious
from tests.labs import until


async def finished(argocd: ArgoCD, name: str, commit: str) -> None:
    """Wait until an Application has carried a commit out, also where something stays that Git no longer has.

    Its health is not waited for: that of a new CRD is seen late.
    """
    status: dict[str, Any] = {}

    async def is_finished() -> bool:
        with contextlib.suppress(kube.NotFound):
            status.update((await argocd.get(name)).get("status", {}))
        state = status.get("operationState", {})
        return state.get("phase") == "Succeeded" and (state.get("syncResult") or {}).get("revision") == commit

    try:
        await until(is_finished, f"{name} to carry out {commit}")
    except AssertionError as error:
        raise AssertionError(f"{error}: {json.dumps(status)}") from None


async def deleted(argocd: ArgoCD, name: str) -> None:
    """Wait until an Application is no longer there."""

    async def is_deleted() -> bool:
        try:
            await argocd.get(name)
        except kube.NotFound:
            return True
        return False

    await until(is_deleted, f"{name} to be deleted")


async def begin(argocd: ArgoCD, site: str, one: Clone) -> tuple[str, ...]:
    """Bootstrap, then Argo CD; what must not be lost."""
    name = one.words["NAME"]
    # Bootstrap was here, in the name of the engine; Git has one word less by now.
    metadata = {"name": f"{name}-cert-manager-config", "namespace": site}
    left = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"word": "one", "old": "1"}}
    await argocd.kube.apply(left, manager="argocd-controller")
    commit = await one.push()
    await argocd.kube.apply(yaml.safe_load((one.path / "root.yaml").read_text()), manager="tests")
    for part in ("", "-crds", "-namespaces"):
        await finished(argocd, f"{name}{part}", commit)
    await argocd.synced(f"{name}-cilium")
    await argocd.synced(f"{name}-cert-manager")
    await argocd.holds(f"{name}-cert-manager-config", site, {"word": "one", "old": "1"})
    return await precious.noted(argocd.kube, name, site)


async def harm(argocd: ArgoCD, one: Clone) -> None:
    """Files go from Git, with the Application of the network, and a word changes."""
    name = one.words["NAME"]
    one.write({"crds/notes.yaml": None, "namespaces/data.yaml": None, "applications/cilium.yaml": None})
    one.replace("applications/cert-manager.yaml", "word: one", "word: two")
    one.replace("crds/about.yaml", "word: one", "word: two")
    commit = await one.push()
    for part in ("", "-crds", "-namespaces"):
        await argocd.refresh(f"{name}{part}")
    for part in ("", "-crds", "-namespaces"):
        await finished(argocd, f"{name}{part}", commit)
    await deleted(argocd, f"{name}-cilium")


@pytest.mark.long  # in every run the same is shown with Flux: test_audit_fixes.py
async def test_what_argocd_would_lose_stays(argocd: ArgoCD, site: str, tmp_path: Path) -> None:
    kept, plain = names = (f"{site}-kept", f"{site}-plain")
    charts = (await argocd.sources.create_charts(site)).url
    for name in ("cilium", "cert-manager"):
        await argocd.sources.push_chart(site, chart(name, "1.18.2", {"config.yaml": precious.CONFIG}, "word: one\n"))
    clones = [
        await clone(argocd.sources, tmp_path / each, repo="argocd", NAME=each, SITE=site, CHARTS=charts)
        for each in names
    ]  # fmt: skip

    async with precious.cleared(argocd.kube, names):
        mine, theirs = await asyncio.gather(*(begin(argocd, site, each) for each in clones))
        network = await precious.uid(argocd.kube, "v1", "ConfigMap", f"{kept}-cilium-config", site)
        assert network

        assert await clones[0].audit() == BY_ARGOCD
        assert await clones[0].audit("--fix") == set()
        commit = await clones[0].push()
        for name in (kept, f"{kept}-namespaces"):
            await argocd.refresh(name)
            await finished(argocd, name, commit)
        assert "finalizers" not in (await argocd.get(f"{kept}-cilium"))["metadata"]

        await asyncio.gather(*(harm(argocd, each) for each in clones))

        await precious.lost(lambda: precious.data(argocd.kube, plain), "what nobody kept")
        await argocd.holds(f"{plain}-cilium-config", site, None)
        await argocd.holds(f"{plain}-cert-manager-config", site, {"word": "two", "old": "1"})

        assert await precious.things(argocd.kube, kept, site) == mine
        # It marks no CRD as its own: whoever prunes with it need not keep them.
        assert await precious.notes(argocd.kube, plain, site) == theirs[:2]
        assert await precious.uid(argocd.kube, "v1", "ConfigMap", f"{kept}-cilium-config", site) == network
        await argocd.holds(f"{kept}-cert-manager-config", site, {"word": "two"})
