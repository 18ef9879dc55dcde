"""What a recovery must not lose of a cluster: objects by name, Secrets by content, claims by their volume."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from firstlight.clients import kube
from firstlight.document.within import mapping, text

_PASSING = frozenset({
    "Pod", "Event", "Lease", "EndpointSlice", "Endpoints", "CertificateSigningRequest", "ControllerRevision",
    "ReplicaSet", "CSINode", "IPAddress", "VolumeAttachment", "CiliumEndpoint", "CiliumIdentity",
})  # fmt: skip
"""Kinds whose objects come and go by themselves."""
_OF_A_RUN = ("ConfigMap kube-system/firstlight-", "Secret kube-system/firstlight-")
_HELM = "helm.sh/release.v1"


async def of(client: kube.Client) -> Mapping[str, str]:
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
            if not name.startswith(_OF_A_RUN) and text(each, "type") != _HELM:
                found[name.replace(" /", " ")] = _content(resource.kind, each)
    return found


def lost(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
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
