"""The lab that a cluster is rehearsed in."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.commands.rehearse import lab_mapping
from firstlight.lab import lab_settings
from firstlight.lab.machines import machine_settings
from firstlight.model.cluster import Cluster, Engine, Machine, MachineRole, Network
from firstlight.model.component import Component, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.source import DirectorySource

HERE = Place("firstlight.yaml", 1)
ARTIFACT = {"kind": "ExternalArtifact", "name": "web"}


def machine(name: str, address: str, **more: Any) -> Machine:
    return Machine(name=name, role=MachineRole.CONTROL_PLANE, place=HERE, address=address, **more)


def cluster(*machines: Machine, **more: Any) -> Cluster:
    return Cluster(name="home", place=HERE, machines=machines, talos="v1.13.0", engine=Engine.FLUX, **more)


def platform(one: Cluster, *components: Component) -> Platform:
    return Platform(name="home", root=Path("/x"), engine=one.engine, clusters=(one,), components=components)


def component(
    name: str, phase: Phase = Phase.CORE, form: SourceForm = SourceForm.KUSTOMIZATION, **spec: Any
) -> Component:
    origin = Origin(
        form=form, side=Side.GITOPS, place=HERE, name=name, source=DirectorySource(path="."), definition={"spec": spec}
    )
    return Component(
        name=name, cluster="home", phase=phase, side=Side.GITOPS, owner=Owner.GITOPS, why="", origins=(origin,)
    )


def test_every_machine_is_one_with_its_declared_address() -> None:
    one = cluster(machine("cp-1", "10.0.0.2"), machine("cp-2.example.org", "10.0.0.3"))

    made = lab_mapping.stage(platform(one), one, ())

    assert [(each.name, each.address) for each in made.settings.machines] == [
        ("cp-1", "10.0.0.2"),
        ("cp-2-example-org", "10.0.0.3"),
    ]
    assert made.names == {"10.0.0.2": "cp-1", "10.0.0.3": "cp-2-example-org"}
    assert [each.declared for each in made.mapped] == ["cp-1 at 10.0.0.2", "cp-2.example.org at 10.0.0.3"]

    def fail(message: str, *steps: object, hint: str = "") -> None:
        raise AssertionError(message)

    machine_settings.check_machines(made.settings.machines, fail)


def test_pools_vip_and_engine() -> None:
    network = Network(vip="10.0.0.99", load_balancers=("10.0.1.0/24", "what ever"))
    one = cluster(machine("a", "10.0.0.2"), network=network)

    made = lab_mapping.stage(platform(one), one, ())

    assert made.settings.load_balancers == ("10.0.1.0/24",)
    assert ("VIP", "10.0.0.99") in {(each.what, each.declared) for each in made.mapped}
    assert made.settings.actors == ("flux",)
    assert made.settings.has_sources


@pytest.mark.parametrize(
    ("engine", "components", "actors"),
    [
        (Engine.ARGOCD, (), ("argocd",)),
        (Engine.FLUX, (component("flux", form=SourceForm.FLUX_INSTANCE),), ("flux", "flux-operator")),
        (Engine.FLUX, (component("web", sourceRef={"kind": "GitRepository", "name": "fleet"}),), ("flux",)),
        (Engine.FLUX, (component("web", sourceRef=ARTIFACT),), ("flux", "source-watcher")),
        (Engine.FLUX, (component("web", form=SourceForm.HELM_RELEASE, chartRef=ARTIFACT),), ("flux", "source-watcher")),
        (None, (), ()),
    ],
)
def test_whose_programs_run(engine: Engine | None, components: tuple[Component, ...], actors: tuple[str, ...]) -> None:
    one = dataclasses.replace(cluster(machine("a", "10.0.0.2")), engine=engine)
    assert lab_mapping.stage(platform(one, *components), one, ()).settings.actors == actors


@pytest.mark.parametrize(
    ("talos", "mode"), [("v1.12.4", "1.12"), ("v1.13.0", "1.13"), ("", "1.13"), ("v1.9.1", "1.12")]
)
def test_whose_way_with_inline_manifests(talos: str, mode: str) -> None:
    one = dataclasses.replace(cluster(machine("a", "10.0.0.2")), talos=talos)
    assert lab_mapping.stage(platform(one), one, ()).settings.talos.manifests == mode


def test_omni_is_refused_with_the_way_out() -> None:
    one = cluster(machine("a", "10.0.0.2", id="4c4c4544"))
    with pytest.raises(errors.Refused, match="Omni") as refused:
        lab_mapping.stage(platform(one), one, ())
    assert "lab omni" in refused.value.hint


def test_a_cluster_of_nothing_is_refused_and_not_said_to_work() -> None:
    one = cluster()
    with pytest.raises(errors.Refused, match="nothing to rehearse: home has neither machines nor components"):
        lab_mapping.stage(platform(one), one, ())


def test_a_machine_at_a_loopback_address_is_refused_with_that_reason() -> None:
    one = cluster(machine("a", "10.0.0.2"), machine("b", "127.71.0.11"))
    with pytest.raises(errors.Refused, match=r"^b \(127\.71\.0\.11\): a loopback address"):
        lab_mapping.stage(platform(one), one, ())


@pytest.mark.parametrize("address", ["", "node.example.org"])
def test_a_machine_without_an_address_is_refused(address: str) -> None:
    one = cluster(machine("a", address))
    with pytest.raises(errors.Refused, match="at which address a is"):
        lab_mapping.stage(platform(one), one, ())


def test_a_cluster_without_machines_has_simulated_nodes() -> None:
    one = cluster()

    made = lab_mapping.stage(platform(one, component("web")), one, ())

    assert len(made.settings.nodes) == sum(lab_mapping.NODES)
    assert any("no machines" in each.why for each in made.untried)


def test_inline_manifests_need_machines() -> None:
    one = cluster()
    with pytest.raises(errors.Refused, match="cilium of home is inline"):
        lab_mapping.stage(platform(one, component("cilium", Phase.INLINE)), one, ())


def test_names_that_the_lab_has_already_are_made_others() -> None:
    assert lab_mapping.lab_name("etcd") == "etcd-machine"
    assert lab_mapping.lab_name("A b", taken=["a-b"]) == "a-b-2"
    assert lab_mapping.lab_name("...") == "machine"
    assert lab_settings.LabSettings().machines == ()
