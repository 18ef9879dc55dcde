"""The content that the lab's tests need: rendered by the real helm, and every manifest an object of Kubernetes."""

import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight import errors
from firstlight.clients import command
from firstlight.tools import binary_cache, catalogue, content, content_cache, install, workshop

KNOWN = catalogue.load()
NEEDED = KNOWN.split(KNOWN.members("tests"))[1]
CHARTS = {
    "cilium-chart": (
        "cilium-1.20.2.tgz",
        {"ConfigMap/cilium-config", "DaemonSet/cilium", "Deployment/cilium-operator"},
    ),
    "cert-manager-chart": (
        "cert-manager-v1.21.2.tgz",
        {"CustomResourceDefinition/certificates.cert-manager.io", "Deployment/cert-manager"},
    ),
    "external-secrets-chart": (
        "external-secrets-1.3.2.tgz",
        {"CustomResourceDefinition/externalsecrets.external-secrets.io", "Deployment/external-secrets"},
    ),
}
VALUES = {"cert-manager-chart": "crds.enabled=true"}


class Strict(yaml.CSafeLoader):
    """Refuses a key that occurs twice, as the API server's strict decoding does."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"a key occurs twice:{node.start_mark}"
        return super().construct_mapping(node, deep)


@functools.cache
def load(document: str) -> Any:
    """Argo CD has the same definitions, of two megabytes, in three files."""
    return yaml.load(document, Strict)


def objects(text: str) -> Iterator[dict[str, Any]]:
    for document in re.split(r"^---[^\n]*\n", text, flags=re.MULTILINE):
        if (one := load(document.strip())) is not None:
            yield one


def named(found: Iterable[dict[str, Any]]) -> list[str]:
    return [f"{one['kind']}/{one['metadata']['name']}" for one in found]


def assert_unique(found: Iterable[dict[str, Any]]) -> None:
    keys = [(o["apiVersion"], o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for o in found]
    assert keys
    assert len(keys) == len(set(keys))


def manifests(path: Path, name: str) -> list[Path]:
    """All YAML files of a content that are not parts of a chart."""
    made = KNOWN.get_content(name).chart
    return [
        file for file in sorted(path.rglob("*.yaml")) if made is None or not file.is_relative_to(path / made.directory)
    ]


@pytest.fixture(scope="module")
async def paths() -> dict[str, Path]:
    return await content.ensure(NEEDED)


@pytest.mark.parametrize("name", CHARTS)
async def test_helm_renders_the_chart(paths: dict[str, Path], name: str, tmp_path: Path) -> None:
    helm = (await install.ensure(["helm"]))["helm"]
    package, expected = CHARTS[name]
    kubernetes = KNOWN.get("kube-apiserver").version
    values = ["--set", VALUES[name]] if name in VALUES else []

    rendered = await command.run(
        [str(helm), "template", KNOWN.get_content(name).chart.directory, str(paths[name] / package),  # type: ignore[union-attr]
         "--kube-version", kubernetes, "--namespace", "system", *values],
        env={"HOME": str(tmp_path), "PATH": "/nonexistent"},
    )  # fmt: skip

    made = list(objects(rendered.stdout.decode()))
    assert expected <= set(named(made))
    assert_unique(made)


@pytest.mark.parametrize("name", NEEDED)
def test_every_manifest_is_an_object(paths: dict[str, Path], name: str) -> None:
    found = {file: list(objects(file.read_text())) for file in manifests(paths[name], name)}

    assert found or KNOWN.get_content(name).chart
    for file, documents in found.items():
        if "flux-images" in file.parts:
            continue  # lists of images, which the operator reads
        for one in documents:
            assert {"apiVersion", "kind", "metadata"} <= set(one), file
        assert_unique(documents)


def test_flux_is_what_flux_install_makes(paths: dict[str, Path]) -> None:
    made = list(objects((paths["flux-manifests"] / "install.yaml").read_text()))

    by_name = {(one["kind"], one["metadata"]["name"]): one for one in made}
    assert all(one["metadata"]["labels"]["app.kubernetes.io/part-of"] == "flux" for one in made)
    assert {one["metadata"]["labels"]["app.kubernetes.io/version"] for one in made} == {
        f"v{KNOWN.get_content('flux-manifests').version}"
    }
    deployments = {name: one for (kind, name), one in by_name.items() if kind == "Deployment"}
    assert set(deployments) == {
        "source-controller", "kustomize-controller", "helm-controller", "notification-controller",
    }  # fmt: skip
    for name, one in deployments.items():
        pod = one["spec"]["template"]
        (container,) = pod["spec"]["containers"]
        assert one["metadata"]["namespace"] == "flux-system"
        assert pod["metadata"]["labels"]["app"] == one["spec"]["selector"]["matchLabels"]["app"] == name
        assert pod["spec"]["serviceAccountName"] == name
        assert ("ServiceAccount", name) in by_name
        assert "--watch-all-namespaces=true" in container["args"]
        assert "--enable-leader-election" in container["args"]
        if name != "notification-controller":
            version = KNOWN.get(name).version
            assert container["image"].endswith(f"/{name}:v{version}")
            assert container["args"][0].startswith("--events-addr=http://notification-controller.flux-system.svc.")
    bound = {
        (by_name["ClusterRoleBinding", name]["roleRef"]["name"], subject["name"], subject["namespace"])
        for name in ("cluster-reconciler-flux-system", "crd-controller-flux-system")
        for subject in by_name["ClusterRoleBinding", name]["subjects"]
    }
    assert {
        ("cluster-admin", "kustomize-controller", "flux-system"),
        ("cluster-admin", "helm-controller", "flux-system"),
        ("crd-controller-flux-system", "source-controller", "flux-system"),
    } <= bound
    assert ("ClusterRole", "crd-controller-flux-system") in by_name


def test_flux_has_the_kinds_of_all_its_controllers(paths: dict[str, Path]) -> None:
    crds = named(objects((paths["flux-manifests"] / "crds.yaml").read_text()))
    installed = named(objects((paths["flux-manifests"] / "install.yaml").read_text()))

    assert {name for name in installed if name.startswith("CustomResourceDefinition/")} < set(crds)
    assert "CustomResourceDefinition/imagepolicies.image.toolkit.fluxcd.io" in crds
    assert "CustomResourceDefinition/imageupdateautomations.image.toolkit.fluxcd.io" in crds


async def test_a_small_one_comes_from_the_module_proxy_of_this_site(tmp_path: Path) -> None:
    name = "volume-snapshot-crds"
    # Nothing of the user's caches, so that it has to be fetched.
    shop = dataclasses.replace(workshop.here(), cache=binary_cache.BinaryCache(tmp_path / "cache"))

    try:
        path = (await content.ensure([name], shop=shop))[name]
    except errors.ToolError as error:
        if "cannot be fetched" in error.message:
            pytest.skip(f"no module proxy: {error.message.splitlines()[-1].strip()}")
        raise

    crds = [one for file in manifests(path, name) for one in objects(file.read_text())]
    assert "CustomResourceDefinition/volumesnapshots.snapshot.storage.k8s.io" in named(crds)
    assert list((path / "licences").rglob("LICENSE"))
    (entry,) = content_cache.of(shop.cache).entries(name)
    assert isinstance(entry, content_cache.CachedContent)
    assert content_cache.verify(entry) is None
