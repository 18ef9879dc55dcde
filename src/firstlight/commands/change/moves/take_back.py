"""Bootstrap takes objects back from an engine that rests: every field is bootstrap's, and the engine's marks go.

The reverse of a handover. First the entry of the engine's manager becomes bootstrap's, values untouched; then bootstrap
applies what Git has, and with that goes what only the engine had: its labels, or its tracking id.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.change.moves import move_context
from firstlight.commands.change.moves.move_context import MoveContext
from firstlight.document import within
from firstlight.document.within import mapping
from firstlight.engines import engine_directives, engine_marks
from firstlight.execute.actions import install
from firstlight.execute.apply import helm_storage
from firstlight.execute.apply.helm_storage import HelmRevision
from firstlight.execute.apply.server_side_apply import guarded
from firstlight.execute.handover import engine_suspend
from firstlight.execute.walk import WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.model import flux_names, helm_names
from firstlight.model.component import ObjectId, Phase
from firstlight.model.handover import Passing
from firstlight.model.move import Seat
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.rendition import Object
from firstlight.model.work import Installation
from firstlight.observe.live_objects import observe_objects
from firstlight.ownership import apply_comparison, apply_form, managers
from firstlight.ownership import migration as ownership_migration
from firstlight.ownership.migration import Migration
from firstlight.plan import final_owners

_MARKS = (*apply_form.MARKS, *engine_marks.INSTANCES)
"""What goes with an engine, and is no loss."""
_TRIES = 8
_PAUSE = 0.1
"""Seconds between two tries at what others write too."""


@dataclasses.dataclass(frozen=True)
class _Taken:
    """One object that is not bootstrap's alone."""

    passing: Passing
    live: Mapping[str, Any] = dataclasses.field(repr=False)
    is_shared: bool = False
    """Whether Helm has it as well, as it has the CRDs of a chart's templates."""

    @property
    def id(self) -> ObjectId:
        return ObjectId.of(self.live)

    @property
    def migration(self) -> Migration | None:
        """What its managedFields must become; None if they are so."""
        return ownership_migration.migrate(self.live, to=self.passing.manager, also=managers.ENGINES)

    @property
    def is_taken(self) -> bool:
        """Whether it is bootstrap's alone, and no engine's mark is on it."""
        if engine_marks.of(self.live, wanted=self.passing.object.value) is not None:
            return False
        if self.is_shared:
            names = {each.name for each in managers.of(self.live) if not each.subresource}
            return self.passing.manager in names and not names & managers.ENGINES.keys()
        return self.migration is None


def take_back_stage(scene: MoveContext) -> WalkStage:
    """Every object that bootstrap is to keep is bootstrap's alone."""

    async def look(world: World) -> PendingChange | None:
        found = [each for each in await _found(scene, world) if not each.is_taken]
        if not found:
            return None
        await _check_resting(scene, world)
        for each in found:
            await _check(each, world.kube)

        async def perform() -> None:
            await asyncio.gather(*(_take(each, world.kube) for each in found))

        writes = tuple(f"pass what {_owners(each)} owns of {each.id} to bootstrap" for each in found)
        return PendingChange(writes=writes, perform=perform)

    return WalkStage(
        id=f"{scene.cluster.name}:take", name="owners", phase=Phase.HANDOVER, look=look,
        what="fields pass from the engine to bootstrap, its marks go",
    )  # fmt: skip


async def _found(scene: MoveContext, world: World) -> list[_Taken]:
    released = await scene.kept_releases()
    passing = [each for each in await scene.of(Seat.KEPT) if each.owner.party != Party.HELM]
    seen = await observe_objects([each.object for each in passing], world.kube)
    found = [
        _Taken(each, one.live, is_shared=each.component in released)
        for each, one in zip(passing, seen, strict=True)
        if one.live is not None
    ]
    return [*found, *(_Taken(each, live) for each, live in await found_releases(scene, world))]


def _owners(taken: _Taken) -> str:
    migration = taken.migration
    names = [each.manager for each in migration.taken + migration.discarded] if migration is not None else []
    mark = engine_marks.of(taken.live)
    return ", ".join(dict.fromkeys(names)) or (mark.owner if mark is not None else "the engine")


