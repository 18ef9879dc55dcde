"""Which version manifests are."""

from typing import Any

import pytest

from firstlight.model import versions
from firstlight.repo.talos import config_manifests


def labelled(**labels: str) -> dict[str, Any]:
    return {"metadata": {"labels": {key.replace("__", "/").replace("_", "."): value for key, value in labels.items()}}}


def deployment(*images: str) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"image": image} for image in images]}}}}


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([labelled(helm_sh__chart="cilium-1.18.2")], "1.18.2"),
        ([labelled(helm_sh__chart="a-b-v1.2.3_build.1")], "v1.2.3+build.1"),
        ([labelled(app_kubernetes_io__version="v2.9.0"), labelled(helm_sh__chart="x-1.0.0")], "1.0.0"),
        ([labelled(app_kubernetes_io__version="1.0.1")] * 2 + [labelled(app_kubernetes_io__version="2.0.0")], "1.0.1"),
        ([deployment("quay.io/argoproj/argocd:v3.2.0", "redis:8.0.0")], "v3.2.0"),
        ([deployment("quay.io/other/one:v1.0.0", "quay.io/other/two:v1.0.0")], "v1.0.0"),
        ([deployment("quay.io/other/one:v1.0.0", "quay.io/other/two:v2.0.0")], ""),
        ([deployment("argocd:latest")], ""),
        ([{"spec": {"jobTemplate": {"spec": deployment("x/argocd:1.2.3")["spec"]}}}], "1.2.3"),
        ([{"metadata": None, "spec": [1]}, {"spec": {"containers": [1, {"image": 2}]}}], ""),
    ],
)
def test_a_version_is_guessed(objects: list[dict[str, Any]], expected: str) -> None:
    assert config_manifests.version_of(objects, "argocd") == expected


@pytest.mark.parametrize(
    ("url", "name", "version"),
    [
        ("https://raw.githubusercontent.com/a/metrics-server/v0.8.0/x.yaml", "metrics-server", "v0.8.0"),
        ("https://github.com/a/b.git", "b", ""),
        ("https://example.org/apis/v1.2.3/crds-1.4.0.yaml", "crds-1.4.0", "1.4.0"),
        ("github.com/a/b//deploy?ref=v1.0.0-rc.1", "b", "v1.0.0-rc.1"),
        ("https://example.org", "example.org", ""),
        ("https://[", "", ""),
        ("", "", ""),
    ],
)
def test_a_url_gives_a_name_and_a_version(url: str, name: str, version: str) -> None:
    assert config_manifests.name_of_url(url) == name
    assert versions.version_in_url(url) == version
