"""Who gets values from a ConfigMap."""

import pytest

from firstlight.model.component import ObjectId
from firstlight.operate.deciding.receiving import receiving
from firstlight.repo import platform
from tests.unit.cli.test_decide import SCENARIOS


@pytest.mark.parametrize(
    ("holder", "expected"),
    [
        (ObjectId("", "ConfigMap", "flux-system", "cluster-settings"), True),
        (ObjectId("", "ConfigMap", "", "cluster-settings"), True),
        (ObjectId("", "ConfigMap", "other", "cluster-settings"), False),
        (ObjectId("", "Secret", "flux-system", "cluster-settings"), False),
        (ObjectId("example.org", "ConfigMap", "flux-system", "cluster-settings"), False),
    ],
)
def test_what_flux_substitutes_from(holder: ObjectId, expected: bool) -> None:
    found = {each.name for each in receiving(platform.read(SCENARIOS / "two-clusters/repo"), holder)}

    assert ("infrastructure" in found) == expected
