"""What later clusters share with an earlier one rests there until their turn has come.

Who rests carries until when and why, and for which change; a Kustomization above is told to leave it alone. It is found
again by these marks, and not by the record.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.change import engine_objects
from firstlight.commands.change.change_record import ChangeRecord
from firstlight.commands.change.ongoing_change import OngoingChange
from firstlight.document.within import text
from firstlight.engines import adapters
from firstlight.execute.apply.server_side_apply import guarded
from firstlight.execute.overrides import held_engines
from firstlight.execute.walk import WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.override import OVERRIDE_ID, REASON, UNTIL, Emergency, Override, OverrideStanding, SuspendedOwner

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
