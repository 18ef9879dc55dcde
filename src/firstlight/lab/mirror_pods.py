"""Mirror pods: how a kubelet shows its static pods to the API. Data in, data out."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

Object = dict[str, Any]
MIRROR = "kubernetes.io/config.mirror"
HASH, SOURCE, SEEN = "kubernetes.io/config.hash", "kubernetes.io/config.source", "kubernetes.io/config.seen"


def digest(pod: Mapping[str, Any]) -> str:
    """What a kubelet knows a static pod by: another image or flag makes another pod."""
    return hashlib.sha256(msgspec.json.encode(pod, order="sorted")).hexdigest()[:32]


def manifest(pod: Mapping[str, Any], node: Mapping[str, Any], *, now: str) -> Object:
    """The pod as a kubelet creates it for a static pod on its Node."""
    metadata, spec = pod["metadata"], pod["spec"]
    known = digest(pod)
    annotations = {**metadata.get("annotations", {}), HASH: known, MIRROR: known, SEEN: now, SOURCE: "file"}
    owner = {
        "apiVersion": "v1", "kind": "Node", "name": node["metadata"]["name"], "uid": node["metadata"]["uid"],
        "controller": True,
    }  # fmt: skip
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **metadata,
            "namespace": metadata.get("namespace", "kube-system"),
            "annotations": annotations,
            "ownerReferences": [owner],
        },
        "spec": {
            **spec,
            "nodeName": node["metadata"]["name"],
            "hostNetwork": True,
            # Static pods stay whatever is wrong with the node.
            "tolerations": [*spec.get("tolerations", ()), {"operator": "Exists", "effect": "NoExecute"}],
        },
    }


def compare(
    wanted: Iterable[Mapping[str, Any]], live: Iterable[Object], *, node: str
) -> tuple[list[Mapping[str, Any]], list[Object]]:
    """Which static pods of a node have no mirror yet, and which mirror pods on it are no longer meant.

    One that has changed is not meant at first, and missing once it has gone: a kubelet deletes it and makes another.
    """
    asked = {(pod["metadata"].get("namespace", "kube-system"), pod["metadata"]["name"]): pod for pod in wanted}
    mirrors = {
        (pod["metadata"]["namespace"], pod["metadata"]["name"]): pod
        for pod in live
        if pod["spec"].get("nodeName") == node and MIRROR in pod["metadata"].get("annotations", {})
    }
    wrong = [
        mirror
        for key, mirror in mirrors.items()
        if key not in asked or mirror["metadata"]["annotations"][MIRROR] != digest(asked[key])
    ]
    return [pod for key, pod in asked.items() if key not in mirrors], wrong
