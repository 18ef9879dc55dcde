"""Waits until Talos has applied its manifests. It does so by itself: nothing is ever written here."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.execute import cluster_access
from firstlight.execute.world import PendingChange, World
from firstlight.gates.gate_parts import GateQuestion
from firstlight.model.cluster import MachineRole
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.model.work import TalosApplies

TIMEOUT = 600.0
"""Seconds: Talos tries again and again while kinds are not served, and pauses in between grow."""
SETTLED = 30.0
"""Seconds after which an object does not come any more, although Talos says that it has applied its manifest."""
_ROUND = 5.0
"""Seconds after which kinds that were not served are looked for again."""
_PRIORITY = "99-"
"""What Talos puts before the names of inline and extra manifests."""


async def look(task: TalosApplies, world: World, step: str) -> PendingChange | None:
    """Wait until everything that Talos is to apply is there; there is never anything to write.

    Raises:
        errors.ClientError: It does not come.
    """
    begun, done_at = time.monotonic(), 0.0
    missing = await _missing(task.objects, world, step)
    while missing:
        now = time.monotonic()
        said = await _applied(task.manifests, world)
        done_at = (done_at or now) if said else 0.0
        if done_at and now - done_at > SETTLED:
            raise _gone(missing)
        if now - begun > TIMEOUT:
            raise _late(missing, task.manifests)
        missing = await _missing(task.objects, world, step)
    return None


async def _missing(wanted: Sequence[ObjectId], world: World, step: str) -> list[ObjectId]:
    """What is not there after a round of watching; it ends early when everything is."""
    versions = await _versions(world)
    looks = {_look(each, versions) for each in wanted if (each.group, each.kind) in versions}
    unserved = [each for each in wanted if (each.group, each.kind) not in versions]
    left = list(wanted)

    def judge(view: GateView) -> Verdict:
        there = {_key(look, each["metadata"]) for look in view.objects for each in view.all(look)}
        left[:] = [each for each in wanted if not _is_there(each, there)]
        count = f"{len(wanted) - len(left)} of {len(wanted)} objects"
        if not [each for each in left if each not in unserved]:
            return Passed(count)
        return Waiting(f"{count}, next {_named(left[:1])}")

    if looks:
        question = GateQuestion(
            gate=Gate(Subject.INVENTORY), name="objects of Talos", looks=tuple(looks), judge=judge, timeout=_ROUND
        )
        await world.watching.wait(question, on_verdict=lambda each: world.tell(step, f"Talos applies: {each.reason}"))
    if left and not [each for each in left if each not in unserved]:
        await asyncio.sleep(min(_ROUND, 1.0))  # only kinds are missing that somebody else brings
        await world.kube.catalog(refresh=True)
    return left


async def _versions(world: World) -> dict[tuple[str, str], str]:
    """The apiVersion of every kind that is served, as its group prefers it."""
    catalog = await world.kube.catalog()
    found: dict[tuple[str, str], str] = {}
    for each in catalog.resources.values():
        preferred = catalog.preferred.get(each.group) == each.version
        if preferred or (each.group, each.kind) not in found:
            found[each.group, each.kind] = each.api_version
    return found


def _look(identity: ObjectId, versions: Mapping[tuple[str, str], str]) -> WatchTarget:
    version = versions[identity.group, identity.kind]
    return WatchTarget(api_version=version, kind=identity.kind, namespace=identity.namespace, with_content=False)


def _key(look: WatchTarget, metadata: Mapping[str, Any]) -> tuple[str, str, str, str]:
    group = look.api_version.rpartition("/")[0]
    return group, look.kind, str(metadata.get("namespace") or ""), str(metadata["name"])


def _is_there(identity: ObjectId, there: set[tuple[str, str, str, str]]) -> bool:
    key = (identity.group, identity.kind, identity.namespace, identity.name)
    # A manifest may name a namespace for what has none; Talos leaves it out.
    return key in there or (identity.group, identity.kind, "", identity.name) in there


async def _applied(manifests: Sequence[str], world: World) -> bool:
    """Whether a control plane says that it has applied all of the manifests; Talos's own are not asked for."""
    if not manifests or world.programs.talosctl_for(world.cluster) is None:
        return False
    for machine in world.cluster.machines:
        if machine.role == MachineRole.CONTROL_PLANE:
            try:
                way = await cluster_access.ensure(world)
                statuses = await way.admin.manifest_statuses(way.at(machine))
            except (talosctl.TalosError, errors.Refused):
                continue
            applied = {each for status in statuses for each in status.spec.manifests_applied}
            return all(f"{_PRIORITY}{name}" in applied for name in manifests)
    return False


def _gone(missing: Sequence[ObjectId]) -> errors.ClientError:
    return errors.ClientError(
        f"Talos has applied its manifests, and {_named(missing)} is not there",
        hint="Talos does not put back what somebody deleted. talosctl upgrade-k8s --to the same version does.",
    )


def _late(missing: Sequence[ObjectId], manifests: Sequence[str]) -> errors.ClientError:
    whose = f" of {', '.join(manifests)}" if manifests else ""
    return errors.ClientError(
        f"Talos has not applied {_named(missing)}{whose} in {TIMEOUT / 60:.0f} minutes",
        hint="See what it says: talosctl logs controller-runtime, and talosctl get manifeststatuses.",
    )


def _named(missing: Sequence[ObjectId]) -> str:
    return ", ".join(str(each) for each in missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
