"""The example platforms are read and planned without a complaint, and say what points their engines at them."""

from pathlib import Path

import pytest

from firstlight.engines import engine_roots
from firstlight.model.component import ObjectId, Phase
from firstlight.model.diagnostic import Severity
from firstlight.model.platform import Platform
from firstlight.plan import build
from firstlight.repo import platform_reader

EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = ("argocd", "inline-engine")
ROOT = ObjectId("argoproj.io", "Application", "argocd", "root")


@pytest.fixture(scope="module", params=NAMES)
def example(request: pytest.FixtureRequest) -> Platform:
    return platform_reader.read(EXAMPLES / request.param)


def test_is_read_without_errors(example: Platform) -> None:
    assert [each for each in example.diagnostics if each.severity == Severity.ERROR] == []
    assert example.unreached == ()


def test_can_run(example: Platform) -> None:
    (cluster,) = example.clusters

    plan = build.build(example, cluster)

    assert [each.message for each in plan.problems if each.severity != Severity.NOTE] == []
    assert plan.stuck() == ()
    assert {each.name for each in cluster.machines} == {"cp-1", "worker-1"}


def test_has_one_root(example: Platform) -> None:
    (cluster,) = example.clusters

    found = engine_roots.of(example, cluster, ())

    assert [each.id for each in found.roots if engine_roots.is_starting(each.id)] == [ROOT]
    assert found.unclear == ""


def test_charts_are_of_the_registry_that_rehearsals_know() -> None:
    for name in NAMES:
        charts = [
            each.source
            for component in platform_reader.read(EXAMPLES / name).components
            for each in component.origins
            if getattr(each.source, "repository", "")
        ]
        assert {str(getattr(each, "repository", "")) for each in charts} == {"oci://registry.example.org/charts"}


def test_bootstrap_has_the_network_and_the_engine() -> None:
    phases = {
        name: {
            each.name: each.phase
            for each in platform_reader.read(EXAMPLES / name).components
            if each.phase != Phase.GITOPS
        }
        for name in NAMES
    }

    assert phases["argocd"] == {"cilium": Phase.CORE, "cert-manager": Phase.CORE, "argocd": Phase.ENGINE}
    assert phases["inline-engine"] == dict.fromkeys(("argocd", "cilium", "root"), Phase.INLINE)
