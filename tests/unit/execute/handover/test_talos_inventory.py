"""Keys of Talos's inventory: read as Talos writes them, and found for objects wherever a manifest puts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.execute.handover import talos_inventory
from firstlight.execute.handover.talos_inventory import TalosInventory
from firstlight.model.component import ObjectId

RBAC = "rbac.authorization.k8s.io"
WIDE = frozenset({(RBAC, "ClusterRole"), ("", "Namespace")})
_NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?", fullmatch=True)


@pytest.mark.parametrize(
    ("key", "id"),
    [
        ("kube-system_cilium_apps_DaemonSet", ObjectId("apps", "DaemonSet", "kube-system", "cilium")),
        ("default_greeting__ConfigMap", ObjectId("", "ConfigMap", "default", "greeting")),
        ("_flux-system__Namespace", ObjectId("", "Namespace", "", "flux-system")),
        (f"_system__kubelet_{RBAC}_ClusterRole", ObjectId(RBAC, "ClusterRole", "", "system:kubelet")),
    ],
)
def test_keys_name_objects(key: str, id: ObjectId) -> None:
    assert talos_inventory.parse(key) == id
    assert talos_inventory.key(id) == key


@pytest.mark.parametrize("key", ["", "a", "a_b", "a_b_c", "_", "___", "a_b_c_"])
def test_what_is_no_key_names_nothing(key: str) -> None:
    assert talos_inventory.parse(key) is None
    assert talos_inventory.shown(key) == key


@given(namespace=st.just("") | _NAMES, name=_NAMES, group=st.just("") | _NAMES, kind=st.sampled_from(["Pod", "Web"]))
def test_every_object_is_found_by_its_key(namespace: str, name: str, group: str, kind: str) -> None:
    id = ObjectId(group, kind, namespace, name)

    assert talos_inventory.parse(talos_inventory.key(id)) == id


def test_a_key_is_found_for_an_object_where_it_really_is() -> None:
    inventory = TalosInventory(
        ("_web__ConfigMap", f"kube-system_agent_{RBAC}_ClusterRole", "other_web__ConfigMap", "no key"), "1", WIDE
    )

    def keys(*ids: ObjectId) -> tuple[str, ...]:
        return inventory.of(ids)

    assert keys(ObjectId("", "ConfigMap", "default", "web")) == ("_web__ConfigMap",)
    assert keys(ObjectId("", "ConfigMap", "other", "web")) == ("other_web__ConfigMap",)
    assert keys(ObjectId("", "ConfigMap", "third", "web")) == ()
    assert keys(ObjectId(RBAC, "ClusterRole", "", "agent")) == (f"kube-system_agent_{RBAC}_ClusterRole",)
    assert keys() == ()
