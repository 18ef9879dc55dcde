"""Tables of talosctl, for the few commands that print nothing better: etcd and time.

Columns start where their heading starts, and are three spaces apart at least. Cells may be empty, so lines cannot
be split at spaces.
"""

import re
from collections.abc import Mapping

_HEADING = re.compile(r"\S+(?: \S+)*")


def parse(text: str) -> tuple[Mapping[str, str], ...]:
    """The rows, by heading.

    Raises:
        ValueError: There are rows without a heading.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return ()
    headings = list(_HEADING.finditer(lines[0]))
    if not headings or lines[0] != lines[0].upper():
        raise ValueError("the table has no heading")
    starts = [heading.start() for heading in headings]
    ends = [*starts[1:], None]
    return tuple(
        {heading[0]: line[start:end].strip() for heading, start, end in zip(headings, starts, ends, strict=True)}
        for line in lines[1:]
    )
