"""The table of versions: sane, and read as it is meant."""

from typing import Any

import pytest

from firstlight.model import versions
from firstlight.model.diagnostic import Severity
from firstlight.plan import cluster_facts, version_matrix
from tests.unit.plan import platforms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v1.13.0", (1, 13)),
        ("1.34", (1, 34)),
        ("2.7.x", (2, 7)),
        ("2.x", None),
        (">=1.2.0", None),
        ("latest", None),
        ("", None),
        ("1.2+k3s1", (1, 2)),
    ],
)
def test_minor(text: str, expected: tuple[int, int] | None) -> None:
    assert versions.minor(text) == expected


def test_every_span_goes_up_and_newer_products_are_not_for_older_kubernetes_alone() -> None:
    for name, product in version_matrix.table().items():
        spans = [(versions.minor(first), versions.minor(last)) for first, last in product.kubernetes.values()]
        minors = [versions.minor(each) for each in product.kubernetes]
        assert all(first and last and first <= last for first, last in spans), name
        assert minors == sorted(each for each in minors if each), name
        lasts = [last for _, last in spans if last]
        assert lasts == sorted(lasts), name


def test_talos_from_1_8_to_1_14_is_known() -> None:
    assert set(version_matrix.table()["talos"].kubernetes) >= {f"1.{minor}" for minor in range(8, 15)}


def problems(cluster: dict[str, Any], **components: dict[str, Any]) -> list[tuple[Severity, str]]:
    machines = {"controlplane": 1, "worker": 1}
    spec = {"clusters": {"home": {"machines": machines, **cluster}}, "components": components}
    platform, renditions = platforms.make(spec)
    return [
        (each.severity, each.code)
        for each in version_matrix.problems(cluster_facts.of(platform, platform.clusters[0], renditions))
    ]


@pytest.mark.parametrize(
    ("talos", "kubernetes", "expected"),
    [
        ("v1.12.0", "v1.30.0", []),
        ("v1.12.0", "v1.35.9", []),
        ("v1.12.0", "v1.36.0", [(Severity.ERROR, "version-refused")]),
        ("v1.12.0", "v1.29.9", [(Severity.ERROR, "version-refused")]),
        ("v1.13.9", "v1.37.1", [(Severity.ERROR, "version-refused")]),
        ("v1.14.1", "v1.37.1", []),
        ("v1.14.1", "v1.31.9", [(Severity.ERROR, "version-refused")]),
        ("v1.99.0", "v1.35.0", [(Severity.NOTE, "version-unknown")]),
        ("", "v1.35.0", [(Severity.NOTE, "version-unknown")]),
        ("v1.12.0", "", [(Severity.NOTE, "version-unknown")]),
    ],
)
def test_talos_and_kubernetes(talos: str, kubernetes: str, expected: list[tuple[Severity, str]]) -> None:
    assert problems({"talos": talos, "kubernetes": kubernetes}) == expected


def test_the_chart_of_argo_cd_does_not_tell_its_version_and_its_image_does() -> None:
    cluster = {"talos": "v1.12.0", "kubernetes": "v1.35.0"}
    chart = {"phase": "engine", "role": "engine", "chart": "argo-cd", "version": "9.1.0"}
    image = (
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{image: 'quay.io/argoproj/argocd:%s'}]}}"
    )
    rendered = {}
    for version in ("v3.4.1", "v3.2.0"):
        spec = {
            "clusters": {"home": cluster},
            "components": {"argocd": chart},
            "renditions": {"argocd": {"bootstrap": image.replace("%s", version)}},
        }
        platform, renditions = platforms.make(spec)
        found = version_matrix.problems(cluster_facts.of(platform, platform.clusters[0], renditions))
        rendered[version] = [each.code for each in found]

    assert problems(cluster, argocd=chart) == [(Severity.NOTE, "version-unknown")]
    assert rendered == {"v3.4.1": [], "v3.2.0": ["version-untested"]}


def test_flux_by_its_instance() -> None:
    cluster = {"talos": "v1.12.0", "kubernetes": "v1.35.0"}
    instance = {"phase": "engine", "role": "engine", "bootstrapForm": "FluxInstance"}

    def flux(version: str) -> dict[str, Any]:
        return {**instance, "definition": {"spec": {"distribution": {"version": version}}}}

    assert problems(cluster, flux=flux("2.8.x")) == []
    assert problems(cluster, flux=flux("2.5.1")) == [(Severity.WARNING, "version-untested")]
    assert problems(cluster, flux=flux("2.x")) == [(Severity.NOTE, "version-unknown")]
