"""What ``audit --fix`` writes, carried through on clusters: Git loses what it must not lose, and it stays.

Each engine has two repos that are equal but for the fixes. Both are reconciled, one is fixed, pushed and reconciled
again, and then the same harm is done to both: what a rule warns of happens to the one, and not to the other.

Without harm: Rook does not run in the lab, so that nobody would wipe a disk; that the API server takes the emptied
confirmation of a CephCluster, by the very pattern of Rook's schema, and that Flux reports ready, is seen all the same.
Without flux-operator: it would take over the Flux of the other tests. A FluxInstance is an object of its kind to which
nothing happens, and a GitRepository is made of its sync as the operator does.
"""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from firstlight.document import yaml_reader
from firstlight.tools import content
from tests.flux import API, OFTEN, Flux, chart, said
from tests.integration.commands.audit.audited_clone import Clone, clone
from tests.integration.commands.node import precious
from tests.labs import condition, manifests, until

SCENARIOS = Path(__file__).parents[3] / "scenarios" / "audit"
BY_FLUX = {
    "ceph-cleanup-confirmed", "prune-of-cni", "prune-of-crds", "prune-of-engine", "prune-of-namespace",
    "remediation-uninstalls", "retry-interval-missing",
}  # fmt: skip
BY_ARGOCD = {"finalizer-wipes", "handover-client-side", "prune-of-namespace"}
BY_MACHINES = {"extension-unconfigured"}
SHORT = "sync-ref-short"
SETTINGS = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Values.settings }}"}\n'
REFUSED = "Not_A_Name"
KUSTOMIZATIONS = ("home", "crds", "namespaces", "database", "network", "engine", "late")
INSTANCES = "fluxinstances.fluxcd.controlplane.io"
CEPH: dict[str, Any] = {
    "apiVersion": precious.CRD[0], "kind": precious.CRD[1], "metadata": {"name": "cephclusters.ceph.rook.io"},
    "spec": {
        "group": "ceph.rook.io", "scope": "Namespaced", "names": {"kind": "CephCluster", "plural": "cephclusters"},
        "versions": [{
            "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {"cleanupPolicy": {
                    "type": "object", "properties": {"confirmation": {
                        "type": "string", "nullable": True, "pattern": "^$|^yes-really-destroy-data$",
                    }},
                }}}},
            }},
        }],
    },
}  # fmt: skip


def test_every_rule_with_edits_is_carried_through() -> None:
    """A new one belongs into a repo here, unless what it edits is nothing that a cluster does."""
    cases = {
        file.stem: yaml_reader.read(file.read_bytes(), file.name).documents[0].value["fires"]
        for file in SCENARIOS.glob("*.yaml")
    }  # fmt: skip
    fixed = {
        rule for rule, found in cases.items()
        for each in (found if isinstance(found, list) else [found]) if "fixed" in each
    }  # fmt: skip
    assert fixed == BY_FLUX | BY_ARGOCD | BY_MACHINES | {SHORT}


async def begin(flux: Flux, one: Clone) -> tuple[str, ...]:
    """Push it, and let Flux follow it, as ``flux bootstrap`` does; what must not be lost."""
    space, commit = one.words["NAME"], await one.push()
    for obj in yaml.safe_load_all((one.path / "clusters/home/flux-system/gotk-sync.yaml").read_text()):
        await flux.kube.apply(obj, manager="tests")
    await reconciled(flux, space, commit, *KUSTOMIZATIONS)
    await flux.ready("HelmRelease", "cilium", space)
    await flux.ready("HelmRelease", "cert-manager", space)
    return await precious.noted(flux.kube, space, space)


async def harm(flux: Flux, one: Clone) -> None:
    """Files go from Git, and an upgrade and a Kustomization fail."""
    space = one.words["NAME"]
    gone = ("crds/notes.yaml", "namespaces/data.yaml", "network/cilium.yaml", "engine/flux.yaml")
    one.write(dict.fromkeys(gone))
    one.replace("network/cert-manager.yaml", "settings: settings", f"settings: {REFUSED}")
    one.replace("late/settings.yaml", "name: late", f"name: {REFUSED}")
    commit = await one.push()
    await flux.reconcile("GitRepository", "home", space)
    await reconciled(flux, space, commit, "crds", "namespaces", "network", "engine")


async def reconciled(flux: Flux, space: str, commit: str, *names: str) -> None:
    """Wait until Kustomizations have applied a commit."""
    for name in names:
        await flux.ready("Kustomization", name, space, revision=commit)


