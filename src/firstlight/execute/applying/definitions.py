"""CRDs: what an older one would take away from a cluster, and whether a new one is served."""

import re
from collections.abc import Mapping
from typing import Any

from firstlight.gates import stuck_crds
from firstlight.model.rendition import Object

_VERSION = re.compile(r"v(?P<major>[0-9]+)(?:(?P<stage>alpha|beta)(?P<minor>[0-9]+))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}
_RELEASE = re.compile(r"v?(?P<core>[0-9]+(?:\.[0-9]+){0,2})(?P<before>-[0-9A-Za-z.-]+)?(?:\+.*)?")
_STAMPS = (
    "app.kubernetes.io/version",
    "gateway.networking.k8s.io/bundle-version",
    "operator.prometheus.io/version",
    "cilium.io/crd-version",
    "io.cilium.k8s.crd.schema.version",
)
"""Labels and annotations in which projects write the version of a CRD."""
_CHANNEL = "gateway.networking.k8s.io/channel"


def lost(wanted: Object, live: Mapping[str, Any]) -> str:
    """What the live CRD has that the wanted one has not, where that makes it an older one; empty if nothing."""
    mine, theirs = _versions(wanted.value), _versions(live)
    stored = (live.get("status") or {}).get("storedVersions") or ()
    if gone := [each for each in stored if each not in mine]:
        return f"objects may be stored as {', '.join(gone)}, which it does not know"
    newer = [each for each in theirs if each not in mine and _rank(each) > max(map(_rank, mine), default=(0, 0, 0))]
    if newer:
        return f"the live one has {', '.join(newer)}, and it ends with {max(mine, key=_rank) if mine else 'nothing'}"
    for name in _STAMPS:
        one, other = _stamp(wanted.value, name), _stamp(live, name)
        mine_of, theirs_of = _release(one), _release(other)
        if mine_of is not None and theirs_of is not None and mine_of < theirs_of:
            return f"the live one is of {other}, and it is of {one}"
    if _stamp(live, _CHANNEL) == "experimental" and _stamp(wanted.value, _CHANNEL) == "standard":
        return "the live one is of the experimental channel, and it is of the standard one, which has fewer fields"
    return ""


def problem(live: Mapping[str, Any]) -> str:
    """Why a CRD is not served; empty where its status does not say."""
    for each in (live.get("status") or {}).get("conditions") or ():
        if each.get("type") == "NamesAccepted" and each.get("status") == "False":
            return str(each.get("message") or each.get("reason") or "its names are taken")
    if stuck_crds.is_installing(live):
        return "the API server has not established it yet (Installing)"
    return ""


def kinds(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The apiVersions and the kind that a CRD serves."""
    spec = value.get("spec") or {}
    kind = str((spec.get("names") or {}).get("kind") or "")
    return [
        (f"{spec.get('group')}/{each.get('name')}", kind)
        for each in spec.get("versions") or ()
        if each.get("served") is not False
    ]


def _versions(value: Mapping[str, Any]) -> list[str]:
    return [str(each.get("name")) for each in (value.get("spec") or {}).get("versions") or ()]


def _rank(version: str) -> tuple[int, int, int]:
    """By age: v2, v2alpha1, v1, v1beta2, v1beta1, v1alpha1, then whatever is written otherwise."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (-1, 0, 0)
    return (int(match["major"]), _STAGES[match["stage"]], int(match["minor"] or 0))


def _stamp(value: Mapping[str, Any], name: str) -> str:
    metadata = value.get("metadata") or {}
    return str((metadata.get("annotations") or {}).get(name) or (metadata.get("labels") or {}).get(name) or "")


def _release(text: str) -> tuple[tuple[int, ...], bool] | None:
    match = _RELEASE.fullmatch(text)
    if match is None:
        return None
    numbers = tuple(int(each) for each in match["core"].split("."))
    return ((*numbers, 0, 0)[:3], not match["before"])
