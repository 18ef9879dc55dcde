"""Drift corrected: the engine is asked to reconcile, and watched; if it does not answer, Git's form is applied as it.

Nothing is deleted here: what is extra is the engine's to prune, or a person's.
"""

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import at, mapping, text
from firstlight.gates.looking import called
from firstlight.gates.question import Question
from firstlight.model.drift import Difference, Drift, Drifted
from firstlight.model.observation import Look, View
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.observe import drift as observing
from firstlight.observe import live_objects
from firstlight.observe.watching import Watching
from firstlight.operate import drift as looking
from firstlight.operate.drift_scene import Scene
from firstlight.ownership import drifting, stray_fields
from firstlight.ownership.drifting import Wanted

ANSWER = 60.0
"""Seconds in which an engine must have handled a request: one that is down never does."""
PATIENCE = 20.0
"""Seconds for what comes after an engine has handled a request: Argo CD heals a moment later."""
_TRIES = 5
_AS = "flux-client-side-apply"
"""The manager that Flux leaves alone on its own objects."""
_REQUESTED = "reconcile.fluxcd.io/requestedAt"
_FORCED = "reconcile.fluxcd.io/forceAt"
_REFRESH = "argocd.argoproj.io/refresh"
_KINDS = {
    "Kustomization": "kustomize.toolkit.fluxcd.io/v1",
    "HelmRelease": "helm.toolkit.fluxcd.io/v2",
    "Application": "argoproj.io/v1alpha1",
}
_SOURCES = "source.toolkit.fluxcd.io/v1"
_CONTROLLERS = {
    "Kustomization": "kustomize-controller", "HelmRelease": "helm-controller",
    "Application": "argocd-application-controller",
}  # fmt: skip

