"""A second run of ``up`` for the proof of idempotency: first as a dry run, so that verifying builds nothing."""

from collections.abc import Mapping

from firstlight import errors
from firstlight.execute import cluster_keys
from firstlight.execute.loop import Result
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster
from firstlight.model.event import Event, StepEnded, Writing
from firstlight.model.platform import Platform
from firstlight.observe import machine_versions
from firstlight.operate import up
from firstlight.operate.means import Means, Wishes
from firstlight.operate.verify.idempotency import Again, Machines, Rerun

_SHOWN = 3


def again(platform: Platform, cluster: Cluster, means: Means) -> Again:
    """Runs the whole of ``up`` again; where it would write something, that is said and not done."""

    async def rerun() -> Rerun:
        _, would = await _run(platform, Wishes(cluster=cluster.name, is_dry_run=True), means)
        if wishes := [text for each in would if isinstance(each, Writing) for text in each.writes]:
            more = f" and {len(wishes) - _SHOWN} more" if len(wishes) > _SHOWN else ""
            return Rerun(writes=0, is_complete=False, reason=f"it would {', '.join(wishes[:_SHOWN])}{more}")
        result, told = await _run(platform, Wishes(cluster=cluster.name), means)
        ended = [each for each in told if isinstance(each, StepEnded)]
        bad = [f"{each.step}: {each.reason}" for each in ended if each.verdict in ("failed", "waiting")]
        return Rerun(writes=result.writes, is_complete=result.is_complete, reason="; ".join(bad[:_SHOWN]))

    return rerun


def machines(cluster: Cluster, means: Means) -> Machines | None:
    """How the cluster's machines are told from what they were; None for a cluster that has none here."""
    declared = [each for each in cluster.machines if each.address and not each.id]  # Omni keeps the keys of its own
    if not declared or means.programs.talosctl is None:
        return None
    world = World(
        cluster=cluster, programs=means.programs, resolve=means.resolve, state=means.state, reach=means.reach,
        talos_secrets=lambda: means.talos_secrets(cluster),
    )  # fmt: skip

    async def look() -> Mapping[str, str]:
        way = await cluster_keys.ensure(world)
        return await machine_versions.config_versions(way.admin, {each.name: way.at(each) for each in declared})

    return look


async def _run(platform: Platform, wishes: Wishes, means: Means) -> tuple[Result, list[Event]]:
    prepared = await up.prepare(platform, wishes, means, is_checked=False)
    if prepared.is_blocked:
        worst = next(each for each in prepared.problems if each.severity == "error")
        raise errors.Refused(f"up cannot run again: {worst.message}", hint="See: firstlight up --check")
    told: list[Event] = []
    begun = up.started(prepared, wishes, means)
    with up.alone(prepared.cluster, means, who=begun.who):
        result = await up.run(prepared, wishes, means, begun=begun, tell=told.append, confirm=lambda danger: False)
    return result, told