async def remediated(flux: Flux, space: str) -> str:
    """How a failed upgrade was remediated."""

    async def reason() -> str:
        found = await flux.get("HelmRelease", "cert-manager", space)
        return said(found, "Remediated") if condition(found, "Remediated") == "True" else ""

    return await until(reason, "the upgrade to fail")


async def minutes(flux: Flux, space: str) -> int:
    """After how many minutes what has failed is tried again, as the controller says."""
    log = flux.lab.home.logs / "kustomize-controller.log"

    async def told() -> list[str]:
        lines = (line for line in log.read_text().splitlines() if f'"namespace":"{space}"' in line)
        return [
            found[1] for line in lines if '"name":"late"' in line and (found := re.search(r"next try in (\d+)m", line))
        ]

    return int((await until(told, "late to fail"))[-1])


async def charted(flux: Flux, space: str) -> str:
    """A Helm repository with the charts; its address."""
    made = await flux.sources.create_charts(space)
    more: Mapping[str, Mapping[str, str]] = {"cilium": {}, "cert-manager": {"settings.yaml": SETTINGS}}
    for name, templates in more.items():
        archive = chart(name, "1.18.2", {"config.yaml": precious.CONFIG, **templates}, "word: one\n")
        await flux.sources.push_chart(space, archive)
    return made.url


async def releases(flux: Flux, space: str) -> tuple[str, ...]:
    """What the releases of the network and of the certificates have made."""
    names = ("cilium-config", "cert-manager-config")
    return tuple([await precious.uid(flux.kube, "v1", "ConfigMap", each, space) for each in names])


async def instance(flux: Flux, space: str) -> tuple[str, ...]:
    """The FluxInstance."""
    return (await precious.uid(flux.kube, API["FluxInstance"], "FluxInstance", "flux", space),)


async def test_what_flux_would_lose_stays(flux: Flux, space: str, tmp_path: Path) -> None:
    spaces = space, plain = (space, f"{space}-plain")
    charts = await charted(flux, space)
    operator = (await content.ensure(["flux-operator-manifests"]))["flux-operator-manifests"]
    kinds = [each for each in manifests(operator / "install.yaml") if each and each["metadata"]["name"] == INSTANCES]
    for each in (CEPH, *kinds):
        await flux.kube.apply(each, manager="tests")
    await flux.kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": plain}}, manager="tests")
    clones = [await clone(flux.sources, tmp_path / each, repo="flux", NAME=each, CHARTS=charts) for each in spaces]

    async with precious.cleared(
        flux.kube,
        spaces,
        *((*precious.CRD, each["metadata"]["name"]) for each in (CEPH, *kinds)),
        ("v1", "Namespace", plain),
    ):
        mine, _ = await asyncio.gather(*(begin(flux, each) for each in clones))
        made = *await releases(flux, space), *await instance(flux, space)
        assert all(made)

        assert await clones[0].audit() == BY_FLUX
        assert await clones[0].audit("--fix") == set()
        commit = await clones[0].push()
        await flux.reconcile("GitRepository", "home", space)
        await reconciled(flux, space, commit, *KUSTOMIZATIONS)
        ceph = await flux.kube.get("ceph.rook.io/v1", "CephCluster", "ceph", namespace=space)
        assert ceph["spec"]["cleanupPolicy"] == {"confirmation": ""}

        await asyncio.gather(*(harm(flux, each) for each in clones))

        assert "uninstall" in await remediated(flux, plain)
        await precious.lost(lambda: precious.things(flux.kube, plain, plain), "what nobody kept")
        await precious.lost(lambda: releases(flux, plain), "the network and the certificates")
        await precious.lost(lambda: instance(flux, plain), "the FluxInstance")
        assert await minutes(flux, plain) in range(28, 32)

        assert "rollback" in await remediated(flux, space)
        assert await precious.things(flux.kube, space, space) == mine
        assert (*await releases(flux, space), *await instance(flux, space)) == made
        assert await minutes(flux, space) in (1, 2)
        await flux.ready("HelmRelease", "cilium", space)


async def test_flux_finds_a_branch_by_its_whole_name(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await clone(flux.sources, tmp_path / space, repo="flux_instance", NAME=space)

    async def follow() -> str:
        """Push, and let Flux follow the sync; the commit."""
        commit = await one.push()
        sync = yaml.safe_load((one.path / "clusters/home/flux.yaml").read_text())["spec"]["sync"]
        await flux.apply("GitRepository", "fleet", space, {"url": sync["url"], "ref": {"name": sync["ref"]}, **OFTEN})
        return commit

    await follow()
    assert "main" in await flux.unready("GitRepository", "fleet", space, "ref")

    assert await one.audit() == {SHORT}
    assert await one.audit("--fix") == set()

    await flux.ready("GitRepository", "fleet", space, revision=await follow())
