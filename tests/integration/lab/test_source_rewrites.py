"""Source URLs lead to the lab's servers as long as it is declared, for the kinds of the real Flux and Argo CD."""

import base64
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
import yaml

from firstlight.clients.kube import Client
from firstlight.lab import rewrite_rules
from firstlight.lab.running_lab import Lab
from firstlight.lab.simulations import source_rewrites
from firstlight.model import argocd_names
from firstlight.tools import content
from tests.labs import condition, until

ORIGINAL = "https://github.com/me/home-ops"
GIT = "http://127.71.1.1:3000/git/me/home-ops.git"
RULES = (
    rewrite_rules.SourceRewrite(ORIGINAL, GIT),
    rewrite_rules.SourceRewrite("oci://ghcr.io/me", "oci://127.71.1.1:5000/me"),
)
KINDS = {
    "gitrepositories.source.toolkit.fluxcd.io",
    "ocirepositories.source.toolkit.fluxcd.io",
    "applications.argoproj.io",
    "appprojects.argoproj.io",
}


def definitions(flux: Path, argo: Path) -> Iterator[dict[str, Any]]:
    for path in (flux / "crds.yaml", *sorted((argo / "crds").glob("*.yaml"))):
        for obj in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader):
            if obj and obj["kind"] == "CustomResourceDefinition" and obj["metadata"]["name"] in KINDS:
                yield obj


@pytest_asyncio.fixture(scope="module")
async def kinds(kube: Client) -> AsyncIterator[None]:
    """The definitions of Flux and Argo CD; they go again, since other tests bring their own."""
    found = await content.ensure(["flux-manifests", "argocd-manifests"])
    made = list(definitions(found["flux-manifests"], found["argocd-manifests"]))
    assert {obj["metadata"]["name"] for obj in made} == KINDS
    for obj in made:
        await kube.apply(obj, manager="tests")

        async def established(name: str = obj["metadata"]["name"]) -> bool:
            live = await kube.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)
            return condition(live, "Established") == "True"

        await until(established, obj["metadata"]["name"])
    yield
    for obj in made:
        await kube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", obj["metadata"]["name"])


@pytest_asyncio.fixture(scope="module")
async def rewriting(lab: Lab, kinds: None, programs: dict[str, Path]) -> AsyncIterator[Lab]:
    """The shared lab, with rewrites declared."""
    before = lab.settings()
    await lab.up(programs, settings=msgspec.structs.replace(before, rewrites=RULES))
    yield lab
    await lab.up(programs, settings=before)


def git_repository(namespace: str, url: str = ORIGINAL, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "home", "namespace": namespace},
        "spec": {"url": url, "interval": "1m", "ref": {"branch": "main"}, **spec},
    }


async def test_it_is_rewritten_when_it_is_created_and_when_it_is_changed(
    rewriting: Lab, kube: Client, namespace: str
) -> None:
    created = await kube.create(git_repository(namespace, "https://example.org/else"), manager="somebody")
    assert created["spec"]["url"] == "https://example.org/else"
    assert source_rewrites.ANNOTATION not in created["metadata"].get("annotations", {})

    changed = await kube.patch(
        created["apiVersion"], "GitRepository", "home", {"spec": {"url": "ssh://git@github.com/me/home-ops"}},
        form="merge", manager="somebody", namespace=namespace,
    )  # fmt: skip
    assert changed["spec"]["url"] == GIT
    assert changed["metadata"]["annotations"][source_rewrites.ANNOTATION] == "ssh://git@github.com/me/home-ops"

    oci = git_repository(namespace, "oci://ghcr.io/me/app", ref={"tag": "1.0.0"}) | {"kind": "OCIRepository"}
    stored = await kube.create(oci, manager="somebody")
    assert (stored["spec"]["url"], stored["spec"]["insecure"]) == ("oci://127.71.1.1:5000/me/app", True)


@pytest.mark.parametrize("url", [ORIGINAL, "https://example.org/untouched"])
async def test_applying_the_original_again_changes_nothing(
    rewriting: Lab, kube: Client, namespace: str, url: str
) -> None:
    """As with any other URL: the first write after the creation stores the status by default, the next ones nothing."""
    wanted = git_repository(namespace, url)
    await kube.apply(wanted, manager="kustomize-controller")
    first = await kube.apply(wanted, manager="kustomize-controller")

    rehearsed = await kube.apply(wanted, manager="kustomize-controller", dry_run=True)
    again = await kube.apply(wanted, manager="kustomize-controller")
    once_more = await kube.apply(wanted, manager="kustomize-controller", force=True)

    assert first["spec"]["url"] == (GIT if url == ORIGINAL else url)
    assert rehearsed == again == once_more == first, "a drift loop"
    assert first["metadata"]["generation"] == 1


async def test_the_whole_of_argo_cd_follows(rewriting: Lab, kube: Client, namespace: str) -> None:
    project = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "home", "namespace": namespace},
        "spec": {"sourceRepos": ["https://github.com/me/*"]},
    }
    application = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "root", "namespace": namespace},
        "spec": {
            "project": "home",
            "destination": {"namespace": "default", "server": "https://kubernetes.default.svc"},
            "sources": [{"repoURL": "git@github.com:me/home-ops.git", "path": "apps"}],
        },
    }
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "repo", "namespace": namespace, "labels": {argocd_names.SECRET_TYPE_LABEL: "repository"}},
        "stringData": {"url": ORIGINAL, "password": "kept"},
    }

    stored = [await kube.apply(obj, manager="argocd-controller") for obj in (project, application, secret)]
    again = [await kube.apply(obj, manager="argocd-controller") for obj in (project, application, secret)]

    assert stored[0]["spec"]["sourceRepos"] == ["https://github.com/me/*", GIT]
    assert stored[1]["spec"]["sources"] == [{"repoURL": GIT, "path": "apps"}]
    assert base64.b64decode(stored[2]["data"]["url"]).decode() == GIT
    assert base64.b64decode(stored[2]["data"]["password"]) == b"kept"
    assert [each["metadata"]["resourceVersion"] for each in again] == [
        each["metadata"]["resourceVersion"] for each in stored
    ]


async def test_the_webhook_comes_back_if_somebody_takes_it_away(rewriting: Lab, kube: Client, namespace: str) -> None:
    place = (source_rewrites.API_VERSION, source_rewrites.KIND, source_rewrites.NAME)
    before = await kube.get(*place)
    asked = before["webhooks"][0]["clientConfig"]
    declared = source_rewrites.webhook_configuration(asked["url"], asked["caBundle"])
    assert source_rewrites.fits(before, declared), "it would be applied again and again"

    await kube.delete(*place)

    async def back() -> bool:
        items = (await kube.list(*place[:2])).items
        return any(
            each["metadata"]["name"] == source_rewrites.NAME and each["metadata"]["uid"] != before["metadata"]["uid"]
            for each in items
        )

    await until(back, "the webhook")


async def test_without_rules_urls_pass_again(
    rewriting: Lab, kube: Client, namespace: str, programs: dict[str, Path]
) -> None:
    declared = rewriting.settings()
    assert "source URLs: 2 rewritten to the lab's servers" in (await rewriting.status()).notes

    await rewriting.up(programs, settings=msgspec.structs.replace(declared, rewrites=()))
    stored = await kube.create(git_repository(namespace), manager="somebody")
    left = [
        each["metadata"]["name"] for each in (await kube.list(source_rewrites.API_VERSION, source_rewrites.KIND)).items
    ]

    assert stored["spec"]["url"] == ORIGINAL
    assert source_rewrites.NAME not in left
    assert not any("source URLs" in note for note in (await rewriting.status()).notes)