Tell = Callable[[str], None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wishes:
    """How drift is to be corrected."""

    as_owner: bool = False
    """Whether Git's form is applied in the engine's place, if that does not answer."""
    answer: float = ANSWER
    patience: float = PATIENCE


async def correct(
    scene: Scene,
    client: kube.Client,
    drift: Drift,
    *,
    wishes: Wishes,
    tell: Tell,
    confirm: Callable[[str], bool],
) -> Drift:
    """Correct what differs; how it is in the end.

    Args:
        scene: What is compared.
        client: The API.
        drift: What was found.
        wishes: How.
        tell: Told of everything that is done.
        confirm: Asked before anything is applied in the engine's place.

    Raises:
        errors.Refused: The engine follows another commit than the one that was rendered.
        errors.ClientError: The API does not answer.
    """
    if drift.applied:
        raise errors.Refused(
            f"the engine has applied {'; '.join(drift.applied)}, not {drift.revision[:12]}: nothing is to be put back",
            hint="Push the commit and let the engine apply it, or check out the one that it has.",
        )
    mine = {each.id: each for each in scene.wanted}
    engines = {
        each.owner
        for one in drift.drifted
        if (each := mine.get(one.id)) is not None and each.owner.party in (Party.FLUX, Party.ARGOCD)
    }
    _say_what_is_left(drift, scene, tell)
    if not engines:
        return drift
    silent = await _ask(engines, client, tell=tell, seconds=wishes.answer)
    left = [each for each in drift.drifted if (one := mine.get(each.id)) is not None and one.owner in silent]
    if left and wishes.as_owner:
        await _apply([mine[each.id] for each in left], left, client, tell=tell, confirm=confirm)
    elif left:
        tell(f"{len(left)} objects are as they were; --as-owner applies Git's form in the engine's place")
    return await _until_gone(scene, client, {each.id for each in drift.drifted if each.id in mine}, wishes.patience)


def _say_what_is_left(drift: Drift, scene: Scene, tell: Tell) -> None:
    names = sorted({each.component for each in drift.drifted if each.component in scene.kept})
    if names:
        only = " ".join(f"--only {each}" for each in names)
        tell(f"{', '.join(names)}: bootstrap keeps it; firstlight up {drift.cluster} {only} puts it back")
    extra = [each for each in drift.drifted if each.difference == Difference.EXTRA]
    if extra:
        tell(f"{len(extra)} extra object{'s' if len(extra) > 1 else ''}: nothing is deleted here")


async def _ask(owners: Iterable[ObjectOwner], client: kube.Client, *, tell: Tell, seconds: float) -> set[ObjectOwner]:
    """Ask owners to reconcile, and wait until they did; those that did not."""
    token = f"{time.time():.6f}"
    async with Watching(client) as watching:

        async def one(owner: ObjectOwner) -> bool:
            holder = await _holder(owner, client)
            if holder is None:
                tell(f"{owner.name} is not there, so that nobody can be asked")
                return False
            if at(holder, "spec", "suspend") is True:
                tell(f"{owner.name} is suspended: it was not asked")
                return True
            await _request(holder, token, client, tell)
            if await _is_answered(holder, token, watching, seconds):
                return True
            controller = _CONTROLLERS[text(holder, "kind")]
            tell(f"{owner.name} did not answer in {seconds:.0f} s: does {controller} run?")
            return False

        ordered = sorted(owners)
        answered = await asyncio.gather(*map(one, ordered))
    return {owner for owner, has in zip(ordered, answered, strict=True) if not has}


async def _holder(owner: ObjectOwner, client: kube.Client) -> Mapping[str, Any] | None:
    kind, _, place = owner.name.partition(" ")
    namespace, _, name = place.rpartition("/")
    with contextlib.suppress(kube.UnknownKind):
        if namespace:
            return await live_objects.one((_KINDS[kind], kind), (namespace, name), client)
        found = (await client.list(_KINDS[kind], kind, fields=f"metadata.name={name}")).items
        return next(iter(found), None)
    return None


async def _request(holder: Mapping[str, Any], token: str, client: kube.Client, tell: Tell) -> None:
    """What ``flux reconcile`` and ``argocd app get --hard-refresh`` do."""
    kind = text(holder, "kind")
    name = f"{kind} {text(holder, 'metadata', 'namespace')}/{text(holder, 'metadata', 'name')}"
    match kind:
        case "Kustomization":
            source = mapping(holder, "spec", "sourceRef")
            space = text(source, "namespace") or text(holder, "metadata", "namespace")
            with contextlib.suppress(kube.NotFound, kube.UnknownKind):
                await _annotate(
                    (_SOURCES, text(source, "kind")), (space, text(source, "name")), {_REQUESTED: token}, client
                )
            marks = {_REQUESTED: token}
            tell(f"asked {name} to reconcile, and its source to look again")
        case "HelmRelease":
            is_detecting = text(holder, "spec", "driftDetection", "mode") == "enabled"
            # Without it helm-controller compares nothing with the cluster: only an upgrade puts things back.
            marks = {_REQUESTED: token} if is_detecting else {_REQUESTED: token, _FORCED: token}
            how = "" if is_detecting else " by an upgrade to the same, since its driftDetection is not enabled"
            tell(f"asked {name} to reconcile{how}")
        case _:
            marks = {_REFRESH: "hard"}
            is_healing = at(holder, "spec", "syncPolicy", "automated", "selfHeal") is True
            app = text(holder, "metadata", "name")
            how = "" if is_healing else f"; it does not heal itself, so sync it: argocd app sync {app}"
            tell(f"asked {name} to look again{how}")
    place = (text(holder, "metadata", "namespace"), text(holder, "metadata", "name"))
    await _annotate((_KINDS[kind], kind), place, marks, client)


async def _annotate(
    kind: tuple[str, str], place: tuple[str, str], annotations: Mapping[str, str], client: kube.Client
) -> None:
    body = {"metadata": {"annotations": dict(annotations)}}
    await client.patch(*kind, place[1], body, manager=_AS, namespace=place[0])


async def _is_answered(holder: Mapping[str, Any], token: str, watching: Watching, seconds: float) -> bool:
    """Whether a request was handled; Argo CD takes its annotation away when it has looked."""
    kind = text(holder, "kind")
    look = Look(
        api_version=_KINDS[kind], kind=kind, namespace=text(holder, "metadata", "namespace"),
        name=text(holder, "metadata", "name"),
    )  # fmt: skip

    def judge(view: View) -> Verdict:
        found = view.one(look)
        if kind == "Application":
            is_done = found is not None and _REFRESH not in mapping(found, "metadata", "annotations")
        else:
            is_done = text(found, "status", "lastHandledReconcileAt") == token
        return Passed("") if is_done else Waiting("not yet")

    question = Question(gate=Gate(Subject.RECONCILED), name=look.name, looks=(look,), judge=judge, timeout=seconds)
    return isinstance(await watching.wait(question, on_verdict=lambda _: None), Passed)


async def _apply(
    wanted: Sequence[Wanted],
    drifted: Sequence[Drifted],
    client: kube.Client,
    *,
    tell: Tell,
    confirm: Callable[[str], bool],
) -> None:
    """Git's form as the owner, on nothing but what was seen."""
    managers = ", ".join(sorted({each.manager for each in wanted}))
    names = "\n".join(f"  {each.difference.value}   {called(each.id)}" for each in drifted)
    if not confirm(f"The engine does not answer. As {managers}, Git's form would be applied to:\n{names}"):
        tell("nothing was applied")
        return
    for each in wanted:
        try:
            await _apply_one(each, client)
            tell(f"applied {called(each.id)} as {each.manager}")
        except kube.Conflict:
            tell(f"{called(each.id)} is written by somebody else all the time: it was left")
        except errors.ClientError as error:
            tell(f"{called(each.id)} could not be applied: {error.message}")


async def _apply_one(wanted: Wanted, client: kube.Client) -> None:
    for tries_left in range(_TRIES - 1, -1, -1):
        kinds = await live_objects.read([wanted.object], client, namespace=observing.NAMESPACE)
        kind = kinds[observing.kind_of(wanted)]
        live = kind.live.get(kind.key(wanted.id, namespace=observing.NAMESPACE))
        value = drifting.form(wanted, live)
        strays = drifting.strays(wanted, value, live) if live is not None else ()
        try:
            made = await client.apply(observing.guarded(value, live), manager=wanted.manager, force=True)
            if strays:
                real = stray_fields.real(strays, await observing.cleaned(strays, made, client))
                await observing.cleaned(real, made, client, manager=wanted.manager, dry_run=False)
            return
        except kube.Conflict:
            if not tries_left:
                raise


async def _until_gone(scene: Scene, client: kube.Client, ids: set[Any], seconds: float) -> Drift:
    """Watch until what was to be corrected is; the last look, if it is not in time."""
    last: list[Drift] = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds), contextlib.aclosing(looking.watch(scene, client)) as looks:
            async for each in looks:
                last[:] = [each]
                if not any(one.id in ids for one in each.drifted):
                    break
    return last[0] if last else await looking.look(scene, client)
