"""Secrets as far as rules need them: names, types, keys, and when certificates expire. Values are dropped at once."""

import asyncio
import base64
import binascii
import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import mapping, text
from firstlight.observe.doctor import api

TLS = "kubernetes.io/tls"
HELM = "helm.sh/release.v1"
_PAGE = 500
_KEPT = ("name", "namespace", "uid", "labels", "creationTimestamp", "deletionTimestamp", "finalizers")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seen:
    """What is known of Secrets."""

    objects: tuple[Mapping[str, Any], ...] = ()
    certificates: Mapping[str, float] = dataclasses.field(default_factory=dict)
    problem: str = ""


async def look(client: kube.Client) -> Seen:
    """All Secrets, without their values; releases of Helm by their labels alone."""
    try:
        held, releases = await asyncio.gather(
            client.list("v1", "Secret", fields=f"type!={HELM}", limit=_PAGE),
            client.list("v1", "Secret", fields=f"type={HELM}", limit=_PAGE, metadata_only=True),
        )
    except kube.Forbidden:
        return Seen(problem="Secret: this identity may not list it")
    except errors.ClientError as error:
        return Seen(problem=f"Secret: {error.message}")
    certificates = {}
    for each in held.items:
        if text(each, "type") == TLS and (until := _until(each)) is not None:
            certificates[f"{text(each, 'metadata', 'namespace')}/{text(each, 'metadata', 'name')}"] = until
    objects = [_named(each, text(each, "type"), sorted(mapping(each, "data"))) for each in held.items]
    objects += [_named(each, HELM, ["release"]) for each in releases.items]
    return Seen(objects=tuple(objects), certificates=certificates)


def _named(item: Mapping[str, Any], type: str, keys: list[str]) -> Mapping[str, Any]:
    metadata = mapping(item, "metadata")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {key: metadata[key] for key in _KEPT if key in metadata},
        "type": type,
        "keys": keys,
    }


def _until(item: Mapping[str, Any]) -> float | None:
    """When its certificate expires; that it is none is for others to tell."""
    try:
        return api.pem_until(base64.b64decode(text(item, "data", "tls.crt"), validate=True))
    except (binascii.Error, ValueError):
        return None
