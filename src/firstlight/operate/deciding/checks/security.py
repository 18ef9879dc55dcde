"""Whether a change weakens what protects the cluster: compared before and after, and with what is live."""

from firstlight.clients import kube
from firstlight.model.change import Matter
from firstlight.model.decision import CheckState, Decision
from firstlight.model.rendition import Object
from firstlight.observe import live_objects
from firstlight.operate.deciding.checks import scene as scenes
from firstlight.operate.deciding.checks.scene import Scene
from firstlight.plan import pods
from firstlight.policy.checking import note, posture
from firstlight.policy.checking.note import Note
from firstlight.policy.checking.pair import Pair


async def look(decision: Decision, scene: Scene) -> list[Note]:
    """Each thing that exposes more than before, with its place."""
    pairs = scenes.pairs(decision, scene)
    notes = [found for each in pairs for found in posture.added(each)]
    machines = [each for each in decision.items if each.change.matter == Matter.MACHINE]
    if machines:
        names = ", ".join(dict.fromkeys(each.change.place.path for each in machines[:3]))
        notes.append(note.person(f"machine configs differ: {names}", todo="see what they open, and to whom"))
    if unseen := scenes.unseen(decision, scene):
        says = f"what {', '.join(unseen)} deploys could not be compared, since it was not rendered before and after"
        notes.append(note.person(says, todo="see what its pods and accounts may from now on"))
    if scene.client is not None:
        notes += await _live(pairs, scene, scene.client)
    elif any(_is_looked_for(each) for each in pairs):
        notes.append(note.skipped(f"what is live: {scene.unreached}"))
    if pairs and not any(each.state in (CheckState.FAILED, CheckState.PERSON) for each in notes):
        differ = "1 object differs" if len(pairs) == 1 else f"{len(pairs)} objects differ"
        notes.append(note.passed(f"{differ}, and nothing is exposed that was not before"))
    return notes


def _is_looked_for(pair: Pair) -> bool:
    return pair.after is not None and (pods.makes_pods(Object(pair.after)) or pair.id.kind == "Service")


async def _live(pairs: tuple[Pair, ...], scene: Scene, client: kube.Client) -> list[Note]:
    """What is live and exposes more than Git says: somebody's hand, or a webhook."""
    wanted = [each for each in pairs if _is_looked_for(each) and scene.is_reached(each.cluster) and each.id.name]
    kinds = await live_objects.read(
        [Object(each.after) for each in wanted if each.after is not None], client, namespace=client.config.namespace
    )
    notes = []
    for pair in wanted:
        assert pair.after is not None
        kind = kinds[str(pair.after.get("apiVersion") or ""), pair.id.kind]
        live = kind.live.get(kind.key(pair.id, namespace=client.config.namespace))
        if live is not None:
            notes += posture.live_only(pair, live)
    return notes
