"""Drafts made configs by the real talosctl: what a repo writes is what Talos accepts."""

import dataclasses
from pathlib import Path
from typing import cast

import pytest
import yaml

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.execute import cluster_access, machine_configs
from firstlight.execute.actions import configure
from firstlight.execute.machine_configs import ConfigManifests
from firstlight.execute.world import RunPrograms, World
from firstlight.model.cluster import Machine
from firstlight.model.machine_config import DraftPatch, MachineDraft
from firstlight.model.machine_report import EtcdData, EtcdSight, MachineReport, MachineStanding
from firstlight.model.secret import Secret
from firstlight.observe.machine_survey import MachineAccess
from firstlight.render.machines import machine_drafts
from firstlight.repo import platform_reader
from firstlight.tools import install

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "machines"


async def _world(name: str, tmp_path: Path) -> tuple[World, tuple[MachineDraft, ...]]:
    programs = await install.ensure(["talosctl"])
    secrets = await talosctl.Talosctl(programs["talosctl"]).gen_secrets()
    platform = platform_reader.read(SCENARIOS / name / "repo")
    (cluster,) = platform.clusters
    drafts, _ = machine_drafts.machine_drafts(platform, cluster, inline={"cilium": "kind: ConfigMap\n"})

    async def resolve(reference: str) -> Secret:
        return secrets

    return World(
        cluster=cluster, programs=RunPrograms(talosctl=programs["talosctl"]), resolve=resolve, state=tmp_path
    ), drafts


@pytest.mark.parametrize("name", ["listed", "talconfig"])
async def test_talosctl_takes_what_is_drafted(name: str, tmp_path: Path) -> None:
    world, (plane, worker) = await _world(name, tmp_path)

    configs = {each.machine.name: await machine_configs.make(each, world) for each in (plane, worker)}
    configs["cp-1"] = await machine_configs.bootstrap(plane, configs["cp-1"], world)
    await machine_configs.validate(configs, world)
    way = await cluster_access.ensure(world)

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

    has = ConfigManifests(inline={"b": "kind: B\n", "a": "kind: A\n"})
    kept = await machine_configs.steady(plane, config, world, has=has)
    none = await machine_configs.steady(plane, config, world, has=ConfigManifests())

    assert [*machine_configs.inline_manifests(kept)] == ["b", "a"]
    assert machine_configs.inline_manifests(none) == {}


async def test_a_url_of_what_passes_is_only_for_a_machine_that_has_it(tmp_path: Path) -> None:
    world, (plane, _) = await _world("listed", tmp_path)
    new, other = "https://example.org/net/v1.3.0/net.yaml", "https://example.org/other.yaml"
    patch = DraftPatch(place=plane.machine.place, text=Secret(yaml.dump({"cluster": {"extraManifests": [new, other]}})))
    draft = dataclasses.replace(plane, patches=(*plane.patches, patch), passing=frozenset({new}))
    config = await machine_configs.make(draft, world)

    async def urls(*has: str) -> frozenset[str]:
        made = await machine_configs.steady(draft, config, world, has=ConfigManifests(urls={("extraManifests",): has}))
        return machine_configs.manifests(made).names

    assert await urls() == {other}, "it was released"
    assert await urls(new) == {new, other}
    assert await urls(new.replace("v1.3.0", "v1.2.0")) == {new, other}, "another version of it"


async def test_a_new_control_plane_gets_what_all_of_the_others_have(tmp_path: Path) -> None:
    """A release that was cut short: one machine of three still has the manifest."""
    world, (plane, _) = await _world("listed", tmp_path)
    names = ("cp-1", "cp-2", "cp-3")
    drafts = [dataclasses.replace(plane, machine=dataclasses.replace(plane.machine, name=name)) for name in names]
    drawn = {each.machine.name: await machine_configs.make(each, world) for each in drafts}
    both = await machine_configs.listing(
        drawn["cp-1"], ConfigManifests(inline={"net": "kind: A\n", "kept": "kind: B\n"}), world
    )
    one = await machine_configs.listing(drawn["cp-1"], ConfigManifests(inline={"kept": "kind: B\n"}), world)
    reports = [
        MachineReport(
            machine=each.machine,
            standing=MachineStanding.MAINTENANCE if each.machine.name == "cp-3" else MachineStanding.OURS,
            stage="running",
            etcd=EtcdSight(data=EtcdData.NONE if each.machine.name == "cp-3" else EtcdData.SOME),
        )
        for each in drafts
    ]

    class Machines:
        """The two that are configured."""

        @property
        def admin(self) -> "Machines":
            return self

        def at(self, machine: Machine) -> str:
            return machine.name

        async def machine_config(self, name: str) -> Secret:
            return {"cp-1": both, "cp-2": one}[name]

    seen = await configure._rendered(drafts, drawn, reports, world, cast(MachineAccess, Machines()))

    found = {name: [*machine_configs.inline_manifests(each)] for name, each in seen.configs.items()}
    assert found == {"cp-1": ["net", "kept"], "cp-2": ["kept"], "cp-3": ["kept"]}


async def test_everything_that_talosctl_refuses_is_said_at_once(tmp_path: Path) -> None:
    world, (plane, worker) = await _world("listed", tmp_path)
    wrong = Secret(b"version: v1alpha1\nmachine: {type: worker}\ncluster: {}\n")

    with pytest.raises(errors.Refused) as caught:
        await machine_configs.validate({plane.machine.name: wrong, worker.machine.name: wrong}, world)

    assert "cp-1: " in str(caught.value)
    assert "worker-1: " in str(caught.value)
