"""In which version objects are read: as they were before an override, or as the server likes it best."""

from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.clients import kube
from firstlight.model.component import ObjectId
from firstlight.observe import owned


async def of(
    ids: Iterable[ObjectId], client: "kube.Client", *, before: Mapping[ObjectId, Mapping[str, Any]] | None = None
) -> dict[ObjectId, str]:
    """The apiVersion of each; of a kind that is not served any more, the one that it may have had.

    Raises:
        errors.ClientError: The API does not answer.
    """
    kept = before or {}
    found = {id: str(kept[id]["apiVersion"]) for id in ids if id in kept}
    missing = [id for id in ids if id not in kept]
    if missing:
        served = await all_of(client)
        for id in missing:
            found[id] = served.get((id.group, id.kind), f"{id.group}/v1" if id.group else "v1")
    return found


async def all_of(client: "kube.Client") -> dict[tuple[str, str], str]:
    """The apiVersion of every kind that can be listed, by group and kind.

    Raises:
        errors.ClientError: The API does not answer.
    """
    catalog = await client.catalog(refresh=True)
    return {(each.group, each.kind): each.api_version for each in owned.kinds(catalog)}
