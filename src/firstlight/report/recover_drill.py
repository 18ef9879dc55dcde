"""A drill, and the list of those that there are, as text and as data."""

from collections.abc import Sequence
from typing import Any

from firstlight.model.recovery import Drilled
from firstlight.report import safe, table

_SHOWN = 10
_HEAD = ["scenario", "option", "what is broken, and how"]


def text(drilled: Drilled, what: str, *, how: str, untried: str = "", recorded: str = "") -> str:
    """What came of a drill.

    Args:
        drilled: The drill.
        what: What was broken.
        how: How it was made.
        untried: What of the repair a rehearsal cannot try.
        recorded: The file that has it now.
    """
    lines = [f"{safe.name(drilled.cluster)}   drill {drilled.scenario}   {_verdict(drilled)}"]
    lines += table.labelled("broken", [f"{what} ({how})"])
    lines += table.labelled("diagnosed", [f"{drilled.diagnosed:.1f} s   {safe.name(drilled.option)}"])
    lines += table.labelled("repaired", [f"{drilled.repaired:.1f} s" if not drilled.code else "not"])
    lines += table.labelled("compared", [f"{drilled.compared} objects"] if not drilled.code else [])
    more = [f"and {len(drilled.lost) - _SHOWN} more"] if len(drilled.lost) > _SHOWN else []
    lines += table.labelled("lost", [*(safe.name(each) for each in drilled.lost[:_SHOWN]), *more])
    lines += table.labelled("untried", [untried] if untried else [])
    lines += table.labelled("recorded", [recorded] if recorded else [])
    return "\n".join(lines)


def _verdict(drilled: Drilled) -> str:
    if drilled.code:
        return f"✘ not repaired (exit code {drilled.code})"
    return "✔ repaired, nothing lost" if drilled.is_fine else "✘ repaired, with something lost"


def data(drilled: Drilled, *, untried: str = "", recorded: str = "") -> dict[str, Any]:
    """The same for programs."""
    return {
        "cluster": drilled.cluster,
        "scenario": drilled.scenario,
        "fine": drilled.is_fine,
        "option": drilled.option,
        "diagnosed": round(drilled.diagnosed, 3),
        "repaired": round(drilled.repaired, 3),
        "compared": drilled.compared,
        "lost": list(drilled.lost),
        "code": drilled.code,
        "untried": untried,
        "recorded": recorded,
    }


def listing(rows: Sequence[tuple[str, str, str, str]], *, columns: int = 0) -> str:
    """The scenarios: id, what is broken, how it is made, what repairs it."""
    return "\n".join(
        "\n".join(each)
        for each in table.wrapped(
            [_HEAD, *([id, option, f"{what}: {how}"] for id, what, how, option in rows)], indent="  ", columns=columns
        )
    )
