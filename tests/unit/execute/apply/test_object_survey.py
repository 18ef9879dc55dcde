"""What an older CRD would take away."""

from typing import Any

import pytest

from firstlight.execute.apply import object_survey
from firstlight.model.rendition import Object

STAMP = "app.kubernetes.io/version"
CHANNEL = "gateway.networking.k8s.io/channel"


def crd(*versions: str, stored: tuple[str, ...] = (), stamps: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "metadata": {"name": "ones.example.org", "annotations": stamps or {}},
        "spec": {"group": "example.org", "names": {"kind": "One"},
                 "versions": [{"name": each, "served": each != "v0"} for each in versions]},
        "status": {"storedVersions": list(stored)},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "live", "lost"),
    [
        (crd("v1"), crd("v1", stored=("v1",)), ""),
        (crd("v1", "v2"), crd("v1beta1", "v1", stored=("v1",)), ""),
        (crd("v1"), crd("v1beta1", "v1", stored=("v1beta1", "v1")), "objects may be stored as v1beta1"),
        (crd("v1"), crd("v1", "v2alpha1", stored=("v1",)), "the live one has v2alpha1, and it ends with v1"),
        (crd("v1beta1"), crd("v1beta1", "v1", stored=("v1beta1",)), "the live one has v1, and it ends with v1beta1"),
        (crd("v1", stamps={STAMP: "v1.9.0"}), crd("v1", stamps={STAMP: "v1.10.0"}), "the live one is of v1.10.0"),
        (crd("v1", stamps={STAMP: "1.10.0-rc.1"}), crd("v1", stamps={STAMP: "v1.10.0"}), "the live one is of v1.10.0"),
        (crd("v1", stamps={STAMP: "v1.10.0"}), crd("v1", stamps={STAMP: "v1.9.0"}), ""),
        (crd("v1", stamps={STAMP: "main"}), crd("v1", stamps={STAMP: "v1.9.0"}), ""),
        (
            crd("v1", stamps={CHANNEL: "standard"}),
            crd("v1", stamps={CHANNEL: "experimental"}),
            "the experimental channel",
        ),
    ],
)
def test_what_would_be_lost(wanted: dict[str, Any], live: dict[str, Any], lost: str) -> None:
    found = object_survey.lost_by_crd(Object(wanted), live)
    assert lost in found
    assert bool(found) is bool(lost)


def test_kinds_are_those_that_are_served() -> None:
    assert object_survey.crd_kinds(crd("v0", "v1")) == [("example.org/v1", "One")]
