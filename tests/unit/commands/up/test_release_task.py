"""What Talos is to release: only whole manifests whose objects all pass, and never where others have the configs."""

import dataclasses

import pytest

from firstlight.commands.up import tasks
from firstlight.model import work as model_work
from firstlight.model.component import Side, SourceForm
from firstlight.model.machine_config import MachineDraft
from firstlight.model.platform import Platform
from firstlight.model.rendition import Rendition
from firstlight.model.source import RemoteSource
from firstlight.model.work import Task, Work
from firstlight.plan import build
from tests.unit.plan import platforms

ONE = "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: net}}"
TWO = "{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: net}}"
THREE = "{apiVersion: v1, kind: ConfigMap, metadata: {name: three, namespace: net}}"
URL = "https://example.org/net/v1.2.0/net.yaml"
RELEASE, PLANES = "handover:release", "machine:control-planes"


def made(bootstrap: str, gitops: str) -> tuple[Platform, tuple[Rendition, ...]]:
    return platforms.make({
        "clusters": {"home": {"engine": "flux", "machines": {"controlplane": 2}}},
        "components": {
            "flux": {"phase": "engine", "role": "engine", "bootstrapForm": "kubectl command"},
            "net": {"phase": "inline", "side": "hybrid", "inline": 1, "form": "Kustomization"},
        },
        "renditions": {"net": {"bootstrap": bootstrap, "gitops": gitops}},
    })  # fmt: skip


def work(platform: Platform, renditions: tuple[Rendition, ...]) -> Work:
    (cluster,) = platform.clusters
    plan = build.build(platform, cluster, renditions=renditions)
    drafts = tuple(
        MachineDraft(machine=each, cluster="home", endpoint="https://10.0.0.1:6443") for each in cluster.machines
    )
    return tasks.work(
        platform, cluster, plan, renditions=renditions, installations={}, drafts=drafts, revision="c0ffee"
    )


def task(bootstrap: str, gitops: str) -> Task:
    return work(*made(bootstrap, gitops)).tasks[RELEASE]


def staying(found: Work) -> list[str]:
    """What the certificate says of what Talos keeps."""
    certificate = found.tasks["handover:certificate"]
    assert isinstance(certificate, model_work.Certify)
    return [each.name for each in certificate.staying]


def test_what_a_manifest_that_stays_brings_as_well_is_not_released() -> None:
    """A Namespace that two manifests have: one of them stays, and goes on writing it."""
    platform, renditions = platforms.make({
        "clusters": {"home": {"engine": "flux", "machines": {"controlplane": 2}}},
        "components": {
            "flux": {"phase": "engine", "role": "engine", "bootstrapForm": "kubectl command"},
            "net": {"phase": "inline", "side": "hybrid", "inline": 1, "form": "Kustomization"},
            "dns": {"phase": "inline", "side": "hybrid", "inline": 1, "form": "Kustomization"},
        },
        "renditions": {
            "net": {"bootstrap": f"{ONE}\n---\n{TWO}", "gitops": f"{ONE}\n---\n{TWO}"},
            "dns": {"bootstrap": f"{TWO}\n---\n{THREE}", "gitops": TWO},
        },
    })  # fmt: skip

    found = work(platform, renditions)

    release = found.tasks[RELEASE]
    assert isinstance(release, model_work.ReleaseFromTalos)
    assert [each.id.name for each in release.passing] == ["one"]
    assert staying(found) == ["two"]


def test_a_manifest_is_released_whose_objects_all_pass() -> None:
    found = task(ONE, f"{ONE}\n---\n{TWO}")

    assert isinstance(found, model_work.ReleaseFromTalos)
    assert found.manifests == ("net",)
    assert [each.id.name for each in found.passing] == ["one"]
    assert [each.name for each in found.control_planes] == ["cp-1", "cp-2"]
    assert staying(work(*made(ONE, f"{ONE}\n---\n{TWO}"))) == []


def test_what_the_engine_is_told_to_leave_alone_is_not_said_to_be_missing_in_git() -> None:
    once = TWO.replace("namespace: net", "namespace: net, annotations: {kustomize.toolkit.fluxcd.io/ssa: IfNotPresent}")

    found = task(f"{ONE}\n---\n{once}", f"{ONE}\n---\n{once}")

    assert isinstance(found, model_work.Leave)
    assert found.why == (
        "Talos keeps everything: net brings ConfigMap two, which Git has and tells the engine to leave alone"
    )


def test_what_git_has_in_part_stays_with_talos() -> None:
    found = task(f"{ONE}\n---\n{TWO}", ONE)

    assert isinstance(found, model_work.Leave)
    assert found.why == "Talos keeps everything: net brings ConfigMap two, which Git does not have"
    assert staying(work(*made(f"{ONE}\n---\n{TWO}", ONE))) == ["one"]


def test_a_certificate_says_what_talos_keeps_beside_what_it_releases() -> None:
    platform, renditions = platforms.make({
        "clusters": {"home": {"engine": "flux", "machines": {"controlplane": 2}}},
        "components": {
            "flux": {"phase": "engine", "role": "engine", "bootstrapForm": "kubectl command"},
            "net": {"phase": "inline", "side": "hybrid", "inline": 1, "form": "Kustomization"},
            "dns": {"phase": "inline", "side": "hybrid", "inline": 2, "form": "Kustomization"},
        },
        "renditions": {
            "net": {"bootstrap": ONE, "gitops": ONE},
            "dns": {"bootstrap": f"{TWO}\n---\n{THREE}", "gitops": TWO},
        },
    })  # fmt: skip

    found = work(platform, renditions)

    certificate = found.tasks["handover:certificate"]
    assert isinstance(certificate, model_work.Certify)
    assert certificate.released == ("net",)
    assert [each.id.name for each in certificate.passing] == ["one", "two"]
    assert staying(found) == ["two"]


@pytest.mark.parametrize("owner", ["omni", "nobody"])
def test_nothing_is_released_where_others_have_the_configs(owner: str) -> None:
    platform, renditions = made(ONE, ONE)
    (cluster,) = platform.clusters
    machines = tuple(dataclasses.replace(each, id=each.name) for each in cluster.machines) if owner == "omni" else ()
    platform = dataclasses.replace(platform, clusters=(dataclasses.replace(cluster, machines=machines),))

    found = work(platform, renditions)

    assert isinstance(found.tasks[RELEASE], model_work.Leave)
    certificate = found.tasks["handover:certificate"]
    assert isinstance(certificate, model_work.Certify)
    assert certificate.released == ()
    assert staying(found) == ["one"], "whoever has the configs still has the manifest"


def test_a_url_that_passes_is_not_for_machines_that_were_released() -> None:
    platform, renditions = made(ONE, ONE)
    net = platform.components[1]
    origins = tuple(
        dataclasses.replace(each, form=SourceForm.EXTRA_MANIFEST, source=RemoteSource(url=URL))
        if each.side == Side.BOOTSTRAP else each
        for each in net.origins
    )  # fmt: skip
    components = (platform.components[0], dataclasses.replace(net, origins=origins))

    found = work(dataclasses.replace(platform, components=components), renditions)

    release, planes = found.tasks[RELEASE], found.tasks[PLANES]
    assert isinstance(release, model_work.ReleaseFromTalos)
    assert release.manifests == (URL,)
    assert isinstance(planes, model_work.Configure)
    assert {each.passing for each in planes.drafts} == {frozenset({URL})}
