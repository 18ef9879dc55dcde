"""A drill: a fault made in a lab, assessed, repaired by the option that must help, and nothing lost."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.recover import assess
from firstlight.commands.recover.assessment import DrillResult
from firstlight.commands.recover.drill_context import DrillContext, DrillFault
from firstlight.document.within import mapping, text
from firstlight.model import helm_names

SHOWN = 120.0
"""Seconds in which a fault must show."""
ENDED = 300.0
"""Seconds after a repair in which it must be seen."""
POLL = 0.5

Do = Callable[[str, str], Awaitable[int]]
"""Carries an option out on something, as the command does; its exit code."""


async def drill(
    fault: DrillFault, ground: DrillContext, *, do: Do, say: Callable[[str], None] = lambda _: None
) -> DrillResult:
    """Break, assess, repair and compare.

    Args:
        fault: What is broken.
        ground: The lab, with the cluster brought up as far as the fault wants it.
        do: Carries options out.
        say: Told how far it is.

    Raises:
        errors.Refused: The cluster has nothing of that kind to break.
        errors.TimedOut: The fault does not show, or stays.
    """
    before = await _belongings(ground)
    say(f"{fault.what}: {fault.how}")
    on = await fault.make(ground)
    begun = time.monotonic()
    await _until(ground, fault.option, on, is_offered=True, within=SHOWN)
    diagnosed = time.monotonic() - begun
    say(f"diagnosed in {diagnosed:.1f} s: {fault.option}")
    begun = time.monotonic()
    code = await do(fault.option, on)
    if code == 0:
        await _until(ground, fault.option, on, is_offered=False, within=ENDED)
    repaired = time.monotonic() - begun
    lost = lost_belongings(before, await _belongings(ground)) if code == 0 else ()
    return DrillResult(
        scenario=fault.id, cluster=ground.cluster.name, option=f"{fault.option} {on}".rstrip(), diagnosed=diagnosed,
        repaired=repaired, compared=len(before), lost=lost, code=code,
    )  # fmt: skip


async def _belongings(ground: DrillContext) -> Mapping[str, str]:
    async with kube.Client(kube.load(ground.lab.kubeconfig), agent="drill") as client:
        return await belongings_of(client)


async def _until(ground: DrillContext, option: str, on: str, *, is_offered: bool, within: float) -> None:
    """Assess until an option is offered, or is not any more; nobody waits a minute before something counts here."""
    deadline = time.monotonic() + within
    platform, cluster, means = ground.prepared.platform, ground.cluster, ground.means
    while True:
        found = (await assess.assess(platform, cluster, means, patience=0.0)).assessment
        # An option that is done to the newest of something names none.
        if any(each.name == option and each.on in ("", on) for each in found.options) == is_offered:
            return
        if time.monotonic() > deadline:
            said = "; ".join(each.symptom.key for each in found.causes) or "nothing is broken"
            what = "is not offered" if is_offered else "is still offered"
            raise errors.TimedOut(f"{option} {on}".rstrip() + f" {what} after {within:.0f} s: {said}")
        await asyncio.sleep(POLL)


# What a recovery must not lose of a cluster: objects by name, Secrets by content, claims by their volume.


_PASSING = frozenset({
    "Pod", "Event", "Lease", "EndpointSlice", "Endpoints", "CertificateSigningRequest", "ControllerRevision",
    "ReplicaSet", "CSINode", "IPAddress", "VolumeAttachment", "CiliumEndpoint", "CiliumIdentity",
})  # fmt: skip
"""Kinds whose objects come and go by themselves."""
_OF_A_RUN = ("ConfigMap kube-system/firstlight-", "Secret kube-system/firstlight-")


async def belongings_of(client: kube.Client) -> Mapping[str, str]:
    """What there is: an empty text where being there is enough, else what must stay the same, as a digest.

    Raises:
        errors.ClientError: The API does not answer.
    """
    found: dict[str, str] = {}
    for resource in (await client.catalog(refresh=True)).resources.values():
        if resource.kind in _PASSING or "list" not in resource.verbs:
            continue
        try:
            items = (await client.list(resource.api_version, resource.kind)).items
        except (kube.NotFound, kube.UnknownKind, kube.Forbidden):
            continue
        for each in items:
            name = f"{resource.kind} {text(each, 'metadata', 'namespace')}/{text(each, 'metadata', 'name')}"
            if not name.startswith(_OF_A_RUN) and text(each, "type") != helm_names.RELEASE_SECRET_TYPE:
                found[name.replace(" /", " ")] = _content(resource.kind, each)
    return found


def lost_belongings(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """What is not there any more, or is another one."""
    gone = [f"{each} is gone" for each in sorted(before.keys() - after.keys())]
    other = [f"{each} is another one" for each in sorted(before.keys() & after.keys()) if before[each] != after[each]]
    return (*gone, *other)


def _content(kind: str, value: Mapping[str, Any]) -> str:
    match kind:
        case "Secret":
            return hashlib.sha256(msgspec.json.encode(mapping(value, "data"), order="sorted")).hexdigest()
        case "PersistentVolumeClaim":
            return f"{text(value, 'metadata', 'uid')} {text(value, 'spec', 'volumeName')}"
        case _:
            return ""
