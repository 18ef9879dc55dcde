"""Objects made fit for Talos."""

from typing import Any

import pytest

from firstlight.model import argocd_names, helm_names
from firstlight.model.diagnostic import Severity
from firstlight.model.rendition import Object
from firstlight.render.inline import prepared_objects
from tests.unit.render.inline.sample import PLACE, a_crd, an_object


def prepare(*objects: Object, **given: Any) -> prepared_objects.PreparedObjects:
    return prepared_objects.prepare(objects, place=PLACE, **given)


def hooked(kind: str, hook: str, *, key: str = helm_names.HOOK_ANNOTATION, name: str = "job") -> Object:
    return an_object(kind, name, namespace="x", api="batch/v1", annotations={key: hook})


@pytest.mark.parametrize("hook", ["pre-install", "post-install,post-upgrade", "test", "pre-upgrade, pre-install"])
def test_hooks_of_helm_are_left_out(hook: str) -> None:
    found = prepare(hooked("Job", hook))

    assert found.objects == ()
    assert [str(each.id) for each in found.left_out] == ["Job x/job"]


def test_hooks_of_argo_cd_are_left_out() -> None:
    found = prepare(hooked("Job", "PreSync", key=argocd_names.HOOK_ANNOTATION))

    assert found.objects == ()
    assert "PreSync" in found.left_out[0].reason


def test_a_crd_that_calls_itself_a_hook_is_none() -> None:
    crd = a_crd("W", "ws", "example.org")
    value = {
        **crd.value,
        "metadata": {**crd.value["metadata"], "annotations": {helm_names.HOOK_ANNOTATION: "crd-install"}},
    }

    assert len(prepare(Object(value)).objects) == 1


def test_a_job_that_something_may_wait_for_is_told() -> None:
    (diagnostic,) = prepare(hooked("Job", "post-install")).diagnostics

    assert diagnostic.severity is Severity.WARNING
    assert diagnostic.message.startswith("the hook Job x/job is left out")


def test_what_is_known_of_a_hook_is_told() -> None:
    (diagnostic,) = prepare(hooked("Job", "post-install", name="hubble-generate-certs")).diagnostics

    assert diagnostic.fix.startswith("Cilium starts without it")


@pytest.mark.parametrize(("kind", "hook"), [("Pod", "test"), ("Job", "pre-delete"), ("ServiceAccount", "pre-install")])
def test_nobody_waits_for_these(kind: str, hook: str) -> None:
    assert prepare(hooked(kind, hook)).diagnostics == ()


def test_lists_are_taken_apart() -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [an_object("Namespace", "b").value]}

    found = prepare(Object({"apiVersion": "v1", "kind": "List", "items": [an_object("Namespace", "a").value, inner]}))

    assert [str(each.id) for each in found.objects] == ["Namespace a", "Namespace b"]


def test_a_namespace_is_taken_from_what_is_in_none() -> None:
    found = prepare(an_object("ClusterRole", "r", namespace="x", api="rbac.authorization.k8s.io/v1", rules=[]))

    assert found.objects[0].value["metadata"] == {"name": "r"}
    assert found.objects[0].value["rules"] == []
    (diagnostic,) = found.diagnostics
    assert (diagnostic.severity, diagnostic.message) == (
        Severity.WARNING,
        "ClusterRole r is in no namespace, and says x: taken out",
    )


def test_a_kind_of_ones_own_is_asked_for_in_its_definition() -> None:
    gadget = a_crd("Gadget", "gadgets", "example.org", scope="Cluster")
    objects = [an_object("Gadget", "g", namespace="x", api="example.org/v1"), gadget]

    assert "namespace" not in prepare(*objects).objects[1].value["metadata"]
    assert "namespace" not in prepare(objects[0], crds=[gadget]).objects[0].value["metadata"]


def test_a_kind_that_nobody_defines_stays_as_it_is() -> None:
    one, other = an_object("W", "w", namespace="x", api="e.org/v1"), an_object("W", "v", api="e.org/v1")

    found = prepare(one, other)

    assert sorted(each.id.namespace for each in found.objects) == ["", "x"]
    assert found.diagnostics == ()


def test_a_missing_namespace_is_the_one_of_the_release() -> None:
    found = prepare(an_object("ConfigMap", "c"), namespace="net")

    assert found.objects[0].id.namespace == "net"
    (diagnostic,) = found.diagnostics
    assert (diagnostic.severity, diagnostic.message) == (
        Severity.WARNING,
        "ConfigMap c names no namespace: written as net, where the engine puts it",
    )


def test_a_missing_namespace_that_nobody_knows_is_wrong() -> None:
    (diagnostic,) = prepare(an_object("ConfigMap", "c")).diagnostics

    assert (diagnostic.severity, diagnostic.message) == (
        Severity.ERROR,
        "ConfigMap c names no namespace: Talos would put it into default",
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"kind": "Pod", "metadata": {"name": "a"}}, "Pod a has no apiVersion or kind"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "a"}}, "Pod  has no name"),
        (
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "a", "annotations": {prepared_objects.INVENTORY: "x"}},
            },
            "Namespace a has the annotation config.k8s.io/owning-inventory",
        ),
        (
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "a"},
                "data": {"x": "ENC[y]"},
                "sops": {"mac": "z"},
            },
            "Secret a is encrypted by sops",
        ),
    ],
)
def test_what_talos_would_stumble_over(value: dict[str, Any], message: str) -> None:
    found = prepare(Object(value))

    (diagnostic,) = found.diagnostics
    assert found.objects == ()
    assert diagnostic.severity is Severity.ERROR
    assert diagnostic.message.startswith(message)
    assert "ENC[" not in diagnostic.message


def test_the_same_object_twice_is_one() -> None:
    found = prepare(an_object("Namespace", "a"), an_object("Namespace", "a"))

    assert len(found.objects) == 1
    assert found.diagnostics == ()


def test_two_objects_of_one_name_are_wrong() -> None:
    found = prepare(an_object("Namespace", "a"), an_object("Namespace", "a", labels={"b": "c"}))

    (diagnostic,) = found.diagnostics
    assert (diagnostic.severity, diagnostic.message) == (
        Severity.ERROR,
        "Namespace a is there twice, with different contents",
    )
