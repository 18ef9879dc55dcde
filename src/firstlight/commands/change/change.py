"""A change carried through: Git first, then one cluster after the other; what fails stops those that come later.

What later clusters share with an earlier one rests there until their turn has come. Who rests carries until when and
why, and for which change; a Kustomization above is told to leave it alone. It is found again by these marks, and not by
the record.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import atomic_file, kube
from firstlight.commands.change import change_checks, cluster_order, engine_objects, markdown, path_choice, publish
from firstlight.commands.change.change_record import ChangeRecord, ChangeStanding
from firstlight.commands.change.ongoing_change import ChangeHost, ChangeRequest, OngoingChange, Stages
from firstlight.commands.change.publish import Unmerged
from firstlight.commands.change.record_store import recorded_stages
from firstlight.document.within import text
from firstlight.engines import adapters
from firstlight.execute import live_cluster
from firstlight.execute.apply.server_side_apply import guarded
from firstlight.execute.loop import RunResult
from firstlight.execute.overrides import held_engines
from firstlight.execute.walk import Walk, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.journal import state_files
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.override import OVERRIDE_ID, REASON, UNTIL, Emergency, Override, OverrideStanding, SuspendedOwner
from firstlight.model.verdict import Failed, Waiting


class ChangeStopped(Exception):
    """A cluster did not come to what it must be before the merge."""

    def __init__(self, outcome: ChangeOutcome) -> None:
        super().__init__(outcome.says)
        self.outcome = outcome


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChangeOutcome:
    """What came of carrying a change through."""

    is_done: bool
    is_refused: bool = False
    is_waiting: bool = False
    """Whether it only waits for somebody to merge it."""
    says: str = ""
    hint: str = ""


async def carry_out(carrying: OngoingChange, wishes: ChangeRequest, host: ChangeHost) -> ChangeOutcome:
    """Carry a change through from wherever it is; its record says what came of it.

    Args:
        carrying: The change; its checks before are made.
        wishes: How far, and how.
        host: Told what is done; walks clusters.

    Raises:
        errors.FirstlightError: Something in Git could not be done; the record says what.
    """
    keeper = carrying.keeper
    without = wishes.without_backup or carrying.record.without_backup
    keeper.set(standing=ChangeStanding.UNDER_WAY, failure="", ended=0.0, without_backup=without)
    try:
        await publish.commit(carrying)
        outcome = await _through(carrying, wishes, host)
    except ChangeStopped as error:
        outcome = error.outcome
    except Unmerged as error:
        return ChangeOutcome(is_done=False, is_waiting=True, says=error.message, hint=error.hint)
    except errors.FirstlightError as error:
        keeper.set(standing=ChangeStanding.FAILED, failure=error.message)
        write_incident(carrying)
        raise
    if outcome.is_done:
        keeper.set(standing=ChangeStanding.DONE, ended=carrying.means.now())
    else:
        keeper.set(standing=ChangeStanding.FAILED, failure=outcome.says)
    write_incident(carrying)
    return outcome


async def _through(carrying: OngoingChange, wishes: ChangeRequest, host: ChangeHost) -> ChangeOutcome:
    way = path_choice.way(carrying.path)
    await _merged(carrying, 0, carrying.clusters if len(carrying.record.parts) == 1 else carrying.clusters[:1],
                  wishes, host)  # fmt: skip
    for cluster in carrying.clusters:
        numbers = [at for at, each in enumerate(carrying.record.parts) if at and each.cluster == cluster.name]
        for number in numbers:
            await _merged(carrying, number, (cluster,), wishes, host)
        outcome = await walk_cluster(carrying, cluster, with_release(way.stages, carrying), host)
        if not outcome.is_done:
            return outcome
        note_released(carrying, cluster)
    return ChangeOutcome(is_done=True)


async def _merged(
    carrying: OngoingChange, number: int, clusters: Sequence[Cluster], wishes: ChangeRequest, host: ChangeHost
) -> None:  # fmt: skip
    """One part into the followed branch, with what must be done in clusters before."""
    way = path_choice.way(carrying.path)
    await cluster_order.commit_part(carrying, number)
    await publish.push(carrying, number, host)
    if carrying.record.parts[number].merged:
        return
    if number == 0 and not carrying.record.is_at_once:
        await _hold(carrying, host)
    for cluster in clusters:
        outcome = await walk_cluster(carrying, cluster, way.early, host)
        if not outcome.is_done:
            raise ChangeStopped(outcome)
    await publish.merge(carrying, number, wishes, host)


async def _hold(carrying: OngoingChange, host: ChangeHost) -> None:
    """Let what later clusters share with the first one rest there, before anybody can merge it."""
    later = cluster_order.clusters_to_hold(carrying, 0)
    if not later:
        return
    carrying.keeper.set(held=tuple(each.name for each in later))
    for cluster in later:
        host.say(f"what it touches in {cluster.name} rests until its turn has come")
        outcome = await walk_cluster(carrying, cluster, _holding, host)
        if not outcome.is_done:
            raise ChangeStopped(outcome)


def _holding(carrying: OngoingChange, cluster: Cluster, world: World) -> tuple[WalkStage, ...]:
    return (hold(carrying, cluster),)


def with_release(stages: Stages, carrying: OngoingChange) -> Stages:
    """What a path does in a cluster, where what rests there for the change is let go.

    Not before the engine has fetched the commit: else it would go on with the one before, which may be what failed. And
    not before bootstrap's half is there, where that comes first.
    """

    def found(given: OngoingChange, cluster: Cluster, world: World) -> tuple[WalkStage, ...]:
        every = list(stages(given, cluster, world))
        if cluster.name in carrying.record.held:
            before = next((at for at, each in enumerate(every) if ":reconcile" in each.id), 0)
            every.insert(before, release(given, cluster))
        return tuple(every)

    return found


def note_released(carrying: OngoingChange, cluster: Cluster) -> None:
    """Note that nothing rests in a cluster any more."""
    carrying.keeper.set(held=tuple(each for each in carrying.record.held if each != cluster.name))


async def walk_cluster(carrying: OngoingChange, cluster: Cluster, stages: Stages, host: ChangeHost) -> ChangeOutcome:
    """What a path does in one cluster.

    Raises:
        errors.Unreachable: The API does not answer.
        errors.Refused: Another run works on this cluster.
    """
    async with live_cluster.reached(cluster, carrying.means) as world:
        found = recorded_stages(stages(carrying, cluster, world), carrying.keeper, cluster=cluster.name)
        if not found:
            return ChangeOutcome(is_done=True)
        walk = Walk(
            cluster=cluster, command="change resume", again=carrying.record.id, stages=found,
            revision=change_checks.target(carrying),
        )  # fmt: skip
        return _outcome(await host.walk(walk, world), found, carrying, cluster)


def _outcome(
    result: RunResult, stages: Sequence[WalkStage], carrying: OngoingChange, cluster: Cluster
) -> ChangeOutcome:
    if result.is_complete:
        return ChangeOutcome(is_done=True)
    wrong = [(each, result.outcomes.get(each.id)) for each in stages]
    stage, verdict = next((each, found) for each, found in wrong if isinstance(found, Failed | Waiting))
    reason = verdict.reason if verdict is not None else ""
    back = f"Take it back: firstlight change revert {carrying.record.id}"
    later = carrying.clusters[carrying.clusters.index(cluster) + 1 :] if cluster in carrying.clusters else ()
    left = f"; {', '.join(each.name for each in later)} did not get it" if later else ""
    if held := [each.name for each in later if each.name in carrying.record.held]:
        left += f", and what it touches in {', '.join(held)} rests until it is gone on with or reverted"
    return ChangeOutcome(
        is_done=False, is_refused=result.is_refused, says=f"{cluster.name}, {stage.name}: {reason}{left}",
        hint="" if carrying.is_reverting else f"{back}; or mend it, and go on: firstlight change resume",
    )  # fmt: skip


# The incident record of a change in an emergency, beside those of overrides: ``CLUSTER/incidents/ID.md``.


def write_incident(carrying: OngoingChange) -> None:
    """Write it down as far as it is known; one that people have begun to fill in is left to them.

    Raises:
        OSError: It cannot be written.
    """
    record = carrying.record
    if not record.emergency or not record.clusters:
        return
    cluster = record.clusters[0]
    place = carrying.means.state / cluster / "incidents" / f"{record.id}.md"
    if not record.incident:
        carrying.keeper.set(incident=f"{carrying.means.state.name}/{cluster}/incidents/{record.id}.md")
    if state_files.is_file(place) and b"_To fill in: what broke, and why._" not in state_files.read(place):
        return
    state_files.enter(place)
    atomic_file.replace(place, markdown.incident_markdown(carrying.record, cluster=cluster).encode())


MARK = "firstlight.dev/change"
SUSPENDED = "firstlight.dev/suspended-until"
LONGEST = 7 * 24 * 3600.0
"""Seconds after which somebody is told that it still rests."""
_KINDS = tuple(adapters.SUSPENDABLE)


def hold(carrying: OngoingChange, cluster: Cluster) -> WalkStage:
    """Let what the change touches in a cluster rest."""

    async def look(world: World) -> PendingChange | None:
        found = await _who(carrying, cluster, world.kube)
        mine = manager(carrying.record)
        left = [(each, live) for each, live in found if not _is_held(live, carrying.record)]
        if not left:
            return None

        async def perform() -> None:
            for held, live in left:
                value = guarded(_resting(held, live, carrying), live)
                await world.kube.apply(value, manager=mine, force=True)

        return PendingChange(
            writes=tuple(f"let {each} rest until its turn has come" for each, _ in left), perform=perform
        )

    return WalkStage(
        id=f"{cluster.name}:hold", name=f"hold {cluster.name}", phase=Phase.GITOPS, look=look,
        what="what it shares with clusters before it rests until they have passed",
    )  # fmt: skip


def release(carrying: OngoingChange, cluster: Cluster) -> WalkStage:
    """Let go on what rests in a cluster for the change."""

    async def look(world: World) -> PendingChange | None:
        found = await resting(carrying.record, world.kube)
        if not found:
            return None

        async def perform() -> None:
            for live in found:
                value = guarded(_awake(live), live)
                await world.kube.apply(value, manager=manager(carrying.record), force=True)

        return PendingChange(writes=tuple(f"let {_held(each)} go on" for each in found), perform=perform)

    return WalkStage(
        id=f"{cluster.name}:release{'-back' if carrying.is_reverting else ''}", name=f"let {cluster.name} go on",
        phase=Phase.GITOPS, look=look, what="its turn has come",
    )  # fmt: skip


def manager(record: ChangeRecord) -> str:
    """As whom a change lets others rest."""
    return f"firstlight-change-{record.id}"


async def resting(record: ChangeRecord, client: kube.Client) -> list[Mapping[str, Any]]:
    """All that rests in a cluster for a change.

    Raises:
        errors.ClientError: The API does not answer.
    """
    found: list[Mapping[str, Any]] = []
    for kind in _KINDS:
        try:
            listing = await client.list(held_engines.API[kind], kind)
        except kube.UnknownKind:
            continue
        mine = [{"apiVersion": held_engines.API[kind], "kind": kind, **each} for each in listing.items]
        found += [each for each in mine if _is_held(each, record)]
    return found


async def _who(
    carrying: OngoingChange, cluster: Cluster, client: kube.Client
) -> list[tuple[SuspendedOwner, Mapping[str, Any]]]:
    """Who must rest, the outermost first, each as it is."""
    direct = engine_objects.meant(
        carrying.decided.decision, carrying.before, carrying.after, cluster=cluster.name
    )  # fmt: skip
    names: dict[str, None] = {}
    for chain in direct:
        for each in chain:  # what is not there yet is brought by what is above it
            if await held_engines.get_engine(str(each), client) is not None:
                names[str(each)] = None
                break
    found, lives, _ = await held_engines.find_held([(each, "gets the change") for each in names], client)
    other = [each for each in found if each.kind not in _KINDS]
    if other:
        raise errors.Refused(
            f"{other[0]} of {cluster.name} would wake what has to rest there, and cannot be told not to",
            hint="Give --at-once to let all clusters have it at the same moment.",
        )
    return [(each, lives[str(each)]) for each in found if not each.was_suspended or _is_ours(lives[str(each)])]


def _resting(held: SuspendedOwner, live: Mapping[str, Any], carrying: OngoingChange) -> dict[str, Any]:
    now = carrying.means.now()
    record = carrying.record
    stand_in = Override(
        id=record.id, cluster="", emergency=Emergency.OUTAGE, reason=f"change {record.id}: its turn has not come",
        who=record.who, begun=now, until=now + LONGEST, standing=OverrideStanding.OPEN, scope=(),
    )  # fmt: skip
    value = held_engines.resting(held, live, stand_in, is_shielded=True)
    until = datetime.datetime.fromtimestamp(now + LONGEST, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    notes = {name: each for name, each in value["metadata"]["annotations"].items() if name not in (OVERRIDE_ID, UNTIL)}
    value["metadata"]["annotations"] = {**notes, MARK: record.id, SUSPENDED: until, REASON: stand_in.reason}
    return value


def _awake(live: Mapping[str, Any]) -> dict[str, Any]:
    """What is applied so that it goes on; what remembers Git from before looks at it anew."""
    value = held_engines.bare(_held(live))
    kind = adapters.KINDS[value["kind"]]
    if kind.requests.after_rest:
        value["metadata"]["annotations"] = kind.request("", is_full=False)
    return value


def _held(live: Mapping[str, Any]) -> SuspendedOwner:
    place = functools.partial(text, live, "metadata")
    return SuspendedOwner(
        kind=text(live, "kind"), namespace=place("namespace"), name=place("name"), uid=place("uid"), why=""
    )  # fmt: skip


def _is_held(live: Mapping[str, Any], record: ChangeRecord) -> bool:
    return text(live, "metadata", "annotations", MARK) == record.id and held_engines.is_resting(_held(live), live)


def _is_ours(live: Mapping[str, Any]) -> bool:
    return bool(text(live, "metadata", "annotations", MARK))
