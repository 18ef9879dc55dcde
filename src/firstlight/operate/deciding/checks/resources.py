"""Whether the nodes have what the changed workloads ask for."""

from firstlight.clients import kube
from firstlight.model.decision import Decision
from firstlight.operate.deciding.checks import scene as scenes
from firstlight.operate.deciding.checks.scene import Scene
from firstlight.policy.checking import note, requests, room
from firstlight.policy.checking.note import Note
from firstlight.policy.checking.requests import Amount, Demand


async def look(decision: Decision, scene: Scene) -> list[Note]:
    """The difference in requests against what is free on the nodes."""
    demands = requests.demands(scenes.pairs(decision, scene))
    if not demands:
        unseen = scenes.unseen(decision, scene)
        unsure = f", as far as files tell: {', '.join(unseen)} was not rendered before and after" if unseen else ""
        return [note.skipped(f"no workload asks for more or less than before{unsure}")]
    here = [each for each in demands if scene.is_reached(each.pair.cluster) or not each.pair.cluster]
    elsewhere = [each for each in demands if each not in here]
    notes: list[Note] = []
    if scene.client is None:
        return [note.skipped(f"{scene.unreached}; {_sum(demands)}")]
    if here:
        notes += room.judged(here, await _nodes(scene.client))
    if elsewhere:
        names = ", ".join(sorted({each.pair.cluster for each in elsewhere}))
        notes.append(note.skipped(f"{names} was not asked; {_sum(elsewhere)}"))
    return notes


async def _nodes(client: kube.Client) -> tuple[room.Node, ...]:
    nodes = await client.list("v1", "Node")
    pods = await client.list("v1", "Pod", fields="status.phase!=Succeeded,status.phase!=Failed")
    return room.nodes(nodes.items, pods.items)


def _sum(demands: list[Demand] | tuple[Demand, ...]) -> str:
    """What is asked for in all; what runs on every node is told for one."""
    total, each_node = Amount(), Amount()
    for each in demands:
        if each.is_per_node:
            each_node = each_node + each.difference(1)
        else:
            total = total + each.difference()
    said = f"the change asks for {requests.difference(total)}"
    return said + (f", and for {requests.difference(each_node)} on each node" if each_node != Amount() else "")
