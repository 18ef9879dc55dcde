"""Which objects a rule is for."""

from typing import Any

import pytest

from firstlight.model.component import ObjectId
from firstlight.ownership import ignored_fields

WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"tier": "front"}},
}


@pytest.mark.parametrize(
    ("target", "is_one"),
    [
        ({}, True),
        ({"kind": "Deployment"}, True),
        ({"kind": "(Deployment|StatefulSet)", "namespace": "sh.*"}, True),
        ({"kind": "Deploy"}, False),
        ({"group": "apps", "version": "v1"}, True),
        ({"version": "v2"}, False),
        ({"name": "("}, False),
        ({"labelSelector": "tier=front"}, True),
        ({"labelSelector": "tier in (back)"}, False),
        ({"annotationSelector": "any"}, False),
    ],
)
def test_targets_of_flux(target: dict[str, str], is_one: bool) -> None:
    assert ignored_fields.is_flux_target(target, WEB) is is_one


@pytest.mark.parametrize(
    ("rule", "is_one"),
    [
        ({"group": "apps", "kind": "Deployment"}, True),
        ({"kind": "Deployment"}, False),
        ({"group": "*", "kind": "*"}, True),
        ({"group": "apps", "kind": "Deployment", "name": "web", "namespace": "shop"}, True),
        ({"group": "apps", "kind": "Deployment", "namespace": "other"}, False),
    ],
)
def test_targets_of_argocd(rule: dict[str, str], is_one: bool) -> None:
    assert ignored_fields.is_argocd_target(rule, ObjectId.of(WEB)) is is_one


@pytest.mark.parametrize(
    ("selector", "is_selected"),
    [
        ("", True),
        ("tier = front", True),
        ("tier==front,app!=other", True),
        ("tier!=front", False),
        ("tier in (front, back)", True),
        ("tier notin (front)", False),
        ("other notin (front)", True),
        ("tier", True),
        ("!tier", False),
        ("tier=front,other", False),
        ("tier ~ front", False),
    ],
)
def test_selectors_as_they_are_written(selector: str, is_selected: bool) -> None:
    assert ignored_fields.is_selected(selector, {"tier": "front"}) is is_selected
