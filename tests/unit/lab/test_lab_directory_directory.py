"""Where a lab may be."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.lab.lab_directory import LabDirectory


def test_a_path_that_kubeconfig_cannot_hold_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(errors.Refused, match="has a colon in it") as refused:
        LabDirectory(tmp_path / "a:b" / "lab").make()

    assert "FIRSTLIGHT_LABS" in refused.value.hint
    assert list(tmp_path.iterdir()) == []


def test_it_is_closed_to_others_also_if_somebody_made_it_beforehand(tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir(mode=0o755)

    LabDirectory(tmp_path / "lab").make()

    assert (tmp_path / "lab").stat().st_mode & 0o777 == 0o700


def test_a_directory_of_something_else_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir(mode=0o755)
    (tmp_path / "lab" / "letter").touch()

    with pytest.raises(errors.Refused, match="not empty"):
        LabDirectory(tmp_path / "lab").make()

    assert (tmp_path / "lab").stat().st_mode & 0o777 == 0o755
