"""Makes the engine own what bootstrap applied under other names, before it applies anything itself.

What would come of it is predicted for everything before anything is written. What the engine has already marked as its
own is the engine's to change: there only the fields count that it would lose by the old owner's going. An engine that
is at work already rests meanwhile. What a final certificate covers is done with: what a person changes of it later is
told by ``owners`` and ``drift``, and left alone until a handover is asked for once more.
"""

import asyncio
import dataclasses
import functools
from collections.abc import Sequence

from firstlight.drawing import handover_text
from firstlight.execute.handover import certification, engine_suspend, migration
from firstlight.execute.handover import prediction as handover_prediction
from firstlight.execute.handover.engine_suspend import SuspendedEngine
from firstlight.execute.handover.prediction import HandoverCandidate
from firstlight.execute.world import PendingChange, World
from firstlight.model.handover import Prediction
from firstlight.model.work import MigrateOwners


async def look(task: MigrateOwners, world: World, step: str) -> PendingChange | None:
    """What of the passing objects somebody else still owns, and what the engine would change.

    Raises:
        errors.Refused: Fields would be lost, or the server would not take an object.
        errors.ClientError: The API does not answer.
    """
    found = await _looked(task, world)
    if found is None:
        return None
    for each in handover_text.prediction_sentences(found.expected):
        world.tell(step, each)
    found.check(task, world)
    danger = handover_prediction.danger(found.expected)
    if not found.pending and not found.heavy and not found.held and not danger:
        return None

    async def perform() -> None:
        tell = functools.partial(world.tell, step)
        if not found.pending and not found.heavy:
            await engine_suspend.let_go(found.held, world.kube, run=world.run, tell=tell)
            return
        async with engine_suspend.resting(found.resumed, world.kube, run=world.run, tell=tell):
            # An engine may have written what was seen; from now on it does not.
            now = await _looked(task, world) if found.engines else found
            if now is not None and now.pending:
                now.check(task, world)
                await migration.migrate(now.pending, world.kube, rules=_rules(task, world), tell=tell)
            for each in now.heavy if now is not None else ():
                await migration.shed(each, world.kube, is_loss_allowed=task.is_loss_allowed)

    return PendingChange(writes=found.writes, perform=perform, danger=danger)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Found:
    """What is not as it must be."""

    pending: Sequence[HandoverCandidate]
    """Objects of which somebody owns fields who came before Git."""
    heavy: Sequence[HandoverCandidate]
    """Objects of which the engine owns what Git does not have, where somebody agreed that it goes."""
    expected: Sequence[Prediction]
    engines: Sequence[SuspendedEngine]
    """Who may be at work on them."""
    held: Sequence[SuspendedEngine]
    """Who rests for a handover that was not finished."""

    @property
    def resumed(self) -> list[SuspendedEngine]:
        """Who rests meanwhile, and goes on afterwards; not whom somebody else has suspended."""
        return [*(each for each in self.engines if not each.is_suspended and not each.is_held), *self.held]

    @property
    def writes(self) -> tuple[str, ...]:
        """For people."""
        if not self.pending and not self.heavy:
            return tuple(f"resume {each}" for each in self.held)
        return (
            *(f"suspend {each}" for each in self.engines if not each.is_suspended),
            *map(migration.sentence, self.pending),
            *(f"take from {each.object.id} the fields that Git does not have" for each in self.heavy),
            *(f"resume {each}" for each in self.resumed),
        )

    def check(self, task: MigrateOwners, world: World) -> None:
        handover_prediction.check_predictions(
            self.expected, cluster=world.cluster.name, is_loss_allowed=task.is_loss_allowed
        )


async def _looked(task: MigrateOwners, world: World) -> _Found | None:
    """Everything that is to be done, and what would come of it; nothing if all is as it must be."""
    passing = task.passing if task.is_again else await certification.uncertified(task.passing, world.kube)
    candidates, engines = await asyncio.gather(
        handover_prediction.find(passing, world.kube),
        engine_suspend.find({each.owner for each in task.passing}, world.kube),
    )
    pending = migration.pending(candidates)
    heavy = migration.heavy(candidates) if task.is_loss_allowed else []
    held = [each for each in engines if each.is_held]
    at_work = {name for each in engines for name in each.names}
    # Whoever is at work applies what Git has in any case, whatever is thought of it here.
    coming = [each for each in candidates if each.passing.owner.name not in at_work and not migration.is_engines(each)]
    wanted = {each.object.id for each in (*pending, *heavy, *coming)}
    asked = [each for each in candidates if each.object.id in wanted]
    if not asked and not held:
        return None
    expected = _expected(await handover_prediction.predictions(asked, world.kube), candidates)
    # What comes back by itself, as defaults of the server do, is no loss.
    losing = {each.id for each in expected if each.lost}
    heavy = [each for each in heavy if each.object.id in losing]
    owners = {each.passing.owner.name for each in (*pending, *heavy)}
    return _Found(
        pending=pending,
        heavy=heavy,
        expected=expected,
        engines=[each for each in engines if owners & {*each.names}],
        held=held,
    )


def _rules(task: MigrateOwners, world: World) -> migration.MigrationRules:
    return migration.MigrationRules(cluster=world.cluster.name, is_loss_allowed=task.is_loss_allowed)


def _expected(found: Sequence[Prediction], candidates: Sequence[HandoverCandidate]) -> list[Prediction]:
    """The predictions; of what the engine has already, only what goes with the old owner."""
    marked = {each.object.id for each in candidates if migration.is_engines(each)}
    return [_of_its_own(each) if each.id in marked else each for each in found]


def _of_its_own(prediction: Prediction) -> Prediction:
    is_thinner = any(each.startswith("spec.template") for each in prediction.lost)
    return dataclasses.replace(prediction, changed=(), refused="", rolls=prediction.rolls and is_thinner)
