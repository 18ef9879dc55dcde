"""For which version of Talos configs are generated: what machines run tells, unless it is declared."""

from typing import Any

import pytest
import yaml

from firstlight import errors
from firstlight.clients.talosctl import TalosUnreachable
from firstlight.clients.talosctl.talos_errors import TalosctlCall
from firstlight.execute import cluster_access, config_contract, machine_configs
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.machine_config import DraftPatch, MachineDraft
from firstlight.model.place import Place
from firstlight.model.secret import Secret

OLD = Secret("version: v1alpha1\ncluster: {controlPlane: {endpoint: 'https://10.5.0.2:6443'}}\n")
PATCHED = Secret(f"{OLD.reveal().decode()}---\nkind: KubeInlineManifestConfig\nname: a\nmanifest: ''\n")
NEW = Secret("version: v1alpha1\n---\nkind: KubeClusterConfig\nclusterName: home\n")
PLACE = Place("firstlight.yaml", 1)


def machine(name: str = "cp-1", role: MachineRole = MachineRole.CONTROL_PLANE) -> Machine:
    return Machine(name=name, role=role, place=PLACE, address=f"10.5.0.{name[-1]}")


def draft(**given: Any) -> MachineDraft:
    return MachineDraft(machine=machine(), cluster="home", endpoint="https://10.5.0.2:6443", **given)


@pytest.mark.parametrize(
    ("given", "running", "generated_for"),
    [
        ({"talos": "v1.14.1"}, [OLD], "v1.13"),
        ({"talos": "v1.14.1"}, [PATCHED], "v1.13"),
        ({"talos": "v1.14.1"}, [NEW], "v1.14"),
        ({"talos": "v1.15.0"}, [NEW, NEW], "v1.14"),
        ({"talos": "v1.14.1"}, [NEW, OLD], "v1.13"),
        ({"talos": "v1.14.1"}, [], "v1.14.1"),
        ({}, [OLD], "v1.13"),
        ({}, [], ""),
        ({"talos": "v1.12.4"}, [OLD], "v1.12.4"),
        ({"talos": "v1.14.1", "contract": "v1.14"}, [OLD], "v1.14"),
        ({"talos": "v1.14.1", "contract": "v1.12"}, [NEW], "v1.12"),
    ],
)
def test_a_cluster_keeps_the_contract_that_it_was_born_with(
    given: dict[str, str], running: list[Secret], generated_for: str
) -> None:
    assert config_contract.settled(draft(**given), running).generated_for == generated_for


def test_a_whole_config_has_none() -> None:
    whole = draft(talos="v1.14.1", whole=DraftPatch(place=PLACE, text=OLD))

    assert config_contract.settled(whole, [OLD]) == whole


class Way:
    """Machines, and what each shows."""

    def __init__(self, **shown: Secret) -> None:
        self.admin: Any = self
        self.shown, self.asked = shown, list[str]()

    def at(self, machine: Machine) -> str:
        return machine.name

    async def machine_config(self, target: str) -> Secret:
        self.asked.append(target)
        if target not in self.shown:
            raise TalosUnreachable(TalosctlCall(("get", "config")), detail="it is off")
        return self.shown[target]


async def test_machines_are_asked_only_where_it_is_open() -> None:
    way: Any = Way(cp_1=OLD)

    assert await config_contract.settled_by([draft(talos="v1.13.2")], [machine()], way) == (draft(talos="v1.13.2"),)
    assert way.asked == []


async def test_a_new_machine_gets_the_contract_of_those_that_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    planes = tuple(machine(name) for name in ("cp-1", "cp-2", "cp-3"))
    way = Way(**{"cp-3": OLD})

    async def ensure(world: object) -> Way:
        return way

    class World:
        cluster = Cluster(name="home", place=PLACE, machines=planes)

    monkeypatch.setattr(cluster_access, "ensure", ensure)
    world: Any = World()

    found = await config_contract.settled_here(draft(talos="v1.14.1"), world)
    assert (found.contract, way.asked) == ("v1.13", ["cp-2", "cp-3"])

    way.shown = {}
    with pytest.raises(errors.Refused, match="no control plane says") as caught:
        await config_contract.settled_here(draft(talos="v1.14.1"), world)
    assert "clusters.home.talosContract: v1.13" in caught.value.hint


SECRETBOX = {"kind": "KubeEtcdEncryptionConfig", "config": {"resources": [{"providers": [{"secretbox": {}}]}]}}
AESCBC = {"kind": "KubeEtcdEncryptionConfig", "config": {"resources": [{"providers": [{"aescbc": {}}]}]}}


@pytest.mark.parametrize(
    ("secrets", "made", "is_refused"),
    [
        ({"aescbcencryptionsecret": "key"}, SECRETBOX, True),
        ({"aescbcencryptionsecret": "key"}, AESCBC, False),
        ({"aescbcencryptionsecret": "key"}, {"cluster": {"aescbcEncryptionSecret": "key"}}, False),
        ({"secretboxencryptionsecret": "key"}, SECRETBOX, False),
        ({}, SECRETBOX, False),
    ],
)
def test_secrets_in_etcd_stay_readable(secrets: dict[str, str], made: dict[str, Any], *, is_refused: bool) -> None:
    bundle, config = (Secret(yaml.safe_dump(each)) for each in ({"secrets": secrets}, made))

    if not is_refused:
        machine_configs._require_readable(draft(talos="v1.14.1"), config, bundle)
        return
    with pytest.raises(errors.Refused, match="an AES-CBC key") as caught:
        machine_configs._require_readable(draft(talos="v1.14.1"), config, bundle)
    assert "key" not in caught.value.message.replace("AES-CBC key", "").replace("secretbox key", "")
    assert "talosContract: v1.13" in caught.value.hint
