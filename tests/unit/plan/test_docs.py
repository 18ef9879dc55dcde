"""Every rule is documented, and every documented rule is there."""

import re
from pathlib import Path

from firstlight.plan import deadlocks

ROOT = Path(__file__).parents[3]


def test_rules_are_documented() -> None:
    files = (ROOT / "src" / "firstlight" / "plan").glob("*.py")
    # What a takeover finds is said by a handover, and stands in no plan's way.
    sources = [each.read_text() for each in files if not each.stem.endswith("_takeover")]
    written = {rule for text in sources for rule in re.findall(r'rule="([a-z-]+)"', text)}
    written |= set(re.findall(r'"(version-[a-z]+)"', "".join(sources)))
    written |= set(deadlocks.RULES.values())
    # What may come from nowhere: hosts are elsewhere then, and ConfigMaps are made when things run.
    nowhere = {rule.partition("-")[0] for rule in deadlocks.RULES.values()} - {"host", "config"}
    written |= {f"{each}-from-nowhere" for each in nowhere}
    page = (ROOT / "docs" / "planning.md").read_text()
    table = page[page.index("## What stands in the way") : page.index("## The picture")]
    told = {
        rule
        for line in table.splitlines()
        if line.startswith("| `")
        for rule in re.findall(r"`([a-z-]+)`", line.split("|")[1])
    }

    assert told == written
