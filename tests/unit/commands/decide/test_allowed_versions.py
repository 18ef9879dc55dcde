"""Whether a version or a range means a version."""

import pytest

from firstlight.plan.version_bump import allows


@pytest.mark.parametrize(
    ("wanted", "version", "expected"),
    [
        ("1.2.3", "v1.2.3", True),
        ("v1.2.3", "1.2.4", False),
        ("1.2.x", "1.2.9", True),
        (">=0.9.0 <1.0.0", "0.20.3", True),
        (">=1.0.0 <2.0.0", "0.20.3", False),
        ("^0.20.0", "0.21.0", False),
        ("~1.18.0 || ~1.19.0", "1.19.4", True),
        ("latest", "1.2.3", None),
        ("1.2.3", "main", None),
    ],
)
def test_allows(wanted: str, version: str, expected: bool | None) -> None:
    assert allows(wanted, version) is expected
