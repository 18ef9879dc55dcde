"""Whether every reference of the foundation leads to a value; the values are kept only to be masked."""

import asyncio

from firstlight import errors
from firstlight.execute.world import Resolve
from firstlight.model.plan import Link, Problem, Severity
from firstlight.model.platform import FoundationSecret
from firstlight.model.work import CreateSecret, Work


async def secrets(work: Work, resolve: Resolve) -> list[Problem]:
    """The references that cannot be resolved, all of them."""
    wanted = [each.secret for each in work.tasks.values() if isinstance(each, CreateSecret)]
    found = await asyncio.gather(
        *(_one(each, key, reference, resolve) for each in wanted for key, reference in each.data.items())
    )
    return [each for each in found if each is not None]


async def _one(secret: FoundationSecret, key: str, reference: str, resolve: Resolve) -> Problem | None:
    name = f"{secret.namespace}/{secret.name}"
    if not reference:
        message = f"nothing says where the key {key} of the Secret {name} comes from"
        return _problem(secret, key, message, "Declare it under secrets: in firstlight.yaml.")
    try:
        value = await resolve(reference)
    except errors.FirstlightError as error:
        return _problem(secret, key, f"the key {key} of the Secret {name} cannot be had: {error.message}", error.hint)
    if not value.reveal():
        return _problem(secret, key, f"the key {key} of the Secret {name} is empty", f"Look at {reference}.")
    return None


def _problem(secret: FoundationSecret, key: str, message: str, way_out: str) -> Problem:
    place = secret.places.get(key, secret.place)
    return Problem(
        rule="secret-missing", severity=Severity.ERROR, message=message, way_out=way_out,
        chain=(Link(f"{secret.namespace}/{secret.name}", secret.why or "is declared", place),),
    )  # fmt: skip
