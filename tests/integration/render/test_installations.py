"""What Helm is given for a component: the same chart and values that it is rendered from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from firstlight.clients import helm
from firstlight.model.component import Side
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.rendition import Object
from firstlight.model.work import Installation
from firstlight.render.helm_installations import installations
from firstlight.repo import platform_reader
from tests.integration.render import repos
from tests.integration.render.repos import Kitchen
from tests.integration.render.test_flux_repo import SYSTEM, repo

CHART: dict[str, object] = {
    "charts/shop/Chart.yaml": {"apiVersion": "v2", "name": "shop", "version": "1.2.3"},
    "charts/shop/.helmignore": "templates/left-out.yaml\n",
    "charts/shop/values.yaml": {"word": "none", "other": "kept"},
    "charts/shop/crds/crd.yaml": {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "ones.example.org"},
        "spec": {"group": "example.org", "scope": "Namespaced", "names": {"kind": "One", "plural": "ones"},
                 "versions": [{"name": "v1", "served": True, "storage": True}]},
    },
    "charts/shop/templates/left-out.yaml": "{{ fail \"it is to be left out\" }}\n",
    "charts/shop/templates/map.yaml": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}, labels: {v: {{ .Chart.Version }}}}\n"
        "data: {word: '{{ .Values.word }}', other: '{{ .Values.other }}', braces: '{{ \"{{\" }} x }}'}\n"
    ),
}  # fmt: skip


def helm_release(**spec: Any) -> dict[str, Any]:
    source = {"kind": "GitRepository", "name": SYSTEM, "namespace": SYSTEM}
    return {
        "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
        "metadata": {"name": "shop", "namespace": "shops"},
        "spec": {
            "interval": "1h", "timeout": "7m", "values": {"word": "a"},
            "chart": {"spec": {"chart": "./charts/shop", "sourceRef": source}}, **spec,
        },
    }  # fmt: skip


async def found(
    kitchen: Kitchen, root: Path
) -> tuple[tuple[Installation, ...], tuple[Object, ...], tuple[Diagnostic, ...], dict[str, Mapping[str, Any]]]:
    platform = platform_reader.read(root)
    component = repos.named(platform, "shop")
    async with kitchen.renderer(platform) as renderer:
        rendition = (await renderer.render(component, side=Side.GITOPS)).rendition
        releases, beside, diagnostics = await installations(renderer, component, Side.GITOPS)
    return releases, beside, diagnostics, repos.objects(rendition)


async def installed(kitchen: Kitchen, one: Installation) -> dict[str, Any]:
    """What Helm makes of an installation, after the renderer is gone."""
    rendered = await helm.Helm(kitchen.programs.helm).template(
        one.chart,
        release=one.name,
        namespace=one.namespace,
        values=[one.values],
        include_crds=not one.options.skip_crds,
    )
    values = [each for each in yaml.safe_load_all(rendered.text) if each]
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in values}


def without_namespace(value: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {name: each for name, each in value["metadata"].items() if name != "namespace"}
    return {**value, "metadata": metadata}


@pytest.mark.parametrize("post", [False, True])
async def test_what_is_installed_is_what_is_rendered(kitchen: Kitchen, tmp_path: Path, post: bool) -> None:
    patch = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {patched: 'yes {{ x }}'}\n"
    changes: dict[str, Any] = {
        "postRenderers": [{"kustomize": {"patches": [{"patch": patch}]}}],
        "commonMetadata": {"labels": {"team": "one"}},
    }
    files = {**CHART, "app/release.yaml": helm_release(**(changes if post else {}))}
    releases, beside, diagnostics, rendered = await found(kitchen, repo(tmp_path / "repo", files))

    assert (len(releases), beside, diagnostics) == (1, (), ())
    one = releases[0]
    assert (one.name, one.namespace, one.version) == ("shop", "shops", "1.2.3")
    assert msgspec.json.decode(one.values.reveal()) == {"word": "a"}
    options = one.options
    assert (options.server_side, options.take_ownership, options.skip_crds, options.create_namespace) == (
        True, True, True, False,
    )  # fmt: skip
    assert (options.timeout, options.wait, options.force_conflicts) == (420, "hookOnly", False)
    made = await installed(kitchen, one)
    crd = "CustomResourceDefinition/ones.example.org"
    expected = {name: without_namespace(each) for name, each in rendered.items() if name != crd}
    assert {name: without_namespace(each) for name, each in made.items()} == expected
    assert ("patched" in expected["ConfigMap/shop"]["data"]) is post

    changed = {**files, "charts/shop/values.yaml": {"word": "none", "other": "changed"}}
    (same,), *_ = await found(kitchen, repo(tmp_path / "same", files))
    (other,), *_ = await found(kitchen, repo(tmp_path / "other", changed))
    assert same.digest == one.digest
    assert (other.version, other.values) == (one.version, one.values)
    assert other.digest != one.digest, "a chart may change without a new version"


async def test_a_post_renderer_over_a_secret_is_refused(kitchen: Kitchen, tmp_path: Path) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {key: hunter2}\n"
    files = {
        **CHART,
        "charts/shop/templates/secret.yaml": secret,
        "app/release.yaml": helm_release(commonMetadata={"labels": {"team": "one"}}),
    }
    releases, _, diagnostics, _ = await found(kitchen, repo(tmp_path / "repo", files))

    assert releases == ()
    assert [each.message for each in diagnostics] == [
        "it makes Secrets and has postRenderers or commonMetadata, which Helm does not run: what was rendered would "
        "have to be kept on a disk"
    ]
    kept = [each for each in kitchen.home.rglob("*") if each.is_file() and b"hunter2" in each.read_bytes()]
    assert not kept


async def test_plain_objects_are_beside(kitchen: Kitchen, tmp_path: Path) -> None:
    files: dict[str, object] = {"app/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"}
    platform = platform_reader.read(repo(tmp_path / "repo", files))
    async with kitchen.renderer(platform) as renderer:
        releases, beside, _ = await installations(renderer, repos.named(platform, "app"), Side.GITOPS)
    assert releases == ()
    assert [each.id.name for each in beside] == ["a"]
