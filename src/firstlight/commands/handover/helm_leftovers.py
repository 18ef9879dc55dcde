"""What Helm leaves behind where Argo CD took over: the Secrets of releases that nobody upgrades any more.

They are named, since the next ``helm uninstall`` would delete what Argo CD owns. They are removed only on request, and
nothing but them: never by ``helm uninstall``.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import mapping, text
from firstlight.engines import adapters, engine_marks
from firstlight.execute.apply import helm_storage
from firstlight.model import flux_names, helm_names
from firstlight.observe.live_objects import observe_objects

_HELM_RELEASE = (flux_names.HELM_API, flux_names.HELM_RELEASE)


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class HelmLeftover:
    """The Secret of one revision of a release that Helm has no more to do with."""

    namespace: str
    release: str
    secret: str
    uid: str

    def __str__(self) -> str:
        return f"Secret {self.namespace}/{self.secret}"


async def leftovers(client: kube.Client, releases: Iterable[tuple[str, str]]) -> tuple[HelmLeftover, ...]:
    """The Secrets of releases that passed to Argo CD; those that a HelmRelease has are none.

    Args:
        client: The API.
        releases: Namespaces and names of releases that pass to an Application.

    Raises:
        errors.ClientError: The server does not say.
    """
    wanted = sorted(set(releases))
    owned = await _helm_releases(client)
    found = await asyncio.gather(
        *(
            _secrets(client, namespace, name)
            for namespace, name in wanted
            if engine_marks.release_of(owned, name=name, namespace=namespace) is None
        )
    )
    return tuple(sorted(each for one in found for each in one))


async def remove(client: kube.Client, found: Sequence[HelmLeftover]) -> None:
    """Delete the Secrets of releases, if everything that they brought is Argo CD's.

    Raises:
        errors.Refused: An object of a release is not Argo CD's yet, or a HelmRelease has the release.
        errors.ClientError: The server does not say.
    """
    names = {(each.namespace, each.release) for each in found}
    owned = await _helm_releases(client)
    for namespace, name in sorted(names):
        if mark := engine_marks.release_of(owned, name=name, namespace=namespace):
            raise errors.Refused(f"the release {namespace}/{name} is not left behind: {mark.owner} has it")
        await _check_taken(client, namespace, name)
    for each in found:
        try:
            await client.delete("v1", "Secret", each.secret, namespace=each.namespace, uid=each.uid)
        except kube.NotFound:
            continue


async def _check_taken(client: kube.Client, namespace: str, name: str) -> None:
    kept = await helm_storage.last(client, name, namespace)
    if kept is None:
        return
    for seen in await observe_objects(kept.objects(name, namespace), client, namespace=namespace):
        mark = engine_marks.of(seen.live) if seen.live is not None else None
        if seen.live is not None and (mark is None or adapters.ADAPTERS[mark.engine].has_releases):
            raise errors.Refused(
                f"{seen.object.id} of the release {namespace}/{name} is not Argo CD's",
                hint="Without its release nothing would upgrade it or remove it: let an Application have it first.",
            )


async def _secrets(client: kube.Client, namespace: str, name: str) -> list[HelmLeftover]:
    listing = await client.list(
        "v1",
        "Secret",
        namespace=namespace,
        labels=f"{helm_names.RELEASE_SECRET_SELECTOR},name={name}",
        metadata_only=True,
    )
    return [
        HelmLeftover(namespace, name, text(metadata, "name"), text(metadata, "uid"))
        for each in listing.items
        for metadata in [mapping(each, "metadata")]
        if text(metadata, "name").startswith(f"{helm_names.RELEASE_SECRET_PREFIX}{name}.v")
    ]


async def _helm_releases(client: kube.Client) -> Sequence[Mapping[str, Any]]:
    try:
        return (await client.list(*_HELM_RELEASE)).items
    except kube.UnknownKind:
        return ()
