"""How the cluster stands: nodes, engine, certificates and stores, each by one look."""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.gates import ready
from firstlight.gates.question import Question
from firstlight.model.component import ObjectId
from firstlight.model.decision import Decision
from firstlight.model.verdict import Passed, Skipped
from firstlight.observe.watching import Watching
from firstlight.operate.deciding.checks import known_objects
from firstlight.operate.deciding.checks.scene import Scene
from firstlight.operate.verify import components as verifying
from firstlight.operate.verify import engine as engines
from firstlight.operate.verify import nodes as all_nodes
from firstlight.ownership import resting as at_rest
from firstlight.plan import asking
from firstlight.policy.checking import note
from firstlight.policy.checking.note import Note

_CERTIFICATES = {("cert-manager.io", "Certificate"): "v1"}
_SECRETS = {
    ("external-secrets.io", "ClusterSecretStore"): "v1",
    ("external-secrets.io", "SecretStore"): "v1",
    ("external-secrets.io", "ExternalSecret"): "v1",
}


async def nodes(decision: Decision, scene: Scene) -> list[Note]:
    """Whether all declared machines have joined and are ready."""
    cluster = scene.after.platform.cluster(scene.cluster)
    return await _asked(scene, [all_nodes.question(cluster.machines if cluster is not None else ())])


async def engine(decision: Decision, scene: Scene) -> list[Note]:
    """Whether everything that the engine follows is synced."""
    cluster = scene.after.platform.cluster(scene.cluster)
    if scene.client is None:
        return [note.skipped(scene.unreached)]
    if cluster is None or cluster.engine is None:
        return [note.skipped("no engine is declared")]
    resting = {
        found
        for component in scene.after.platform.components_of(scene.cluster)
        for origin in component.origins
        if at_rest.is_declared(origin) and (found := asking.declared_by(origin)) is not None
    }
    return await _asked(scene, [engines.question(cluster, "", resting=resting)])


async def nodes_and_engine(decision: Decision, scene: Scene) -> list[Note]:
    """Whether the cluster is well enough to be changed."""
    cluster = scene.after.platform.cluster(scene.cluster)
    has_engine = cluster is not None and cluster.engine is not None
    return [*await nodes(decision, scene), *(await engine(decision, scene) if has_engine else [])]


async def certificates(decision: Decision, scene: Scene) -> list[Note]:
    """Whether every Certificate is issued."""
    return await _all_ready(scene, _CERTIFICATES)


async def secrets(decision: Decision, scene: Scene) -> list[Note]:
    """Whether stores are ready, and what they bring arrives."""
    return await _all_ready(scene, _SECRETS)


async def _asked(scene: Scene, questions: Sequence[Question]) -> list[Note]:
    if scene.client is None:
        return [note.skipped(scene.unreached)]
    async with Watching(scene.client) as watching:
        verdicts = await verifying.judged(list(questions), watching, wait=0.0)
    return [note.of_verdict(one.name, verdict, todo=one.hint) for one, verdict in zip(questions, verdicts, strict=True)]


async def _all_ready(scene: Scene, kinds: Mapping[tuple[str, str], str]) -> list[Note]:
    if scene.client is None:
        return [note.skipped(scene.unreached)]
    found, unread = await known_objects.live(scene.client, kinds)
    notes = [note.skipped(each) for each in unread]
    waiting = [told for each in found if (told := _waits(each, scene.now()))]
    if waiting:
        more = f" and {len(waiting) - 3} more" if len(waiting) > 3 else ""
        notes.append(note.failed(f"{'; '.join(waiting[:3])}{more}", todo="see: kubectl describe of these"))
    elif found:
        notes.append(note.passed(f"all {len(found)} are ready"))
    elif not notes:
        notes.append(note.skipped("there is none in the cluster"))
    return notes


def _waits(value: Mapping[str, Any], now: float) -> str:
    verdict = ready.judged(value, str(ObjectId.of(value)), now=now, expected=("Ready",))
    return "" if isinstance(verdict, Passed | Skipped) else verdict.reason
