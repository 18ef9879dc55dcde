"""Every code of a plan is documented, and every documented code is there."""

import re
from pathlib import Path

from firstlight.plan import deadlocks

ROOT = Path(__file__).parents[3]


def test_codes_are_documented() -> None:
    files = (ROOT / "src" / "firstlight" / "plan").glob("*.py")
    # What a takeover finds is said by a handover, and stands in no plan's way.
    sources = [each.read_text() for each in files if not each.stem.endswith("_takeover")]
    made = r'(?:Diagnostic\.(?:error|warning|note|unknown)\(\s*|code=)"([a-z-]+)"'
    written = {code for text in sources for code in re.findall(made, text)}
    written |= set(re.findall(r'"(version-[a-z]+)"', "".join(sources)))
    written |= deadlocks.LATE
    page = (ROOT / "docs" / "planning.md").read_text()
    table = page[page.index("## What stands in the way") : page.index("## The picture")]
    told = {
        code
        for line in table.splitlines()
        if line.startswith("| `")
        for code in re.findall(r"`([a-z-]+)`", line.split("|")[1])
    }

    assert told == written
