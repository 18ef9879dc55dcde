"""What the real Helm leaves behind where Argo CD takes over: named, and removed only when everything is Argo CD's."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from firstlight import errors
from firstlight.clients import command
from firstlight.clients import kube as clients_kube
from firstlight.commands.handover import helm_leftovers
from firstlight.execute.apply import helm_storage
from firstlight.execute.handover import migration, prediction
from firstlight.lab import running_lab
from firstlight.model.handover import Passing
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.rendition import Object
from firstlight.ownership import apply_form
from firstlight.tools import install

TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: shop}
data: {word: a}
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {ports: [{port: 80}]}
"""
OWNER = ObjectOwner(Party.ARGOCD, "Application shop")
MANAGER = "argocd-controller"


@pytest_asyncio.fixture
async def released(lab: running_lab.Lab, namespace: str, tmp_path: Path) -> str:
    """A release that somebody installed by hand."""
    helm = (await install.ensure(["helm"]))["helm"]
    (tmp_path / "shop/templates").mkdir(parents=True)
    (tmp_path / "shop/Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\n")
    (tmp_path / "shop/templates/all.yaml").write_text(TEMPLATE)
    for verb in ("install", "upgrade"):
        await command.run(
            [str(helm), verb, "shop", str(tmp_path / "shop"), "-n", namespace, "--kubeconfig", str(lab.kubeconfig)]
        )
    return namespace


async def take_over(kube: clients_kube.Client, namespace: str) -> None:
    """What ``owners`` does, and then Argo CD."""
    kept = await helm_storage.last(kube, "shop", namespace)
    assert kept is not None
    found = await prediction.find([_passing(each.value, namespace) for each in kept.objects("shop", namespace)], kube)
    await migration.migrate(found, kube, rules=migration.MigrationRules(cluster="lab"))
    for each in found:
        await kube.apply(apply_form.marked(each.object.value, OWNER), manager=MANAGER)


def _passing(value: Mapping[str, Any], namespace: str) -> Passing:
    named = {name: each for name, each in value["metadata"].items() if name == "name"}
    placed = Object({**value, "metadata": {**named, "namespace": namespace}})
    return Passing(object=placed, component="shop", manager=MANAGER, owner=OWNER)


async def test_releases_that_argo_cd_took_over_are_named_and_forgotten_on_request(
    kube: clients_kube.Client, released: str
) -> None:
    releases = [(released, "shop"), (released, "other")]

    found = await helm_leftovers.leftovers(kube, releases)

    assert [each.secret for each in found] == ["sh.helm.release.v1.shop.v1", "sh.helm.release.v1.shop.v2"]
    with pytest.raises(errors.Refused, match=f"{released}/shop is not Argo CD's"):
        await helm_leftovers.remove(kube, found)
    assert await helm_leftovers.leftovers(kube, releases) == found

    await take_over(kube, released)
    await helm_leftovers.remove(kube, found)

    assert await helm_leftovers.leftovers(kube, releases) == ()
    for kind in ("ConfigMap", "Service"):
        live = await kube.get("v1", kind, "shop", namespace=released)
        assert "deletionTimestamp" not in live["metadata"]
        assert "meta.helm.sh/release-name" not in live["metadata"].get("annotations", {})


async def test_what_a_helm_release_has_is_not_left_behind(
    kube: clients_kube.Client, released: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await helm_leftovers.leftovers(kube, [(released, "shop")])

    async def owned(client: clients_kube.Client) -> list[dict[str, Any]]:
        status = {"history": [{"name": "shop", "namespace": released}], "storageNamespace": released}
        return [{"metadata": {"name": "shop", "namespace": released}, "status": status}]

    # The shared lab has no helm-controller, and a CRD of its kind would be there for all.
    monkeypatch.setattr(helm_leftovers, "_helm_releases", owned)

    assert await helm_leftovers.leftovers(kube, [(released, "shop")]) == ()
    with pytest.raises(errors.Refused, match="HelmRelease"):
        await helm_leftovers.remove(kube, found)
