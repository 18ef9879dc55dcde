"""Bootstrap takes objects back from an engine that rests: every field is bootstrap's, and the engine's marks go.

The reverse of a handover. First the entry of the engine's manager becomes bootstrap's, values untouched; then bootstrap
applies what Git has, and with that goes what only the engine had: its labels, or its tracking id.
"""

import asyncio
import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import mapping, text
from firstlight.execute.applying.guarding import guarded
from firstlight.execute.applying.observing import observe
from firstlight.execute.change import Change
from firstlight.execute.handing import suspending
from firstlight.execute.walking import Stage
from firstlight.execute.world import World
from firstlight.model.component import ObjectId, Phase
from firstlight.model.handover import Passing
from firstlight.model.move import Seat
from firstlight.model.owner import ObjectOwner, Party
from firstlight.operate.moving import taking_releases
from firstlight.operate.moving.scene import Scene
from firstlight.ownership import engine_marks, managers, marking, migrating, resting
from firstlight.ownership.migrating import Migration
from firstlight.plan import passing as passings

_MARKS = (*marking.MARKS, *engine_marks.INSTANCES)
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
        return migrating.migrate(self.live, to=self.passing.manager, also=managers.ENGINES)

    @property
    def is_taken(self) -> bool:
        """Whether it is bootstrap's alone, and no engine's mark is on it."""
        if engine_marks.of(self.live, wanted=self.passing.object.value) is not None:
            return False
        if self.is_shared:
            names = {each.name for each in managers.of(self.live) if not each.subresource}
            return self.passing.manager in names and not names & managers.ENGINES.keys()
        return self.migration is None


def stage(scene: Scene) -> Stage:
    """Every object that bootstrap is to keep is bootstrap's alone."""

    async def look(world: World) -> Change | None:
        found = [each for each in await _found(scene, world) if not each.is_taken]
        if not found:
            return None
        await _check_resting(scene, world)
        for each in found:
            await _check(each, world.kube)

        async def perform() -> None:
            await asyncio.gather(*(_take(each, world.kube) for each in found))

        writes = tuple(f"pass what {_owners(each)} owns of {each.id} to bootstrap" for each in found)
        return Change(writes=writes, perform=perform)

    return Stage(
        id=f"{scene.cluster.name}:take", name="owners", phase=Phase.HANDOVER, look=look,
        what="fields pass from the engine to bootstrap, its marks go",
    )  # fmt: skip


async def _found(scene: Scene, world: World) -> list[_Taken]:
    released = await scene.kept_releases()
    passing = [each for each in await scene.of(Seat.KEPT) if each.owner.party != Party.HELM]
    seen = await observe([each.object for each in passing], world.kube)
    found = [
        _Taken(each, one.live, is_shared=each.component in released)
        for each, one in zip(passing, seen, strict=True)
        if one.live is not None
    ]
    return [*found, *(_Taken(each, live) for each, live in await taking_releases.found(scene, world))]


def _owners(taken: _Taken) -> str:
    migration = taken.migration
    names = [each.manager for each in migration.taken + migration.discarded] if migration is not None else []
    mark = engine_marks.of(taken.live)
    return ", ".join(dict.fromkeys(names)) or (mark.owner if mark is not None else "the engine")


async def _check_resting(scene: Scene, world: World) -> None:
    """See that no engine is at work on what is taken: it would take it back at once.

    Raises:
        errors.Refused: One is.
    """
    owners = {
        ObjectOwner(passings.PARTIES[origin.form], passings.called(origin))
        for each in scene.moved
        if each.after is Seat.KEPT
        for origin in each.component.origins
        if origin.form in resting.RESTS
    }
    for each in await suspending.find(owners, world.kube):
        if not each.is_suspended:
            raise errors.Refused(
                f"{each} does not rest, so that it would take back what bootstrap takes",
                hint="Git must say so, and the engine must have it: firstlight change resume",
            )


async def _check(taken: _Taken, client: "kube.Client") -> None:
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
    version = text(taken.live, "metadata", "resourceVersion")
    guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
    answered = await client.patch(
        text(taken.live, "apiVersion"), id.kind, id.name, [*migrating.trial(then, wanted, to=manager), guard],
        form="json", manager=manager, namespace=id.namespace or None, dry_run=True,
    )  # fmt: skip
    lost = migrating.lost(then, wanted, to=manager, answered=answered)
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
    return marking.marked(taken.passing.object.value, taken.passing.owner, live=taken.live)


async def _take(taken: _Taken, client: "kube.Client") -> None:
    now: _Taken | None = taken
    for number in range(_TRIES):
        if now is None or now.is_taken:
            return
        try:
            live = now.live
            if (migration := now.migration) is not None:
                live = await client.patch(
                    text(live, "apiVersion"), now.id.kind, now.id.name, migrating.patch(live, migration), form="json",
                    manager=now.passing.manager, namespace=now.id.namespace or None,
                )  # fmt: skip
            await client.apply(guarded(_placed(now), live), manager=now.passing.manager, force=True)
        except kube.NotFound:
            return
        except (kube.Conflict, kube.Ambiguous):
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


async def _again(taken: _Taken, client: "kube.Client") -> _Taken | None:
    id = taken.id
    try:
        live = await client.get(text(taken.live, "apiVersion"), id.kind, id.name, namespace=id.namespace or None)
    except kube.NotFound:
        return None
    return dataclasses.replace(taken, live=live)
