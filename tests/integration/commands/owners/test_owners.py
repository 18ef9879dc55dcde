"""Owners as a real cluster tells them: what Flux, Helm, people and controllers leave on objects."""

import asyncio
import dataclasses
import json
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

import pytest

from firstlight.cli import main
from firstlight.clients import kube
from firstlight.clients.kube.client_config import Impersonation
from firstlight.commands.owners import owners
from firstlight.model.component import ObjectId
from firstlight.model.owner import Flaw, ObjectOwner, OwnedObject, OwnerMap, Party
from firstlight.ownership.owner_map import DeclaredOwnership
from tests.argocd import ArgoCD
from tests.flux import OFTEN, Flux, chart, config
from tests.labs import until

TEMPLATE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}-greeting'}
data: {word: '{{ .Values.word }}'}
"""
PRUNE = "kustomize.toolkit.fluxcd.io/prune"


def deployment(name: str) -> dict[str, Any]:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "registry.example.org/web:1"}]},
            },
        },
    }


async def kustomization(flux: Flux, name: str, space: str) -> None:
    await flux.apply(
        "Kustomization", name, space,
        {"path": f"./{name}", "prune": True, "targetNamespace": space, "deletionPolicy": "Orphan",
         "sourceRef": {"kind": "GitRepository", "name": space}, **OFTEN},
    )  # fmt: skip


async def made(flux: Flux, space: str) -> None:
    """A namespace with owners of all sorts, as they come to be in real life."""
    kept = config("left", word="one") | {"metadata": {"name": "left", "annotations": {PRUNE: "disabled"}}}
    stale = config("stale", word="one")
    await flux.kube.apply(stale | {"metadata": {"name": "stale", "namespace": space}}, manager="talos")
    await flux.kube.create(
        config("by-hand", a="b") | {"metadata": {"name": "by-hand", "namespace": space}}, manager="kubectl-create"
    )
    commit = await flux.repository(
        space, space,
        {"one/web.yaml": deployment("web"), "one/both.yaml": config("both", word="one"), "one/left.yaml": kept,
         "one/stale.yaml": stale, "two/both.yaml": config("both", word="two"), "gone/alone.yaml": config("alone")},
    )  # fmt: skip
    for name in ("one", "two", "gone"):
        await kustomization(flux, name, space)
    url = (await flux.sources.create_charts(space)).url
    await flux.sources.push_chart(space, chart("greeter", "1.0.0", {"a.yaml": TEMPLATE}, "word: one\n"))
    await flux.apply("HelmRepository", "here", space, {"url": url, **OFTEN})
    of = {"spec": {"chart": "greeter", "version": "1.x", "sourceRef": {"kind": "HelmRepository", "name": "here"}}}
    await flux.apply("HelmRelease", "greeter", space, {"interval": "1m", "releaseName": "greeter", "chart": of})
    for name in ("one", "two", "gone"):
        await flux.ready("Kustomization", name, space, revision=commit)
    await flux.kube.delete("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "gone", namespace=space)
    commit = await flux.commit(space, {"one/left.yaml": None})
    await flux.reconcile("GitRepository", space, space)
    await flux.ready("Kustomization", "one", space, revision=commit)
    await flux.ready("HelmRelease", "greeter", space)

    async def has_pod() -> bool:
        return bool((await flux.kube.list("v1", "Pod", namespace=space)).items)

    await until(has_pod, "a pod")


def one(found: OwnerMap, kind: str, name: str) -> OwnedObject:
    (object,) = [each for each in found.objects if (each.id.kind, each.id.name) == (kind, name)]
    return object


def flaws(each: OwnedObject) -> dict[Flaw, str]:
    return {one.flaw: one.says for one in each.flaws}


async def test_a_namespace_with_owners_of_all_sorts(flux: Flux, space: str) -> None:
    await made(flux, space)
    declared = {
        ObjectId("apps", "Deployment", space, "web"): DeclaredOwnership(
            "web", ObjectOwner(Party.FLUX, f"Kustomization {space}/two")
        ),
        ObjectId("", "ConfigMap", space, "stale"): DeclaredOwnership(
            "web", ObjectOwner(Party.FLUX, f"Kustomization {space}/one")
        ),
    }

    found = await owners.owners(flux.kube, cluster="infra", declared=declared, namespace=space, with_fields=True)

    web = one(found, "Deployment", "web")
    assert web.owner == ObjectOwner(Party.FLUX, f"Kustomization {space}/one")
    assert web.co_owners == ()
    assert flaws(web) == {
        Flaw.NOT_AS_DECLARED: f"flux (Kustomization {space}/one) has it, and Kustomization {space}/two is to own it"
    }
    assert web.fields["spec.template.spec.containers[name=main].image"] == ("kustomize-controller",)
    assert web.fields["status.observedGeneration"] == ("kube-controller-manager",)

    (pod,) = [each for each in found.objects if each.id.kind == "Pod"]
    assert (pod.owner, pod.under, pod.flaws) == (web.owner, web.id, ())

    stale = one(found, "ConfigMap", "stale")
    assert (stale.owner, stale.co_owners) == (web.owner, (ObjectOwner(Party.TALOS),))
    assert flaws(stale) == {Flaw.STALE_CO_OWNER: "talos still owns data.word"}
    assert stale.component == "web"

    both = flaws(one(found, "ConfigMap", "both"))
    assert list(both) == [Flaw.TWO_ENGINES]
    assert all(f"Kustomization {space}/{name}" in both[Flaw.TWO_ENGINES] for name in ("one", "two"))

    assert flaws(one(found, "ConfigMap", "left")) == {Flaw.SOURCE_GONE: f"Kustomization {space}/one does not list it"}
    assert flaws(one(found, "ConfigMap", "alone")) == {Flaw.SOURCE_GONE: f"Kustomization {space}/gone does not exist"}

    release = ObjectOwner(Party.FLUX, f"HelmRelease {space}/greeter")
    for kind, name in (
        ("ConfigMap", "greeter-greeting"),
        ("HelmChart", f"{space}-greeter"),
        ("Secret", "sh.helm.release.v1.greeter.v1"),
    ):
        each = one(found, kind, name)
        assert (each.owner, each.flaws) == (release, ()), name

    hand = one(found, "ConfigMap", "by-hand")
    assert hand.owner == ObjectOwner(Party.PERSON, "kubectl-create")
    assert list(flaws(hand)) == [Flaw.ORPHAN]

    for kind, name in (("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")):
        assert one(found, kind, name).owner.party == Party.SYSTEM
    assert found.unread == ()


async def test_nothing_that_kubernetes_or_flux_makes_is_an_orphan(flux: Flux) -> None:
    """In a cluster that nobody touched by hand, no part of the system is taken for a thing that somebody forgot."""
    found = await owners.owners(flux.kube, cluster="infra")

    # Other tests of this lab apply as firstlight, wherever they need to: a baseline, a lease, namespaces.
    ours = [
        each
        for each in found.objects
        if not (each.id.namespace or each.id.name).startswith("test-") and each.owner.party != Party.BOOTSTRAP
    ]
    assert {each.owner.party for each in ours} <= {Party.SYSTEM, Party.CONTROLLER, Party.FLUX, Party.NOBODY}
    # The tests apply accounts that have a name alone: no field of them can be owned.
    assert {each.id.kind for each in ours if each.flaws} <= {"ServiceAccount"}
    system = {each.id.kind for each in ours if each.owner.party == Party.SYSTEM}
    assert {"Node", "Lease", "FlowSchema", "APIService", "ClusterRole", "Namespace", "ServiceAccount"} <= system


async def test_the_command_without_a_repo(
    flux: Flux, space: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    await flux.kube.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine", "namespace": space},
         "stringData": {"password": "not-to-be-seen"}},
        manager="kubectl-create",
    )  # fmt: skip
    command = ["owners", "--kubeconfig", str(flux.lab.kubeconfig), "--namespace", space]

    picture = tmp_path / "owners.svg"
    assert await asyncio.to_thread(main.run, [*command, "--fields", "--picture", str(picture)]) == 0
    text = capsys.readouterr().out
    assert f"Secret {space}/mine   made with kubectl-create, and nothing in Git" in text
    assert "      data.password" in text
    assert "no repo says who is to own what" in text
    assert "not-to-be-seen" not in text
    xml.etree.ElementTree.fromstring(picture.read_text())

    assert await asyncio.to_thread(main.run, [*command, "--check", "-o", "json"]) == 2
    data = json.loads(capsys.readouterr().out)
    (found,) = data["objects"]
    assert (found["name"], found["owner"]["party"], found["flaws"][0]["flaw"]) == ("mine", "person", "orphan")
    # What stands in no namespace was read, too, and is not counted.
    assert sum(data["flaws"].values()) == 1

    assert await asyncio.to_thread(main.run, [*command, "--check", "--owner", "system"]) == 0
    capsys.readouterr()
    assert await asyncio.to_thread(main.run, [*command, "--kind", "secret"]) == 0
    assert "   1 object, 1 with flaws\n\nowners\n  person   1   kubectl-create\n" in capsys.readouterr().out


async def test_kinds_that_may_not_be_read_are_told(flux: Flux, space: str) -> None:
    """Whoever may see one namespace alone sees that, and is told what is missing; nothing is said to be gone."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "reader", "namespace": space},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}],
    }  # fmt: skip
    await flux.kube.apply(role, manager="tests")
    labels = {"kustomize.toolkit.fluxcd.io/name": "elsewhere", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    metadata = {"name": "theirs", "namespace": space, "labels": labels}
    await flux.kube.apply(config("theirs", a="b") | {"metadata": metadata}, manager="kustomize-controller")
    limited = dataclasses.replace(
        kube.load(flux.lab.kubeconfig), impersonation=Impersonation("reader", groups=("system:authenticated",))
    )

    async with kube.Client(limited) as client:
        found = await owners.owners(client, cluster="infra", namespace=space)

    theirs = one(found, "ConfigMap", "theirs")
    assert (theirs.owner.name, theirs.flaws) == ("Kustomization flux-system/elsewhere", ())
    assert any(each.startswith("Secret (v1):") for each in found.unread)
    assert any(each.startswith("Kustomization (kustomize") for each in found.unread)


async def test_applications_of_argocd(argocd: ArgoCD, site: str) -> None:
    """By tracking id and by what they list; what was removed from Git and not pruned is told."""
    metadata = {"name": "settings", "namespace": site}
    await argocd.kube.apply({**config("settings", word="one"), "metadata": metadata}, manager="helm")
    kept = {
        **config("kept", a="b"),
        "metadata": {"name": "kept", "annotations": {"argocd.argoproj.io/sync-options": "Prune=false"}},
    }
    first = await argocd.commit(site, {"settings.yaml": config("settings", word="one"), "kept.yaml": kept})
    await argocd.application(site, site, {"repoURL": argocd.git(site), "path": ".", "targetRevision": "main"})
    await argocd.synced(site, first)
    await argocd.commit(site, {"kept.yaml": None})
    await argocd.refresh(site)

    async def is_left() -> bool:
        listed = (await argocd.get(site))["status"]["resources"]
        return any(each.get("requiresPruning") for each in listed)

    await until(is_left, "Argo CD to say that it would prune")
    found = await owners.owners(argocd.kube, cluster="infra", namespace=site)

    application = ObjectOwner(Party.ARGOCD, f"Application {site}")
    settings = one(found, "ConfigMap", "settings")
    assert (settings.owner, settings.co_owners) == (application, (ObjectOwner(Party.HELM),))
    assert flaws(settings) == {Flaw.STALE_CO_OWNER: "helm still owns data.word"}
    kept_one = one(found, "ConfigMap", "kept")
    assert kept_one.owner == application
    assert flaws(kept_one) == {Flaw.SOURCE_GONE: f"Git does not have it any more: Application {site} is to prune it"}


async def test_owners_that_the_repo_declares(
    flux: Flux, space: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await flux.kube.create(
        {**config("settings", a="b"), "metadata": {"name": "settings", "namespace": space}}, manager="kubectl-create"
    )
    source = {"kind": "GitRepository", "name": "flux-system"}
    spec = {"path": "./apps", "prune": True, "interval": "1m", "targetNamespace": space, "sourceRef": source}
    files = {
        "firstlight.yaml": {
            "apiVersion": "firstlight.dev/v1alpha1", "kind": "Platform", "metadata": {"name": "home"},
            "gitops": {"engine": "flux", "url": "https://git.example.org/me/home", "branch": "main"},
            "clusters": {"infra": {"path": "clusters/infra"}},
        },
        "clusters/infra/apps.yaml": {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "apps", "namespace": "flux-system"}, "spec": spec,
        },
        "apps/settings.yaml": config("settings", a="b"),
    }  # fmt: skip
    for path, value in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(json.dumps(value))
    command = ["owners", "--repo", str(tmp_path), "--kubeconfig", str(flux.lab.kubeconfig), "--namespace", space]

    assert await asyncio.to_thread(main.run, [*command, "--check", "-o", "json"]) == 2

    data = json.loads(capsys.readouterr().out)
    (found,) = data["objects"]
    assert found["flaws"] == [
        {
            "flaw": "not as declared",
            "says": "person (kubectl-create) has it, and Kustomization flux-system/apps is to own it",
        }
    ]
    assert (data["cluster"], found["component"], data["notes"]) == ("infra", "apps", [])
