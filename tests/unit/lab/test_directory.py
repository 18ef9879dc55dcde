"""Where a lab may be."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.lab.directory import Directory


def test_a_path_that_kubeconfig_cannot_hold_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(errors.Refused, match="has a colon in it") as refused:
        Directory(tmp_path / "a:b" / "lab").make()

    assert "FIRSTLIGHT_LABS" in refused.value.hint
    assert list(tmp_path.iterdir()) == []
