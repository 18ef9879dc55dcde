"""What Talos has, told from what machines and nodes say."""

import dataclasses
import types
from typing import Any

import pytest

from firstlight import errors
from firstlight.execute.handover import release_checks, talos_state
from firstlight.execute.handover.talos_state import TalosState
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.component import ObjectId
from firstlight.model.place import Place


def machine(name: str, address: str) -> Machine:
    return Machine(name=name, role=MachineRole.CONTROL_PLANE, place=Place("firstlight.yaml", 1), address=address)


def node(name: str, *addresses: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"addresses": [{"address": each} for each in addresses]}}


AGENT = ObjectId("apps", "DaemonSet", "kube-system", "agent")
CONFIG, DNS = ObjectId("", "ConfigMap", "default", "net"), ObjectId("", "ConfigMap", "kube-system", "dns")
ONE, TWO = machine("cp-1", "10.5.0.2"), machine("cp-2", "10.5.0.3")
NAMED = machine("second", "cp-2.example.org")
ALIAS = machine("third", "k8s-c.example.org")


@pytest.mark.parametrize(
    ("planes", "nodes", "strange"),
    [
        ([ONE, TWO], [node("a", "10.5.0.2"), node("cp-2", "192.0.2.7")], ()),
        ([ONE, TWO], [node("a", "10.5.0.2"), node("b", "10.5.0.9", "b")], ("b",)),
        ([ONE, TWO], [node("cp-1", "10.5.0.2"), node("b")], ()),
        # A host name of one does not hide the others.
        ([ONE, NAMED], [node("cp-1", "10.5.0.2"), node("cp-2", "10.5.0.3"), node("cp-3", "10.5.0.4")], ("cp-3",)),
        ([ONE, NAMED], [node("cp-1", "10.5.0.2"), node("cp-2", "10.5.0.3")], ()),
        # Which of the two was declared is not known; that one was not, is.
        ([ONE, ALIAS], [node("cp-1", "10.5.0.2"), node("x", "10.5.0.3")], ()),
        ([ONE, ALIAS], [node("cp-1", "10.5.0.2"), node("x", "10.5.0.3"), node("y", "10.5.0.4")], ("x", "y")),
    ],
)
def test_control_planes_that_nobody_declared(
    planes: list[Machine], nodes: list[dict[str, Any]], strange: tuple[str, ...]
) -> None:
    assert talos_state.undeclared(planes, nodes) == strange


def test_one_that_nobody_declared_is_no_release() -> None:
    assert TalosState(configs={"cp-1": ()}).is_released
    assert not TalosState(configs={"cp-1": ()}, undeclared=("cp-2",)).is_released


def test_a_manifest_of_another_name_is_no_release() -> None:
    state = TalosState(configs={"cp-1": (), "cp-2": ()}, again={"cp-2": {"cni-again": (AGENT, CONFIG)}})

    assert not state.is_released
    assert state.is_half, "a boot of cp-2 puts the keys back, and an upgrade through cp-1 deletes"
    assert state.left == ("cp-2 still brings DaemonSet kube-system/agent and 1 more by the manifest cni-again",)
    with pytest.raises(errors.Refused, match="cp-2 also brings DaemonSet kube-system/agent and 1 more by") as told:
        release_checks.require_no_other(state, [ONE, TWO])
    assert "talosctl --nodes 10.5.0.3 edit machineconfig" in told.value.hint
    release_checks.require_no_other(TalosState(configs={"cp-1": ()}), [ONE])


def test_a_name_says_nothing_of_what_a_manifest_brings() -> None:
    wide = {("rbac.authorization.k8s.io", "ClusterRole")}
    role = ObjectId("rbac.authorization.k8s.io", "ClusterRole", "", "agent")
    made = {"net": [AGENT], "other": [dataclasses.replace(CONFIG, namespace=""), role], "dns": [DNS]}

    # The namespace is left out in one, and given to what has none in another.
    ids = [AGENT, CONFIG, dataclasses.replace(role, namespace="kube-system")]
    assert talos_state._again(made, ["net"], ids, wide) == {"other": (CONFIG, role)}
    assert talos_state._again(made, ["net", "other"], [AGENT, CONFIG], wide) == {}


@pytest.mark.parametrize(
    ("state", "is_half"),
    [
        (TalosState(configs={"cp-1": (), "cp-2": ()}), False),
        (TalosState(configs={"cp-1": ("net",), "cp-2": ("net",)}), False),
        (TalosState(configs={"cp-1": ("net",), "cp-2": ()}), True),
        (TalosState(configs={"cp-1": ("net",), "cp-2": ()}, bare=("cp-2",)), False),
        (TalosState(configs={"cp-1": ()}, silent={"cp-2": "off"}), True),
        (TalosState(configs={"cp-1": ("net",)}, silent={"cp-2": "off"}), False),
        (TalosState(configs={"cp-1": ()}, undeclared=("cp-2",)), True),
        (TalosState(configs={"cp-1": ()}, again={"cp-1": {"other": (AGENT,)}}), False),
        (TalosState(configs={"cp-1": ()}, keys=("_a__ConfigMap",), doomed=("_a__ConfigMap",)), True),
    ],
)
def test_half_released(state: TalosState, is_half: bool) -> None:
    assert state.is_half is is_half


