"""The list of runs, in terminals of any width."""

import pytest

from firstlight.commands.runs import text
from firstlight.drawing import table
from firstlight.model.run_state import RunBrief, RunOutcome

REASON = "the journal of the run could not be written: no space left on device"
RUNS = (
    RunBrief(run="20261116T063000Z-infra-ab12", cluster="infra", started=1794810600, last=1794810761,
             outcome=RunOutcome.PASSED, writes=212),
    RunBrief(run="20261116T053000Z-infra-cd34", cluster="infra", started=1794807000, last=1794807011,
             outcome=RunOutcome.FAILED, writes=3, reason=REASON),
    RunBrief(run="20261116T043000Z-infra-ef56", cluster="infra", started=1794803400, last=1794803402,
             outcome=RunOutcome.PASSED, is_dry_run=True),
)  # fmt: skip


@pytest.mark.parametrize("columns", [80, 100, 120, 200])
def test_nothing_is_cut_off(columns: int) -> None:
    shown = text.many(RUNS, now=1794810800, columns=columns)

    assert all(table.width(each) <= columns for each in shown)
    assert "…" not in "".join(shown)
    whole = " ".join(" ".join(shown).split())
    assert all(each.run in whole for each in RUNS)
    assert REASON in whole
    assert "dry run" in whole
    assert "✘ failed" in whole


def test_a_wide_one_has_all_columns_and_a_narrow_one_what_the_id_does_not_say() -> None:
    wide, narrow = (text.many(RUNS, now=1794810800, columns=columns) for columns in (160, 80))

    assert wide[0].split() == ["run", "cluster", "began", "took", "outcome", "writes"]
    assert narrow[0].split() == ["run", "took", "outcome", "writes"]
    assert narrow[1] == "20261116T063000Z-infra-ab12   2m41s   ✔ passed   212"
