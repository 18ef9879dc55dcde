"""Values as the server writes them back."""

from decimal import Decimal
from typing import Any

import pytest

from firstlight.ownership import normal_values

LIMIT = ("Deployment", "spec", "limits", "cpu")


@pytest.mark.parametrize(
    ("written", "number"),
    [("1", 1), (1, 1), ("1000m", 1), ("0.5Gi", 2**29), ("1e3", 1000), ("2E", Decimal("2e18")), ("1k", 1000), ("0", 0),
     ("1n", None), ("", None),
     ("1 Gi", None), ("Gi", None), ("1" * 30, None), (None, None), ("1e99999999999999999999", None)],
)  # fmt: skip
def test_quantities(written: Any, number: Any) -> None:
    assert normal_values.quantity(written) == number


@pytest.mark.parametrize(
    ("wanted", "live", "path", "is_same"),
    [
        ("1000m", "1", LIMIT, True),
        ("1000m", "1", ("ConfigMap", "data", "cpu"), False),
        ("1Gi", "1024Mi", ("Deployment", "spec", "volumes", "emptyDir", "sizeLimit"), True),
        ("1", "1000m", ("Deployment", "env", "valueFrom", "resourceFieldRef", "divisor"), True),
        ("1000m", "1", ("ConfigMap", "data", "sizeLimit"), False),
        ("1000m", "1", ("ConfigMap", "metadata", "annotations", "divisor"), False),
        ("1000m", "1", ("Deployment", "spec", "template", "metadata", "labels", "sizeLimit"), False),
        (True, 1, ("Deployment", "spec", "paused"), False),
        (1, 1.0, ("Deployment", "spec", "x"), True),
        ("", None, ("Deployment", "env", "value"), True),
        ("", None, ("Deployment", "env", "other"), False),
        (0, None, ("Deployment", "env", "value"), False),
        (False, None, ("Deployment", "volumeMounts", "readOnly"), True),
        (False, None, ("", "volumeMounts", "readOnly"), False),
        ({}, None, ("Deployment", "metadata", "labels"), True),
        ({}, None, ("Deployment", "securityContext"), False),
        ({}, {"a": 1}, ("Deployment", "metadata", "labels"), False),
        ([], None, ("Deployment", "args"), True),
        ([], None, ("", "args"), False),
        ({"fieldPath": "a"}, {"fieldPath": "a", "apiVersion": "v1"}, ("Deployment", "fieldRef"), True),
        ({"fieldPath": "a"}, {"fieldPath": "a", "apiVersion": "v2"}, ("Deployment", "fieldRef"), False),
        ({"a": "b"}, {"a": "b", "protocol": "TCP"}, ("Deployment", "nodeSelector"), False),
        ({"a": None}, {}, ("Deployment", "nodeSelector"), False),
        ([1, 2], [2, 1], ("Deployment", "args"), False),
        ({"nullable": False, "type": "a"}, {"type": "a"}, ("CustomResourceDefinition", "versions"), True),
        ({"nullable": True, "type": "a"}, {"type": "a"}, ("CustomResourceDefinition", "versions"), False),
        ({"ports": [{"port": 1}]}, {"ports": [{"port": 1, "protocol": "TCP"}]}, ("NetworkPolicy", "ingress"), True),
    ],
)
def test_values(wanted: Any, live: Any, path: tuple[str, ...], is_same: bool) -> None:
    assert normal_values.is_same(wanted, live, path) is is_same
