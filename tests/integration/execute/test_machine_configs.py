"""Drafts made configs by the real talosctl: what a repo writes is what Talos accepts."""

from pathlib import Path

import pytest
import yaml

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.execute import cluster_keys, machine_configs
from firstlight.execute.world import Programs, World
from firstlight.model.machine_draft import MachineDraft
from firstlight.model.secret import Secret
from firstlight.render.machines import drafting
from firstlight.repo import platform as platforms
from firstlight.tools import install

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "machines"


async def _world(name: str, tmp_path: Path) -> tuple[World, tuple[MachineDraft, ...]]:
    programs = await install.ensure(["talosctl"])
    secrets = await talosctl.Talosctl(programs["talosctl"]).gen_secrets()
    platform = platforms.read(SCENARIOS / name / "repo")
    (cluster,) = platform.clusters
    drafts, _ = drafting.drafts(platform, cluster, inline={"cilium": "kind: ConfigMap\n"})

    async def resolve(reference: str) -> Secret:
        return secrets

    return World(
        cluster=cluster, programs=Programs(talosctl=programs["talosctl"]), resolve=resolve, state=tmp_path
    ), drafts


@pytest.mark.parametrize("name", ["listed", "talconfig"])
async def test_talosctl_takes_what_is_drafted(name: str, tmp_path: Path) -> None:
    world, (plane, worker) = await _world(name, tmp_path)

    configs = {each.machine.name: await machine_configs.make(each, world) for each in (plane, worker)}
    configs["cp-1"] = await machine_configs.bootstrap(plane, configs["cp-1"], world)
    await machine_configs.validate(configs, world)
    way = await cluster_keys.ensure(world)

    main, *others = machine_configs.documents(configs["cp-1"])
    assert {"kind": "HostnameConfig", "hostname": "cp-1"}.items() <= others[0].items()
    assert main["machine"]["install"]["image"] == plane.install_image
    assert main["machine"]["install"]["diskSelector"] == plane.disk_selector
    assert main["cluster"]["network"]["cni"] == {"name": "none"}
    assert main["cluster"]["network"]["podSubnets"] == ["10.69.0.0/16"]
    assert main["cluster"]["allowSchedulingOnControlPlanes"] is True
    assert machine_configs.inline_manifests(configs["cp-1"]) == {"cilium": "kind: ConfigMap\n"}
    assert machine_configs.inline_manifests(configs["worker-1"]) == {}
    assert b"BEGIN CERTIFICATE" in world.authority
    (context,) = yaml.safe_load(way.talosconfig.reveal())["contexts"].values()
    assert context["endpoints"] == ["10.25.10.11"]


async def test_a_steady_config_has_the_manifests_of_its_machine_and_no_others(tmp_path: Path) -> None:
    world, (plane, _) = await _world("listed", tmp_path)
    config = await machine_configs.bootstrap(plane, await machine_configs.make(plane, world), world)

    kept = await machine_configs.steady(plane, config, world, has={"b": "kind: B\n", "a": "kind: A\n"})
    none = await machine_configs.steady(plane, config, world, has={})

    assert [*machine_configs.inline_manifests(kept)] == ["b", "a"]
    assert machine_configs.inline_manifests(none) == {}


async def test_everything_that_talosctl_refuses_is_said_at_once(tmp_path: Path) -> None:
    world, (plane, worker) = await _world("listed", tmp_path)
    wrong = Secret(b"version: v1alpha1\nmachine: {type: worker}\ncluster: {}\n")

    with pytest.raises(errors.Refused) as caught:
        await machine_configs.validate({plane.machine.name: wrong, worker.machine.name: wrong}, world)

    assert "cp-1: " in str(caught.value)
    assert "worker-1: " in str(caught.value)
