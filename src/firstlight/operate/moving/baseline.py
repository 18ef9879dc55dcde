"""How the objects and pods of a component were before it moved: kept beside the journal until that is proven."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.execute import stowing
from firstlight.execute.baseline import snapshot
from firstlight.execute.handing import certifying
from firstlight.execute.world import World
from firstlight.journal import directory
from firstlight.model.baseline import Baseline
from firstlight.model.component import ObjectId
from firstlight.operate.moving.scene import Scene

DIRECTORY = "moves"


def path(world: World, scene: Scene) -> Path:
    """Where it is; one for what moves together."""
    return place(world, scene) / "baseline.json"


def place(world: World, scene: Scene) -> Path:
    """The directory of what is kept of a move."""
    name = "-".join(each.replace("/", "-") for each in scene.names)[:100]
    return world.state / scene.cluster.name / DIRECTORY / name


def is_kept(world: World, scene: Scene) -> bool:
    """Whether a move was begun and not proven so far."""
    return directory.is_file(path(world, scene))


async def keep(world: World, scene: Scene, ids: Sequence[ObjectId]) -> None:
    """Write down how everything is now; once, since later it is not as it was before the move.

    Raises:
        errors.FirstlightError: It cannot be written.
        errors.ClientError: The API does not answer.
    """
    if is_kept(world, scene):
        return
    taken = await snapshot.take(ids, world.kube)
    known = dataclasses.replace(taken, cluster=await certifying.uid_of(world.kube))
    file = path(world, scene)
    try:
        stowing.write(msgspec.json.encode(known), file)
    except OSError as error:
        raise errors.FirstlightError(f"{file} cannot be written: {error.strerror or error}") from error


async def load(world: World, scene: Scene) -> Baseline:
    """How everything was; empty where nobody has written it down, so that nothing can be said of pods."""
    file = path(world, scene)
    if not directory.is_file(file):
        return Baseline(cluster=await certifying.uid_of(world.kube))
    return msgspec.json.decode(directory.read(file), type=Baseline)


def forget(world: World, scene: Scene) -> None:
    """The move is proven: what comes next begins anew."""
    stowing.remove(path(world, scene))
