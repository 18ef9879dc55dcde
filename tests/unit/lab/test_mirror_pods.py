from typing import Any

from firstlight.lab import mirror_pods

NODE = {"metadata": {"name": "cp-1", "uid": "u-1"}}
NOW = "2026-01-01T00:00:00Z"


def static(image: str = "kube-scheduler:v1.36.0") -> dict[str, Any]:
    return {
        "metadata": {"name": "kube-scheduler-cp-1", "namespace": "kube-system"},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }


def test_a_mirror_is_as_a_kubelet_makes_it() -> None:
    made = mirror_pods.manifest(static(), NODE, now=NOW)

    annotations = made["metadata"]["annotations"]
    assert annotations[mirror_pods.MIRROR] == annotations[mirror_pods.HASH] == mirror_pods.digest(static())
    assert annotations[mirror_pods.SOURCE] == "file"
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u-1"
    assert (made["spec"]["nodeName"], made["spec"]["hostNetwork"]) == ("cp-1", True)
    assert made["spec"]["tolerations"] == [{"operator": "Exists", "effect": "NoExecute"}]


def test_missing_mirrors_are_made_changed_ones_are_replaced_and_others_removed() -> None:
    mirror = mirror_pods.manifest(static(), NODE, now=NOW)
    elsewhere = {**mirror, "spec": {**mirror["spec"], "nodeName": "cp-2"}}
    ordinary = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"nodeName": "cp-1"}}

    assert mirror_pods.compare([static()], [elsewhere, ordinary], node="cp-1") == ([static()], [])
    assert mirror_pods.compare([static()], [mirror, ordinary], node="cp-1") == ([], [])
    assert mirror_pods.compare([static("other:1")], [mirror], node="cp-1") == ([], [mirror])
    assert mirror_pods.compare([], [mirror, elsewhere, ordinary], node="cp-1") == ([], [mirror])
