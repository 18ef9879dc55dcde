"""The one write by which fields of an object pass to the engine, on nothing but what was seen of it."""

from firstlight.clients import kube
from firstlight.document.within import text
from firstlight.execute.handing.predicting import Candidate
from firstlight.ownership import migrating
from firstlight.ownership.migrating import Migration


async def write(candidate: Candidate, migration: Migration, client: "kube.Client") -> None:
    """Pass what old owners have of an object to its engine.

    Raises:
        kube.Conflict: Somebody has written it since it was seen.
        kube.NotFound: It is not there any more.
        errors.ClientError: It could not be written.
    """
    id, live = candidate.object.id, candidate.live
    await client.patch(
        text(live, "apiVersion") or text(candidate.object.value, "apiVersion"), id.kind, id.name,
        migrating.patch(live, migration), form="json", manager=candidate.passing.manager,
        namespace=id.namespace or None,
    )  # fmt: skip
