"""Whether helm-controller would uninstall a release that it takes for another one."""

from typing import Any

import pytest

from firstlight.ownership import release_targets
from firstlight.ownership.release_targets import Changed

KNOWN = {
    "storageNamespace": "apps",
    "history": [{"name": "web", "namespace": "apps", "chartName": "web"}],
}


@pytest.mark.parametrize(
    ("spec", "status", "chart", "found"),
    [
        ({}, KNOWN, "web", None),
        ({}, KNOWN, "", None),
        ({}, KNOWN, "shop", Changed("chart", "web", "shop")),
        ({"upgrade": {"chartNameChangeStrategy": "InPlaceUpdate"}}, KNOWN, "shop", None),
        ({"upgrade": {"chartNameChangeStrategy": "Reinstall"}}, KNOWN, "shop", Changed("chart", "web", "shop")),
        ({"releaseName": "shop"}, KNOWN, "web", Changed("name", "web", "shop")),
        ({"targetNamespace": "shop", "releaseName": "web"}, KNOWN, "web", Changed("namespace", "apps", "shop")),
        ({"storageNamespace": "x"}, KNOWN, "web", Changed("namespace of its history", "apps", "x")),
        ({"releaseName": "shop"}, {"storageNamespace": "apps"}, "web", None),
        ({"releaseName": "shop"}, {"history": KNOWN["history"]}, "web", None),
        ({"releaseName": "shop"}, {}, "web", None),
    ],
)
def test_what_is_called_otherwise(
    spec: dict[str, Any], status: dict[str, Any], chart: str, found: Changed | None
) -> None:  # fmt: skip
    metadata = {"name": "web", "namespace": "apps"}
    live = {"metadata": metadata, "status": status}
    assert release_targets.changed({"metadata": metadata, "spec": spec}, live, chart=chart) == found


@pytest.mark.parametrize(
    ("upgrade", "does"),
    [
        ({}, False),
        ({"remediation": {"retries": 3}}, False),
        ({"remediation": {"strategy": "rollback"}}, False),
        ({"remediation": {"strategy": "uninstall"}}, True),
    ],
)
def test_what_uninstalls(upgrade: dict[str, Any], does: bool) -> None:
    assert release_targets.uninstalls({"spec": {"upgrade": upgrade}}) is does
