"""What is too large."""

from typing import Any

import pytest

from firstlight.model.diagnostic import Severity
from firstlight.render.inline import requirements
from tests.unit.render.inline.sample import PLACE, a_crd, an_object

MIB = 1 << 20


def check(size: int, *, others: int = 0, talos: str = "v1.13.0") -> list[tuple[Severity, str]]:
    return [
        (each.severity, each.message)
        for each in requirements.size_diagnostics([], size=size, others=others, talos=talos, place=PLACE)
    ]


def test_an_inline_engine_is_not_too_large() -> None:
    assert check(int(1.4 * MIB), others=MIB, talos="v1.11.2") == []


def test_a_config_of_a_third_of_a_message_is_too_large() -> None:
    assert check(6 * MIB, others=4 * MIB) == []
    assert check(7 * MIB, others=4 * MIB) == [
        (
            Severity.ERROR,
            "7.0 MiB of contents, with 4.0 MiB of other inline manifests: Talos is not safe with more than 10.7 MiB of"
            " config",
        )
    ]


@pytest.mark.parametrize(
    ("talos", "is_told"), [("v1.12.4", True), ("1.9", True), ("", True), ("v1.13.0", False), ("v2.0", False)]
)
def test_maintenance_mode_takes_less_before_1_13(talos: str, is_told: bool) -> None:
    found = check(4 * MIB, talos=talos)

    assert bool(found) is is_told
    assert not found or "in maintenance mode Talos" in found[0][1]


def test_an_object_that_etcd_does_not_take() -> None:
    huge = a_crd("W", "ws", "example.org")
    large = type(huge)({**huge.value, "x": "a" * (2 * MIB)})

    (diagnostic,) = requirements.size_diagnostics([large], size=1, others=0, talos="", place=PLACE)

    assert (diagnostic.severity, diagnostic.message) == (
        Severity.ERROR,
        "CustomResourceDefinition ws.example.org has 2.0 MiB: etcd takes 1.5 MiB",
    )


@pytest.mark.parametrize(
    ("kind", "field", "size", "is_told"),
    [
        ("ConfigMap", "data", MIB, False),
        ("ConfigMap", "data", MIB + 1, True),
        ("ConfigMap", "binaryData", MIB + 1, False),
        ("Secret", "data", MIB + 1, False),
        ("Secret", "stringData", MIB + 1, True),
        ("Widget", "data", MIB + 1, False),
    ],
)
def test_data_that_kubernetes_does_not_take(kind: str, field: str, size: int, is_told: bool) -> None:
    data: dict[str, Any] = {field: {"a": "z" * size}}
    one = an_object(kind, "c", namespace="x", **data)

    assert bool(requirements.size_diagnostics([one], size=1, others=0, talos="", place=PLACE)) is is_told


@pytest.mark.parametrize(("size", "text"), [(12, "12 bytes"), (2048, "2 KiB"), (3 * MIB, "3.0 MiB")])
def test_sizes_for_people(size: int, text: str) -> None:
    assert requirements.shown_size(size) == text