async def _check_resting(scene: MoveContext, world: World) -> None:
    """See that no engine is at work on what is taken: it would take it back at once.

    Raises:
        errors.Refused: One is.
    """
    owners = {
        ObjectOwner(final_owners.PARTIES[origin.form], final_owners.owner_name(origin))
        for each in scene.moved
        if each.after is Seat.KEPT
        for origin in each.component.origins
        if origin.form in engine_directives.RESTS
    }
    for each in await engine_suspend.find(owners, world.kube):
        if not each.is_suspended:
            raise errors.Refused(
                f"{each} does not rest, so that it would take back what bootstrap takes",
                hint="Git must say so, and the engine must have it: firstlight change resume",
            )


async def _check(taken: _Taken, client: kube.Client) -> None:
    """See that nothing goes with the engine but its marks, and that no pod is replaced; by a dry run.

    Raises:
        errors.Refused: A field would be lost that Git does not have, or pods would be others.
    """
    migration = taken.migration
    if migration is None:
        return
    id, wanted, manager = taken.id, _wanted(taken), taken.passing.manager
    then = {**taken.live, "metadata": {**mapping(taken.live, "metadata"), "managedFields": migration.managed_fields}}
    # What the server puts back by itself, as it does with the empty structs that Flux applies, is no loss.
    version = within.text(taken.live, "metadata", "resourceVersion")
    guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
    answered = await client.patch(
        within.text(taken.live, "apiVersion"),
        id.kind,
        id.name,
        [*ownership_migration.trial(then, wanted, to=manager), guard],
        form="json",
        manager=manager,
        namespace=id.namespace or None,
        dry_run=True,
    )
    lost = ownership_migration.lost(then, wanted, to=manager, answered=answered)
    real = [each for each in lost if not _is_mark(each)]
    if real:
        raise errors.Refused(
            f"{id} would lose {', '.join(real[:3])}, which Git does not have",
            hint="Take it into Git first; firstlight drift shows what differs.",
        )
    if mapping(answered, "spec", "template") != mapping(taken.live, "spec", "template"):
        raise errors.Refused(f"{id} would replace its pods", hint="Let Git have what is live first: firstlight drift")


def _is_mark(field: str) -> bool:
    return field.startswith("metadata") and any(mark in field for mark in _MARKS)


def _wanted(taken: _Taken) -> dict[str, Any]:
    return apply_form.marked(taken.passing.object.value, taken.passing.owner, live=taken.live)


async def _take(taken: _Taken, client: kube.Client) -> None:
    now: _Taken | None = taken
    for number in range(_TRIES):
        if now is None or now.is_taken:
            return
        try:
            live = now.live
            if (migration := now.migration) is not None:
                live = await client.patch(
                    within.text(live, "apiVersion"),
                    now.id.kind,
                    now.id.name,
                    ownership_migration.patch(live, migration),
                    form="json",
                    manager=now.passing.manager,
                    namespace=now.id.namespace or None,
                )
            await client.apply(guarded(_placed(now), live), manager=now.passing.manager, force=True)
        except kube.NotFound:
            return
        except (kube.Conflict, kube.AmbiguousWrite):
            if number + 1 == _TRIES:
                raise
            await asyncio.sleep(_PAUSE * number)
        now = await _again(now, client)


def _placed(taken: _Taken) -> dict[str, Any]:
    """What is applied, in the namespace in which the object is."""
    value = _wanted(taken)
    if taken.id.namespace:
        value["metadata"] = {**value["metadata"], "namespace": taken.id.namespace}
    return value


async def _again(taken: _Taken, client: kube.Client) -> _Taken | None:
    id = taken.id
    try:
        live = await client.get(within.text(taken.live, "apiVersion"), id.kind, id.name, namespace=id.namespace or None)
    except kube.NotFound:
        return None
    return dataclasses.replace(taken, live=live)


# Bootstrap takes a Helm release back from a HelmRelease that rests.
#
# Helm knows no owner of a release: whoever writes its next revision has it. So the fields of its objects pass to Helm's
# own manager, and then Helm writes a revision of the same chart with the same values, which only lacks the marks of
# helm-controller. What that would make of the objects is known before anything is merged, by Helm's own dry run.


