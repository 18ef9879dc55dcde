"""The rollout of a network plugin: every agent and the operator in the new version, and the network of all nodes up."""

from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.gates import cni, parts
from firstlight.gates.parts import Part
from firstlight.gates.question import Question
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Failed, Verdict, Waiting
from firstlight.model.work import Watch
from firstlight.operate.changing import cni_agents
from firstlight.operate.changing.bootstrap_prepared import Preparing
from firstlight.operate.changing.carrying import Carrying
from firstlight.operate.changing.cni_choosing import Upgrade
from firstlight.operate.up import Prepared

SLOWEST = 180.0
"""Seconds for one agent: its image is pulled, and the one before it must end."""


def stage(carrying: Carrying, cluster: Cluster, upgrade: Upgrade, preparing: Preparing) -> Stage:
    """A stage that writes nothing and waits; the DaemonSet replaces its agents node by node."""

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        asked = question(upgrade, await preparing.get(world), patience=_patience(carrying, cluster))
        verdict = await world.watching.wait(asked, on_verdict=on_verdict)
        return verdict, _hint(carrying, asked) if isinstance(verdict, Waiting | Failed) else ""

    return Stage(
        id=f"{cluster.name}:cni-rollout", name=f"{upgrade.title}: rollout", phase=Phase.INLINE, wait=wait,
        what="agents node by node, operator, network of all nodes",
    )  # fmt: skip


def question(upgrade: Upgrade, prepared: Prepared, *, patience: float) -> Question:
    """Versions first, then what the gate of the network asks."""
    objects = prepared.ground.objects.get(upgrade.component.name, ())
    workloads = [each for each in (cni_agents.agents(objects), cni_agents.operator(objects)) if each is not None]
    gate = Gate(Subject.CNI, upgrade.component.name)
    network = cni.question(gate, Watch(), prepared.ground)
    assert network is not None
    found: list[Part] = [cni_agents.rollout(each) for each in workloads]
    found.append(Part(network.looks, network.judge, network.asks))
    return parts.question(gate, network.name, parts.in_turn(found), hint=network.hint, timeout=patience)


def _patience(carrying: Carrying, cluster: Cluster) -> float:
    """All nodes come one after the other."""
    return carrying.patience + SLOWEST * max(1, len(cluster.machines))


def _hint(carrying: Carrying, asked: Question) -> str:
    back = "" if carrying.is_reverting else f" The way back: firstlight change revert {carrying.record.id}"
    return f"{asked.hint}.{back}"
