"""The Kustomizations, HelmReleases and Applications of a cluster by the names that owners have."""

import contextlib
from collections.abc import Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.model.owner import ObjectOwner
from firstlight.observe import live_objects

KINDS = {
    "Kustomization": "kustomize.toolkit.fluxcd.io/v1",
    "HelmRelease": "helm.toolkit.fluxcd.io/v2",
    "Application": "argoproj.io/v1alpha1",
}


async def of(owner: ObjectOwner, client: kube.Client) -> Mapping[str, Any] | None:
    """The object that an owner is; None if it is not there.

    Raises:
        errors.Refused: It is of a kind that nobody can be asked by.
        errors.ClientError: The API does not answer.
    """
    kind, _, place = owner.name.partition(" ")
    if kind not in KINDS:
        raise errors.Refused(f"{owner.name} cannot be asked to put anything back", hint="Correct it by hand.")
    namespace, _, name = place.rpartition("/")
    with contextlib.suppress(kube.UnknownKind):
        if namespace:
            return await live_objects.one((KINDS[kind], kind), (namespace, name), client)
        found = (await client.list(KINDS[kind], kind, fields=f"metadata.name={name}")).items
        return next(iter(found), None)
    return None