class Way:
    """How a machine is asked that shows these configs."""

    def __init__(self, **configs: object) -> None:
        self.admin = self
        self.configs = configs

    def at(self, machine: Machine) -> str:
        return machine.address

    async def get(self, target: str, type: str) -> tuple[object, ...]:
        return tuple(types.SimpleNamespace(id=id, spec=spec) for id, spec in self.configs.items())


@pytest.mark.parametrize(
    "shown", [{}, {"v1alpha1": None}, {"v1alpha1": "a: 1", "persistent": None}, {"persistent": "a: 1"}]
)
async def test_a_machine_that_shows_no_config_is_silent(shown: dict[str, object]) -> None:
    way: Any = Way(**shown)

    assert await talos_state._config(ONE, ["net"], way) == "cp-1 shows no config that can be read"
    with pytest.raises(errors.Refused, match="cp-1 shows no config"):
        await talos_state.configs(ONE, way)


async def test_what_cannot_be_parsed_is_not_none() -> None:
    way: Any = Way(v1alpha1="a: [")
    assert isinstance(await talos_state._config(ONE, ["net"], way), str)


async def test_the_config_in_force_and_the_one_on_the_disk_count() -> None:
    listing = "cluster: {inlineManifests: [{name: net, contents: ''}]}"
    assert await _names(Way(v1alpha1="a: 1", persistent=listing)) == ("net",)
    assert await _names(Way(v1alpha1="a: 1", maintenance=listing)) == ()


async def test_what_a_manifest_brings_that_comes_with_the_next_boot() -> None:
    entry = "{name: other, contents: '{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, namespace: b}}'}"
    waiting = f"cluster: {{inlineManifests: [{entry}, {{name: broken, contents: 'a: ['}}]}}"
    way: Any = Way(v1alpha1="a: 1", persistent=waiting)

    found = await talos_state._config(ONE, ["net"], way)

    assert isinstance(found, talos_state._Listed)
    assert found.later == {"other": (ObjectId("apps", "DaemonSet", "b", "a"),), "broken": ()}
    same: Any = Way(v1alpha1=waiting, persistent=waiting)
    assert (await talos_state._config(ONE, ["net"], same)).later == {}  # type: ignore[union-attr]


async def _names(way: Any) -> tuple[str, ...]:
    found = await talos_state._config(ONE, ["net"], way)
    assert isinstance(found, talos_state._Listed)
    return found.names


async def test_a_url_that_a_document_names_is_called_by_its_url() -> None:
    url = "https://example.org/agent.yaml"
    named = f"apiVersion: v1alpha1\nkind: KubeExternalManifestConfig\nname: agent\nurl: {url}\n"
    way: Any = Way(v1alpha1=named)
    way.manifests = _shown("99-agent", "99-other", "05-flannel")

    listed = await talos_state._config(ONE, [url], way)

    assert isinstance(listed, talos_state._Listed)
    assert talos_state._names(listed) == (url,)
    assert list(await talos_state._manifests(ONE, listed, way)) == [url, "other", "flannel"]


async def test_an_inline_manifest_takes_the_name_of_an_external_one() -> None:
    both = (
        "apiVersion: v1alpha1\nkind: KubeExternalManifestConfig\nname: net\nurl: https://example.org/a.yaml\n---\n"
        "apiVersion: v1alpha1\nkind: KubeInlineManifestConfig\nname: net\nmanifest: ''\n"
    )
    way: Any = Way(v1alpha1=both)
    way.manifests = _shown("99-net")

    listed = await talos_state._config(ONE, ["net"], way)

    assert isinstance(listed, talos_state._Listed)
    assert list(await talos_state._manifests(ONE, listed, way)) == ["net"]


async def test_a_document_that_comes_with_the_next_boot() -> None:
    waiting = (
        "apiVersion: v1alpha1\nkind: KubeInlineManifestConfig\nname: other\n"
        "manifest: '{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, namespace: b}}'\n"
    )
    way: Any = Way(v1alpha1="a: 1", persistent=waiting)

    found = await talos_state._config(ONE, ["other"], way)

    assert isinstance(found, talos_state._Listed)
    assert found.names == ("other",)
    assert found.later == {"other": (ObjectId("apps", "DaemonSet", "b", "a"),)}


def _shown(*ids: str) -> Any:
    async def manifests(target: str) -> tuple[object, ...]:
        return tuple(types.SimpleNamespace(id=each, spec=types.SimpleNamespace(objects=())) for each in ids)

    return manifests
