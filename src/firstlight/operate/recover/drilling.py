"""A drill: a fault made in a lab, assessed, repaired by the option that must help, and nothing lost."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

from firstlight import errors
from firstlight.clients import kube
from firstlight.model.recovery import Drilled
from firstlight.operate.recover import assessing, belongings
from firstlight.operate.recover.fault import Fault, Ground

SHOWN = 120.0
"""Seconds in which a fault must show."""
ENDED = 300.0
"""Seconds after a repair in which it must be seen."""
POLL = 0.5

Do = Callable[[str, str], Awaitable[int]]
"""Carries an option out on something, as the command does; its exit code."""


async def drill(fault: Fault, ground: Ground, *, do: Do, say: Callable[[str], None] = lambda _: None) -> Drilled:
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
    lost = belongings.lost(before, await _belongings(ground)) if code == 0 else ()
    return Drilled(
        scenario=fault.id, cluster=ground.cluster.name, option=f"{fault.option} {on}".rstrip(), diagnosed=diagnosed,
        repaired=repaired, compared=len(before), lost=lost, code=code,
    )  # fmt: skip


async def _belongings(ground: Ground) -> Mapping[str, str]:
    async with kube.Client(kube.load(ground.lab.kubeconfig), agent="drill") as client:
        return await belongings.of(client)


async def _until(ground: Ground, option: str, on: str, *, is_offered: bool, within: float) -> None:
    """Assess until an option is offered, or is not any more; nobody waits a minute before something counts here."""
    deadline = time.monotonic() + within
    platform, cluster, means = ground.prepared.platform, ground.cluster, ground.means
    while True:
        found = (await assessing.assess(platform, cluster, means, patience=0.0)).assessment
        # An option that is done to the newest of something names none.
        if any(each.name == option and each.on in ("", on) for each in found.options) == is_offered:
            return
        if time.monotonic() > deadline:
            said = "; ".join(each.key for each in found.troubles) or "nothing is broken"
            what = "is not offered" if is_offered else "is still offered"
            raise errors.TimedOut(f"{option} {on}".rstrip() + f" {what} after {within:.0f} s: {said}")
        await asyncio.sleep(POLL)
