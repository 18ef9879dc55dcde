from firstlight.commands.recover import drill
from tests.recover import table


def test_the_page_has_every_scenario_and_no_other() -> None:
    rows = [line for line in table.PAGE.read_text().splitlines() if line.startswith("| `")]

    assert len(rows) == len(drill.FAULTS)
    for line, each in zip(rows, drill.FAULTS.values(), strict=True):
        assert line.startswith(f"| {table.start(each)} | `{each.option}` |")
        assert "| nothing of " in line
