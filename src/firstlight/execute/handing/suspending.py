"""An engine that is at work already, held still while its objects change their owner, and let go again.

Flux replaces managedFields without looking whether somebody else has: what it read before the migration it would write
after it. A mark tells who was suspended by firstlight, so that a run that was killed in between is finished by the
next. Whom somebody else has suspended stays so.
"""

import asyncio
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight.clients import kube
from firstlight.document.within import mapping, text
from firstlight.model.owner import ObjectOwner

MANAGER = "firstlight-handover"
MARK = "firstlight.dev/handover"
"""The annotation on what is suspended for a handover."""
_SKIP = "argocd.argoproj.io/skip-reconcile"
_KINDS = {
    "Kustomization": "kustomize.toolkit.fluxcd.io/v1",
    "HelmRelease": "helm.toolkit.fluxcd.io/v2",
    "Application": "argoproj.io/v1alpha1",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Engine:
    """A Kustomization, HelmRelease or Application that is there."""

    kind: str
    namespace: str
    name: str
    is_suspended: bool
    is_held: bool
    """Whether that was done for a handover."""

    @property
    def names(self) -> tuple[str, str]:
        """What owners call it: those of Flux with its namespace, Applications without."""
        return (str(self), f"{self.kind} {self.name}")

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


async def find(owners: Iterable[ObjectOwner], client: "kube.Client") -> list[Engine]:
    """Those of the owners that are there already; before the root object exists there are none.

    Raises:
        errors.ClientError: The server does not say.
    """
    wanted = {each.name for each in owners}
    kinds = sorted({kind for each in wanted if (kind := each.partition(" ")[0]) in _KINDS})
    listings = await asyncio.gather(*(_listed(each, client) for each in kinds))
    found = [_engine(kind, each) for kind, items in zip(kinds, listings, strict=True) for each in items]
    return [each for each in found if wanted & {*each.names}]


async def suspend(engines: Sequence[Engine], client: "kube.Client") -> None:
    """Let them rest; those that rest already are left alone.

    Raises:
        errors.ClientError: The server does not let it be.
    """
    await asyncio.gather(*(_write(each, client, is_held=True) for each in engines if not each.is_suspended))


async def resume(engines: Sequence[Engine], client: "kube.Client") -> None:
    """Let those go on that rest for a handover.

    Raises:
        errors.ClientError: The server does not let it be.
    """
    await asyncio.gather(*(_write(each, client, is_held=False) for each in engines))


async def _write(engine: Engine, client: "kube.Client", *, is_held: bool) -> None:
    value: dict[str, Any] = {
        "apiVersion": _KINDS[engine.kind],
        "kind": engine.kind,
        "metadata": {"name": engine.name, "namespace": engine.namespace},
    }
    if is_held:
        is_flux = engine.kind != "Application"
        value["metadata"]["annotations"] = {MARK: "suspended", **({} if is_flux else {_SKIP: "true"})}
        if is_flux:
            value["spec"] = {"suspend": True}
    else:
        try:  # an apply would create what somebody has deleted meanwhile
            await client.get(_KINDS[engine.kind], engine.kind, engine.name, namespace=engine.namespace)
        except kube.NotFound:
            return
    # Whoever applies nothing owns nothing: what was applied before goes.
    await client.apply(value, manager=MANAGER, force=True)


async def _listed(kind: str, client: "kube.Client") -> Sequence[Mapping[str, Any]]:
    try:
        return (await client.list(_KINDS[kind], kind)).items
    except kube.UnknownKind:
        return ()


def _engine(kind: str, live: Mapping[str, Any]) -> Engine:
    metadata = mapping(live, "metadata")
    annotations = mapping(metadata, "annotations")
    is_suspended = mapping(live, "spec").get("suspend") is True or annotations.get(_SKIP) == "true"
    return Engine(
        kind, text(metadata, "namespace"), text(metadata, "name"), is_suspended, is_held=MARK in annotations
    )  # fmt: skip
