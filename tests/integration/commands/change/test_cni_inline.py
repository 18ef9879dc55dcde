"""The network plugin as an inline manifest: machines that hold it get the repo's, and Talos brings it into force."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from firstlight.commands.change import prepare
from firstlight.commands.change.bootstrap.prepared_bootstrap import PreparedBootstrap
from firstlight.commands.change.cni import cni_manifests, cni_upgrade
from firstlight.commands.change.cni.cni_upgrade import CniUpgrade
from firstlight.commands.change.ongoing_change import ChangeRequest, OngoingChange
from firstlight.commands.decide.change_source import RevisionRange
from firstlight.execute import live_cluster, machine_configs
from firstlight.execute import walk as execute_walk
from firstlight.execute.loop import RunResult
from firstlight.execute.walk import Walk, WalkStage
from firstlight.model.cluster import Cluster
from tests import carried, handing, runs
from tests.carried import Clone
from tests.labs import until

Stages = Callable[[Cluster, CniUpgrade, PreparedBootstrap], tuple[WalkStage, ...]]


async def test_the_inline_manifest_follows_the_repo_and_the_object_is_left_alone(
    to_engine: runs.Stage, tmp_path: Path
) -> None:
    clone, carrying = await begun(to_engine, tmp_path)

    result, held = await walked(clone, carrying)

    assert (result.is_complete, result.writes) == (True, 1), result.outcomes
    assert "cni-agent:1.1.0" in held
    assert await image(clone) == "1.0.0", "Talos changes no object"
    assert (await walked(clone, carrying))[0].writes == 0

    result, held = await walked(clone, dataclasses.replace(carrying, is_reverting=True))

    assert (result.is_complete, result.writes) == (True, 1), result.outcomes
    assert "cni-agent:1.0.0" in held


@pytest.mark.long
async def test_talos_brings_it_into_force_where_it_keeps_it(to_engine: runs.Stage, tmp_path: Path) -> None:
    def stages(cluster: Cluster, upgrade: CniUpgrade, preparing: PreparedBootstrap) -> tuple[WalkStage, ...]:
        inline = cni_manifests.inline_stages(cluster, upgrade, preparing)
        return (*inline, cni_manifests.manifests_stage(cluster, upgrade, preparing))

    clone, carrying = await begun(to_engine, tmp_path)

    for change, version in ((carrying, "1.1.0"), (dataclasses.replace(carrying, is_reverting=True), "1.0.0")):
        result, _ = await walked(clone, change, stages=stages)

        assert (result.is_complete, result.writes) == (True, 2), result.outcomes
        assert await image(clone) == version
        assert "talosctl upgrade-k8s would write DaemonSet kube-system/kube-flannel-ds" in clone.asked.pop()
        assert (await walked(clone, change, stages=stages))[0].writes == 0
    await until(lambda: rolled_out(clone), "agents as they were")


async def begun(stage: runs.Stage, home: Path) -> tuple[Clone, OngoingChange]:
    """An upgrade that is about to be carried through."""
    clone = carried.clone(stage, home / "clone")
    clone.branch("network", {"flannel/flannel.yaml": ("cni-agent:1.0.0", "cni-agent:1.1.0")})
    found = await prepare.decide_change(clone.root, RevisionRange(base="origin/main", head="network"), clone.means)
    assert cni_upgrade.is_cni_upgrade(found)
    return clone, await prepare.begin_change(found, ChangeRequest(why="a test"), clone.means)


async def walked(
    clone: Clone, carrying: OngoingChange, *, stages: Stages = cni_manifests.inline_stages
) -> tuple[RunResult, str]:  # fmt: skip
    """The stages, and the inline manifest that the machine holds then."""
    (cluster,) = carrying.clusters
    upgrade = cni_upgrade.of(carrying, cluster)
    assert upgrade is not None
    async with live_cluster.reached(cluster, clone.means) as world:
        made = stages(cluster, upgrade, PreparedBootstrap(carrying, cluster))
        walk = Walk(cluster=cluster, command="change", again="", stages=made)

        def confirm(danger: str) -> bool:
            clone.asked.append(danger)
            return True

        begun = execute_walk.started(walk, clone.means)
        result = await execute_walk.run(
            walk, world, clone.means, begun=begun, tell=clone.events.append, confirm=confirm
        )
        way = await live_cluster.way(world)
        config = await way.admin.machine_config(way.at(cluster.machines[0]))
    return result, machine_configs.inline_manifests(config)["flannel"]


async def image(clone: Clone) -> str:
    """The version that the DaemonSet has."""
    async with handing.client(clone.stage) as client:
        agent = await handing.get(client, handing.AGENT)
    return str(agent["spec"]["template"]["spec"]["containers"][0]["image"]).rpartition(":")[2]


async def rolled_out(clone: Clone) -> bool:
    """Whether all pods of the network plugin are of the version that it has."""
    async with handing.client(clone.stage) as client:
        status = (await handing.get(client, handing.AGENT))["status"]
    return bool(status.get("updatedNumberScheduled") == status.get("numberAvailable") == 1)
