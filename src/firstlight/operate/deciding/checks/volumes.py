"""What becomes of volumes whose claims go."""

from firstlight.clients import kube
from firstlight.document.within import text
from firstlight.model.decision import Decision
from firstlight.operate.deciding.checks import scene as scenes
from firstlight.operate.deciding.checks.scene import Scene
from firstlight.policy.checking import note
from firstlight.policy.checking.note import Note
from firstlight.policy.checking.pair import Pair


async def look(decision: Decision, scene: Scene) -> list[Note]:
    """Whether the volumes of claims that go are kept."""
    claims = [
        each
        for each in scenes.pairs(decision, scene)
        if each.is_gone and (each.id.group, each.id.kind) == ("", "PersistentVolumeClaim")
    ]
    if not claims:
        unseen = scenes.unseen(decision, scene)
        if unseen:
            return [note.skipped(f"{', '.join(unseen)} was not rendered before and after")]
        return [note.passed("no claim goes")]
    client = scene.client
    if client is None:
        return [note.skipped(f"{', '.join(map(str, claims))}: {scene.unreached}")]
    return [await _of(each, client) if scene.is_reached(each.cluster) else _unasked(each) for each in claims]


def _unasked(pair: Pair) -> Note:
    return note.skipped(f"{pair}: {pair.cluster or 'its cluster'} was not asked")


async def _of(pair: Pair, client: kube.Client) -> Note:
    try:
        claim = await client.get("v1", "PersistentVolumeClaim", pair.id.name, namespace=pair.id.namespace)
        name = text(claim, "spec", "volumeName")
        if not name:
            return note.passed(f"{pair} has no volume")
        volume = await client.get("v1", "PersistentVolume", name)
    except kube.NotFound:
        return note.passed(f"{pair} is not in the cluster")
    policy = text(volume, "spec", "persistentVolumeReclaimPolicy")
    if policy == "Retain":
        return note.passed(f"{pair} goes, and its volume {name} is kept")
    says = f"{pair} goes, and its volume {name} with it ({policy})"
    patch = '{"spec": {"persistentVolumeReclaimPolicy": "Retain"}}'
    return note.failed(says, todo=f"keep it: kubectl patch pv {name} -p '{patch}'", place=pair.place)
