from typing import Any

from firstlight.lab import kubelet_objects

NODE = {"metadata": {"name": "cp-1", "uid": "u-1"}}
NOW = "2026-01-01T00:00:00Z"


def static(image: str = "kube-scheduler:v1.36.0") -> dict[str, Any]:
    return {
        "metadata": {"name": "kube-scheduler-cp-1", "namespace": "kube-system"},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }


def test_a_mirror_is_as_a_kubelet_makes_it() -> None:
    made = kubelet_objects.mirror_pod_manifest(static(), NODE, now=NOW)

    annotations = made["metadata"]["annotations"]
    assert (
        annotations[kubelet_objects.MIRROR]
        == annotations[kubelet_objects.HASH]
        == kubelet_objects.static_pod_digest(static())
    )
    assert annotations[kubelet_objects.SOURCE] == "file"
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u-1"
    assert (made["spec"]["nodeName"], made["spec"]["hostNetwork"]) == ("cp-1", True)
    assert made["spec"]["tolerations"] == [{"operator": "Exists", "effect": "NoExecute"}]


def test_missing_mirrors_are_made_changed_ones_are_replaced_and_others_removed() -> None:
    mirror = kubelet_objects.mirror_pod_manifest(static(), NODE, now=NOW)
    elsewhere = {**mirror, "spec": {**mirror["spec"], "nodeName": "cp-2"}}
    ordinary = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"nodeName": "cp-1"}}

    assert kubelet_objects.compare_mirror_pods([static()], [elsewhere, ordinary], node="cp-1") == ([static()], [])
    assert kubelet_objects.compare_mirror_pods([static()], [mirror, ordinary], node="cp-1") == ([], [])
    assert kubelet_objects.compare_mirror_pods([static("other:1")], [mirror], node="cp-1") == ([], [mirror])
    assert kubelet_objects.compare_mirror_pods([], [mirror, elsewhere, ordinary], node="cp-1") == ([], [mirror])
