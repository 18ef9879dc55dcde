"""Who gets values from a ConfigMap."""

import pytest

from firstlight.commands.decide.file_components import receiving
from firstlight.model.component import ObjectId
from firstlight.repo import platform_reader
from tests.unit.commands.decide.test_command import SCENARIOS


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
    found = {each.name for each in receiving(platform_reader.read(SCENARIOS / "two-clusters/repo"), holder)}

    assert ("infrastructure" in found) == expected
