"""Whether helm-controller would uninstall a release that it takes for another one."""

from typing import Any

import pytest

from firstlight.commands.change.moves import suspension
from firstlight.commands.change.moves.suspension import ChangedRelease

KNOWN = {
    "storageNamespace": "apps",
    "history": [{"name": "web", "namespace": "apps", "chartName": "web"}],
}


@pytest.mark.parametrize(
    ("spec", "status", "chart", "found"),
    [
        ({}, KNOWN, "web", None),
        ({}, KNOWN, "", None),
        ({}, KNOWN, "shop", ChangedRelease("chart", "web", "shop")),
        ({"upgrade": {"chartNameChangeStrategy": "InPlaceUpdate"}}, KNOWN, "shop", None),
        ({"upgrade": {"chartNameChangeStrategy": "Reinstall"}}, KNOWN, "shop", ChangedRelease("chart", "web", "shop")),
        ({"releaseName": "shop"}, KNOWN, "web", ChangedRelease("name", "web", "shop")),
        ({"targetNamespace": "shop", "releaseName": "web"}, KNOWN, "web", ChangedRelease("namespace", "apps", "shop")),
        ({"storageNamespace": "x"}, KNOWN, "web", ChangedRelease("namespace of its history", "apps", "x")),
        ({"releaseName": "shop"}, {"storageNamespace": "apps"}, "web", None),
        ({"releaseName": "shop"}, {"history": KNOWN["history"]}, "web", None),
        ({"releaseName": "shop"}, {}, "web", None),
    ],
)
def test_what_is_called_otherwise(
    spec: dict[str, Any], status: dict[str, Any], chart: str, found: ChangedRelease | None
) -> None:  # fmt: skip
    metadata = {"name": "web", "namespace": "apps"}
    live = {"metadata": metadata, "status": status}
    assert suspension.changed_release({"metadata": metadata, "spec": spec}, live, chart=chart) == found


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
    assert suspension.uninstalls_release({"spec": {"upgrade": upgrade}}) is does
