"""Repos with helmfiles: which releases they have, in which environment, from which chart, with which values."""

from pathlib import Path

import pytest

from firstlight.repo import helmfile
from firstlight.repo.work_tree import WorkTree
from tests.unit.repo.scripts import shown


@pytest.mark.parametrize("scenario", shown.scenarios("helmfile"), ids=lambda path: path.name)
def test_helmfiles_are_read_as_helmfile_reads_them(scenario: Path) -> None:
    found = shown.plain(helmfile.read(WorkTree(scenario / "repo")))

    assert shown.text(found) == shown.expected(scenario)
