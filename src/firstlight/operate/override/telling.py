"""Open overrides for those who look at a cluster for another reason: ``verify`` and ``drift``."""

from firstlight import errors
from firstlight.clients import kube
from firstlight.execute.overriding import keeping
from firstlight.model.override import Override
from firstlight.model.verdict import Failed, Skipped
from firstlight.model.verification import Check
from firstlight.report import override as words

NAME = "overrides"


async def notes(client: "kube.Client", *, now: float) -> tuple[str, ...]:
    """A line for each that is open: what differs from Git may be so on purpose."""
    try:
        return tuple(words.line(each, now) for each in await _open(client))
    except errors.FirstlightError as error:
        return (f"overrides: {error.message}",)


async def checks(client: "kube.Client", *, now: float) -> tuple[Check, ...]:
    """A check for each that is open; one that has expired fails, and so does a record that cannot be read."""
    found = []
    try:
        opened = await _open(client)
    except errors.ClientError as error:
        return (Check(name=NAME, verdict=Skipped(error.message)),)
    except errors.FirstlightError as error:
        return (Check(name=NAME, verdict=Failed(error.message), detail=(error.hint,) if error.hint else ()),)
    for each in opened:
        text = words.line(each, now)
        if each.is_expired(now):
            hint = "firstlight override end, or abort: anybody may"
            found.append(Check(name=NAME, verdict=Failed(text), detail=(hint,)))
        else:
            found.append(Check(name=NAME, verdict=Skipped(text)))
    return tuple(found)


async def _open(client: "kube.Client") -> tuple[Override, ...]:
    return tuple(each for each in await keeping.listed(client) if not each.is_over)
