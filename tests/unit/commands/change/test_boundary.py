"""What is said of bootstrap's half of what Git owns: only other images make it stale."""

from typing import Any

from firstlight.commands.change import change_checks
from firstlight.model.boundary import Boundary
from firstlight.model.rendition import Object
from firstlight.plan import boundary


def agent(image: str, **labels: str) -> Object:
    spec: dict[str, Any] = {"template": {"spec": {"containers": [{"name": "agent", "image": image}]}}}
    metadata = {"name": "cilium", "namespace": "kube-system", "labels": labels}
    return Object({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec})


def compared(bootstrap: Object, gitops: Object) -> Boundary:
    return Boundary(component="cilium", cluster="home", objects=boundary.compare([bootstrap], [gitops]))


def test_other_images_are_stale() -> None:
    found = compared(agent("a/cilium:v1.18.4"), agent("a/cilium:v1.19.2"))

    assert change_checks.is_stale(found)
    assert change_checks.told(found) == ("bootstrap's half of cilium has other images: image cilium v1.18.4 › v1.19.2")


def test_other_labels_are_not() -> None:
    found = compared(agent("a/cilium:v1.19.2", a="b"), agent("a/cilium:v1.19.2"))

    assert not change_checks.is_stale(found)
    assert change_checks.told(found) == "cilium: 1 object differs, not in its images"
    assert change_checks.told(compared(agent("a:1.0.0"), agent("a:1.0.0"))) == "cilium: equal"
