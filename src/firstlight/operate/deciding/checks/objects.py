"""Objects held against their schema: by the API server's dry run where there is one, else by the CRDs of the repo."""

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import text
from firstlight.model.decision import Decision
from firstlight.operate.deciding.checks import known_objects
from firstlight.operate.deciding.checks import scene as scenes
from firstlight.operate.deciding.checks.scene import Scene
from firstlight.plan import known
from firstlight.policy.checking import note, schemas
from firstlight.policy.checking.note import Note
from firstlight.policy.checking.pair import Pair
from firstlight.policy.checking.schemas import Schemas

MANAGER = "firstlight-decide"
"""As whom dry runs are made; nothing of it is ever stored."""
_AT_ONCE = 8
_CRDS = {("apiextensions.k8s.io", "CustomResourceDefinition")}
_VARIABLE = "${"
_NO_DRY_RUN = "dry run"


@dataclasses.dataclass(frozen=True)
class _Answers:
    """What came of the objects."""

    notes: list[Note]
    tried: int = 0
    """Objects that the API server accepted."""
    left: tuple[Pair, ...] = ()
    """Objects that it cannot know yet."""


async def look(decision: Decision, scene: Scene) -> list[Note]:
    """Every object that comes or becomes another."""
    pairs = [each for each in scenes.pairs(decision, scene) if each.after is not None and each.id.name]
    usable = [each for each in pairs if "sops" not in (each.after or {})]
    notes: list[Note] = []
    if hidden := len(pairs) - len(usable):
        notes.append(note.skipped(f"{_counted(hidden)} with encrypted values"))
    here = [each for each in usable if scene.client is not None and each.cluster in ("", scene.cluster)]
    offline = [each for each in usable if each not in here]
    if scene.client is not None and here:
        answers = await _dry_run(here, scene.client)
        notes += answers.notes
        offline += answers.left
        if answers.tried:
            notes.append(note.passed(f"the API server accepts {_counted(answers.tried)} in a dry run"))
    return notes + _by_crds(offline, schemas.of_crds(known_objects.in_repo(scene.after, _CRDS)), scene)


async def _dry_run(pairs: Sequence[Pair], client: kube.Client) -> _Answers:
    limit = asyncio.Semaphore(_AT_ONCE)
    coming = {each.id.name for each in pairs if each.id.kind == "Namespace"}

    async def tried(pair: Pair) -> Note | Pair | None:
        async with limit:
            return await _tried(pair, client, coming)

    found = await asyncio.gather(*map(tried, pairs))
    return _Answers(
        notes=[each for each in found if isinstance(each, Note)],
        tried=sum(each is None for each in found),
        left=tuple(each for each in found if isinstance(each, Pair)),
    )


async def _tried(pair: Pair, client: kube.Client, coming: set[str]) -> Note | Pair | None:
    """None if the server accepts it, the object itself if the server cannot know it yet, else what is wrong."""
    assert pair.after is not None
    try:
        await client.apply(pair.after, manager=MANAGER, force=True, dry_run=True)
    except kube.UnknownKind:
        return pair  # its CRD may come with the change
    except kube.NotFound as error:
        space = pair.id.namespace
        if space and (space in coming or not await _is_there(client, space)):
            return pair
        return _refused(pair, error.message)
    except kube.Forbidden as error:
        return note.skipped(f"{pair} was not tried: {error.message}")
    except kube.BadRequest as error:
        if _NO_DRY_RUN in error.message:
            return note.skipped(f"{pair} was not tried: a webhook does not take part in dry runs")
        return _refused(pair, error.message)
    except kube.ApiError as error:
        return _refused(pair, error.message)
    except (errors.Unreachable, errors.TimedOut):
        raise
    except errors.ClientError as error:
        return _refused(pair, error.message)
    return None


async def _is_there(client: kube.Client, namespace: str) -> bool:
    try:
        await client.get("v1", "Namespace", namespace, metadata_only=True)
    except kube.NotFound:
        return False
    return True


def _refused(pair: Pair, message: str) -> Note:
    if _VARIABLE in str(pair.after):
        return note.skipped(f"{pair} has a variable whose value is not known here, and is refused with it: {message}")
    return note.failed(f"the API server refuses {pair}: {message}", todo="correct it", place=pair.place)


def _by_crds(pairs: Sequence[Pair], known_kinds: Schemas, scene: Scene) -> list[Note]:
    """What CRDs of the repo say; the rest is told to be unseen."""
    notes: list[Note] = []
    fitting, unseen = 0, dict[str, None]()
    for pair in pairs:
        value: Mapping[str, Any] = pair.after or {}
        if not known_kinds.knows(value):
            is_ours = known.is_builtin(pair.id.group) or scene.client is None
            unseen[pair.id.kind if is_ours else f"{pair.id.kind} ({text(value, 'apiVersion')})"] = None
            continue
        wrong = known_kinds.problems(value) if _VARIABLE not in str(value) else ()
        notes += [note.failed(f"{pair}: {each}", todo="correct it", place=pair.place) for each in wrong]
        fitting += not wrong
    if fitting:
        notes.append(note.passed(f"{_counted(fitting)} fit their CRDs in the repo"))
    if unseen:
        why = scene.unreached if scene.client is None else "the API server does not know it yet"
        notes.append(note.skipped(f"the schema of {', '.join(unseen)}: {why}"))
    return notes


def _counted(count: int) -> str:
    return "1 object" if count == 1 else f"{count} objects"
