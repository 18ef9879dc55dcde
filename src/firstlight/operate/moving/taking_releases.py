"""Bootstrap takes a Helm release back from a HelmRelease that rests.

Helm knows no owner of a release: whoever writes its next revision has it. So the fields of its objects pass to Helm's
own manager, and then Helm writes a revision of the same chart with the same values, which only lacks the marks of
helm-controller. What that would make of the objects is known before anything is merged, by Helm's own dry run.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight import errors
from firstlight.document.within import mapping
from firstlight.execute.actions import install
from firstlight.execute.applying import helm_releases
from firstlight.execute.applying.helm_releases import Kept
from firstlight.execute.applying.observing import observe
from firstlight.execute.change import Change
from firstlight.execute.walking import Stage
from firstlight.execute.world import World
from firstlight.model.component import ObjectId, Phase
from firstlight.model.handover import Passing
from firstlight.model.rendition import Object
from firstlight.model.work import Installation
from firstlight.operate.moving import release_tasks
from firstlight.operate.moving.scene import Scene
from firstlight.ownership import comparing, managers

_ORIGIN = ("helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace")
"""The labels that helm-controller adds to what a chart makes."""
_SHOWN = 3


def foresee(scene: Scene) -> Stage:
    """Nothing is written: Helm says what a revision of its own would change, which must be nothing."""

    async def look(world: World) -> Change | None:
        for task in (await scene.kept_releases()).values():
            for release in task.releases:
                await _check(release, world)
        return None

    return Stage(
        id=f"{scene.cluster.name}:foresee", name="what Helm would do", phase=Phase.HANDOVER, look=look,
        what="Helm's next revision is the same as the last one of helm-controller",
    )  # fmt: skip


def write(scene: Scene) -> Stage:
    """The last revision of every release is one of bootstrap's."""
    id = f"{scene.cluster.name}:releases"

    async def look(world: World) -> Change | None:
        changes = []
        for task in (await scene.kept_releases()).values():
            for release in task.releases:
                await _check(release, world)
            changes.append(await install.look(task, world, id))
        todo = [each for each in changes if each is not None]
        if not todo:
            return None

        async def perform() -> None:
            for each in todo:
                await each.perform()

        return Change(writes=tuple(text for each in todo for text in each.writes), perform=perform)

    return Stage(
        id=id, name="releases", phase=Phase.HANDOVER, look=look, what="Helm writes a revision of bootstrap's own"
    )  # fmt: skip


async def found(scene: Scene, world: World) -> list[tuple[Passing, Mapping[str, Any]]]:
    """What releases have that bootstrap is to keep, as Helm applies it, and as it is; CRDs aside, which it shares.

    It is what their last revisions made, and not what Git would: so nothing but marks is another afterwards.
    """
    every: list[tuple[Passing, Mapping[str, Any]]] = []
    for component, task in (await scene.kept_releases()).items():
        for release in task.releases:
            kept = await helm_releases.last(world.kube, release.name, release.namespace)
            objects = [each for each in _objects(kept, release).values() if not each.is_crd]
            seen = await observe(objects, world.kube, namespace=release.namespace)
            owner = release_tasks.owner_of(release)
            every += [
                (Passing(object=each.object, component=component, manager=managers.HELM, owner=owner),
                 each.live)
                for each in seen
                if each.live is not None
            ]  # fmt: skip
    return every


async def _check(release: Installation, world: World) -> None:
    """See that bootstrap's next revision of a release would change nothing, and that nobody is at work on it.

    Raises:
        errors.Refused: It would, or somebody is.
    """
    kept = await helm_releases.last(world.kube, release.name, release.namespace)
    title = f"the release {release.namespace}/{release.name}"
    if kept is None or kept.maker:
        return  # it is not there, or is bootstrap's by now: what is to be done is Helm's usual business
    if kept.status != "deployed":
        hint = "Wait until helm-controller is done, or mend it: flux get helmreleases -A"
        raise errors.Refused(f"{title} is {kept.status}, and only one that is deployed changes hands", hint=hint)
    if kept.version != release.version or not helm_releases.same_values(release.values, kept):
        is_older = kept.version != release.version
        what = f"it is {kept.version}, and Git has {release.version}" if is_older else "its values are others"
        raise errors.Refused(
            f"{title} is not what Git has: {what}",
            hint="Let the engine bring what Git has first: flux reconcile; what differs: firstlight drift",
        )
    options = dataclasses.replace(release.options, dry_run="server", no_hooks=True)
    made = await install.helm_of(world).upgrade(
        release.name, release.chart, namespace=release.namespace, values=[release.values], options=options
    )
    if made.manifest is None:
        raise errors.Refused(f"Helm does not say what it would make of {title}")
    then = helm_releases.objects(made.manifest, release.name, release.namespace)
    _compare(_objects(kept, release), {_key(each, release): each for each in then}, title)


def _compare(now: Mapping[ObjectId, Object], then: Mapping[ObjectId, Object], title: str) -> None:
    for id in sorted(now.keys() ^ then.keys()):
        word = "delete" if id in now else "create"
        raise errors.Refused(
            f"Helm would {word} {id} of {title}", hint="See: firstlight drift; render tells what Git has"
        )
    for id in sorted(now):
        if now[id].value != then[id].value:
            fields = comparing.changes(now[id].value, then[id].value, has_status=False)
            told = ", ".join(fields[:_SHOWN]) or "something"
            raise errors.Refused(
                f"Helm would change {told} of {id} of {title}: its chart does not make the same each time",
                hint="Give it in Git what it makes up by itself, as certificates and passwords; or hand it over only.",
            )


def _objects(kept: Kept | None, release: Installation) -> dict[ObjectId, Object]:
    if kept is None:
        return {}
    every = (_bare(each) for each in kept.objects(release.name, release.namespace))
    return {_key(each, release): each for each in every}


def _key(obj: Object, release: Installation) -> ObjectId:
    return dataclasses.replace(obj.id, namespace=obj.id.namespace or release.namespace)


def _bare(obj: Object) -> Object:
    """An object without what helm-controller adds to it."""
    metadata = dict(mapping(obj.value, "metadata"))
    metadata["labels"] = {name: each for name, each in mapping(metadata, "labels").items() if name not in _ORIGIN}
    return Object({**obj.value, "metadata": metadata})
