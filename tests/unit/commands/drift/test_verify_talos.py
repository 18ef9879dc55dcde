"""What ``verify`` says of what Talos was to release: what an upgrade would delete is red, what is left is named."""

import dataclasses

import pytest

from firstlight import errors
from firstlight.commands.verify import talos_inventory
from firstlight.execute.handover.talos_state import TalosState
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting
from firstlight.model.work import ReleaseFromTalos

KEY = "kube-system_cilium_apps_DaemonSet"
CILIUM = ObjectId("apps", "DaemonSet", "kube-system", "cilium")
ROLE = ObjectId("rbac.authorization.k8s.io", "ClusterRole", "", "cilium")
CLEAN = TalosState(configs={"cp-1": (), "cp-2": ()}, has_inventory=True)
TASK = ReleaseFromTalos(manifests=("cilium",), passing=(), control_planes=())


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        (CLEAN, Passed("2 control planes, nothing left")),
        (dataclasses.replace(CLEAN, keys=(KEY,), doomed=(KEY,)),
         Failed("the next talosctl upgrade-k8s deletes DaemonSet kube-system/cilium")),
        (dataclasses.replace(CLEAN, keys=(KEY,)), Waiting("the inventory still has DaemonSet kube-system/cilium")),
        (dataclasses.replace(CLEAN, configs={"cp-1": (), "cp-2": ("cilium",)}),
         Waiting("the config of cp-2 still has cilium")),
        (dataclasses.replace(CLEAN, annotated=(CILIUM,), managed=(CILIUM,)),
         Waiting("DaemonSet kube-system/cilium still has Talos's annotation, and 1 more")),
        (dataclasses.replace(CLEAN, silent={"cp-3": "no route to host"}),
         Waiting("cp-3 does not say what it has: no route to host")),
    ],
)  # fmt: skip
def test_what_is_left(state: TalosState, verdict: Verdict) -> None:
    assert talos_inventory.judge_release(state) == verdict
    assert state.is_released == isinstance(verdict, Passed)


async def test_red_says_how_to_upgrade_until_it_is_repaired() -> None:
    async def look(task: ReleaseFromTalos) -> TalosState:
        return dataclasses.replace(CLEAN, keys=(KEY,), doomed=(KEY,))

    found = await talos_inventory.check_release(TASK, look)

    assert found.detail[0] == "upgrade-k8s would delete DaemonSet kube-system/cilium: no manifest has it"
    assert "--manifests-no-prune" in found.detail[-1]


async def test_machines_without_keys_are_not_asked() -> None:
    async def look(task: ReleaseFromTalos) -> TalosState:
        raise errors.Refused("nothing says where the Talos secrets are")

    found = await talos_inventory.check_release(TASK, look)

    assert found.verdict == Skipped("the machines were not asked: nothing says where the Talos secrets are")


def _seen(*keys: str) -> GateView:
    return GateView(now=1000.0, objects={talos_inventory.INVENTORY: ({"data": dict.fromkeys(keys, "")},)})


def test_the_inventory_must_not_have_what_git_is_to_own() -> None:
    """Told without any machine: the API is enough."""
    kept, role = (
        "_system__x_rbac.authorization.k8s.io_ClusterRole",
        "kube-system_cilium_rbac.authorization.k8s.io_ClusterRole",
    )

    def judged(*keys: str) -> Verdict:
        return talos_inventory.judge_inventory(_seen(*keys), talos="v1.13.0", has_inline=True, released=(CILIUM, ROLE))

    red = judged(kept, KEY, role)

    assert isinstance(red, Failed)
    assert red.reason.startswith("it still has DaemonSet kube-system/cilium and 1 more, which Git is to own")
    assert judged(kept) == Passed("1 object")
