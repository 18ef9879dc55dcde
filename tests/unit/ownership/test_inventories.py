"""What owners themselves say that is theirs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.model.component import ObjectId
from firstlight.model.owner import ObjectOwner, Party
from firstlight.ownership import inventories

NAMES = st.text(alphabet="abcxyz0189-.", min_size=1, max_size=12)


def written(id: ObjectId) -> str:
    """As Flux and Talos write an entry."""
    return "_".join((id.namespace, id.name.replace(":", "__"), id.group, id.kind))


@given(NAMES | st.just(""), st.lists(NAMES, min_size=1, max_size=3).map(":".join), NAMES | st.just(""), NAMES)
def test_entries_are_read_as_they_are_written(namespace: str, name: str, group: str, kind: str) -> None:
    id = ObjectId(group, kind, namespace, name)
    assert inventories.parsed(written(id)) == id


@pytest.mark.parametrize("entry", ["", "_", "a_b", "a_b_c", "a___", "nothing"])
def test_what_is_no_entry(entry: str) -> None:
    assert inventories.parsed(entry) is None


def test_an_owner_that_keeps_no_inventory_says_nothing() -> None:
    known = inventories.collect([{"kind": "Kustomization", "metadata": {"name": "a", "namespace": "b"}}])
    (found,) = known.by_owner.values()
    assert (found.owner.name, found.objects) == ("Kustomization b/a", None)


@pytest.mark.parametrize(
    "status",
    [{"inventory": "no"}, {"inventory": {"entries": [1, {"id": 2}, {}]}}, {"history": [None, {"name": 1}]}, "no", None],
)
def test_inventories_of_strangers_forms_are_read(status: Any) -> None:
    release = {"kind": "HelmRelease", "metadata": {"name": "a", "namespace": "b"}, "status": status}
    assert inventories.collect([release, {"kind": "Application", "metadata": {}, "status": status}]).listing == {}


def test_two_applications_of_one_name_are_taken_for_one() -> None:
    """Their tracking ids may be the same, so that neither may be said not to list an object."""

    def application(namespace: str, name: str) -> dict[str, Any]:
        resources = [{"kind": "ConfigMap", "namespace": "web", "name": name}]
        return {
            "kind": "Application", "metadata": {"name": "shop", "namespace": namespace},
            "status": {"resources": resources},
        }  # fmt: skip

    known = inventories.collect([application("one", "a"), application("two", "b")])
    (found,) = known.by_owner.values()
    assert found.objects is not None
    assert {each.name for each in found.objects} == {"a", "b"}


def test_the_records_of_a_release_are_whose_history_has_it() -> None:
    release = {
        "kind": "HelmRelease", "metadata": {"name": "edge", "namespace": "flux-system"},
        "status": {"storageNamespace": "flux-system", "history": [{"name": "web-edge", "namespace": "web"}]},
    }  # fmt: skip
    secret = {
        "kind": "Secret",
        "metadata": {
            "name": "sh.helm.release.v1.web-edge.v1", "namespace": "flux-system",
            "labels": {"owner": "helm", "name": "web-edge"},
        },
    }  # fmt: skip
    known = inventories.collect([release], releases=[secret])
    flux = ObjectOwner(Party.FLUX, "HelmRelease flux-system/edge")
    assert known.release("web", "web-edge") == flux
    assert known.release("flux-system", "web-edge") == flux
    assert known.release("web", "other") is None
    assert inventories.collect([], releases=[secret]).release("flux-system", "web-edge") == ObjectOwner(
        Party.HELM, "release flux-system/web-edge"
    )