_ORIGIN = (flux_names.HELM_RELEASE_NAME_LABEL, flux_names.HELM_RELEASE_NAMESPACE_LABEL)
"""The labels that helm-controller adds to what a chart makes."""
_SHOWN = 3


def foresee_releases(scene: MoveContext) -> WalkStage:
    """Nothing is written: Helm says what a revision of its own would change, which must be nothing."""

    async def look(world: World) -> PendingChange | None:
        for task in (await scene.kept_releases()).values():
            for release in task.releases:
                await _taking_releases_check(release, world)
        return None

    return WalkStage(
        id=f"{scene.cluster.name}:foresee", name="what Helm would do", phase=Phase.HANDOVER, look=look,
        what="Helm's next revision is the same as the last one of helm-controller",
    )  # fmt: skip


def write_releases(scene: MoveContext) -> WalkStage:
    """The last revision of every release is one of bootstrap's."""
    id = f"{scene.cluster.name}:releases"

    async def look(world: World) -> PendingChange | None:
        changes = []
        for task in (await scene.kept_releases()).values():
            for release in task.releases:
                await _taking_releases_check(release, world)
            changes.append(await install.look_install(task, world, id))
        todo = [each for each in changes if each is not None]
        if not todo:
            return None

        async def perform() -> None:
            for each in todo:
                await each.perform()

        return PendingChange(writes=tuple(text for each in todo for text in each.writes), perform=perform)

    return WalkStage(
        id=id, name="releases", phase=Phase.HANDOVER, look=look, what="Helm writes a revision of bootstrap's own"
    )  # fmt: skip


async def found_releases(scene: MoveContext, world: World) -> list[tuple[Passing, Mapping[str, Any]]]:
    """What releases have that bootstrap is to keep, as Helm applies it, and as it is; CRDs aside, which it shares.

    It is what their last revisions made, and not what Git would: so nothing but marks is another afterwards.
    """
    every: list[tuple[Passing, Mapping[str, Any]]] = []
    for component, task in (await scene.kept_releases()).items():
        for release in task.releases:
            kept = await helm_storage.last(world.kube, release.name, release.namespace)
            objects = [each for each in _objects(kept, release).values() if not each.is_crd]
            seen = await observe_objects(objects, world.kube, namespace=release.namespace)
            owner = move_context.owner_of_release(release)
            every += [
                (Passing(object=each.object, component=component, manager=helm_names.FIELD_MANAGER, owner=owner),
                 each.live)
                for each in seen
                if each.live is not None
            ]  # fmt: skip
    return every


async def _taking_releases_check(release: Installation, world: World) -> None:
    """See that bootstrap's next revision of a release would change nothing, and that nobody is at work on it.

    Raises:
        errors.Refused: It would, or somebody is.
    """
    kept = await helm_storage.last(world.kube, release.name, release.namespace)
    title = f"the release {release.namespace}/{release.name}"
    if kept is None or kept.maker:
        return  # it is not there, or is bootstrap's by now: what is to be done is Helm's usual business
    if kept.status != "deployed":
        hint = "Wait until helm-controller is done, or mend it: flux get helmreleases -A"
        raise errors.Refused(f"{title} is {kept.status}, and only one that is deployed changes hands", hint=hint)
    if kept.version != release.version or not helm_storage.same_values(release.values, kept):
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
    then = helm_storage.objects(made.manifest, release.name, release.namespace)
    _compare(_objects(kept, release), {_key(each, release): each for each in then}, title)


def _compare(now: Mapping[ObjectId, Object], then: Mapping[ObjectId, Object], title: str) -> None:
    for id in sorted(now.keys() ^ then.keys()):
        word = "delete" if id in now else "create"
        raise errors.Refused(
            f"Helm would {word} {id} of {title}", hint="See: firstlight drift; render tells what Git has"
        )
    for id in sorted(now):
        if now[id].value != then[id].value:
            fields = apply_comparison.changes(now[id].value, then[id].value, has_status=False)
            told = ", ".join(fields[:_SHOWN]) or "something"
            raise errors.Refused(
                f"Helm would change {told} of {id} of {title}: its chart does not make the same each time",
                hint="Give it in Git what it makes up by itself, as certificates and passwords; or hand it over only.",
            )


def _objects(kept: HelmRevision | None, release: Installation) -> dict[ObjectId, Object]:
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
