"""A move that was rehearsed, as text and as data."""

from collections.abc import Sequence
from typing import Any

from firstlight.model.move_rehearsal import RehearsedMove
from firstlight.report import safe, table
from firstlight.report.rehearsal import duration

_SHOWN = 10
_BESIDE = 16
"""Cells of labels, and some more for the edge."""


def text(told: RehearsedMove, *, columns: int = 0) -> str:
    """What came of it."""

    def section(label: str, lines: Sequence[str]) -> list[str]:
        safely = [safe.text(each) for each in lines]
        wide = [one for each in safely for one in (table.wrap(each, columns - _BESIDE) if columns else [each])]
        return table.labelled(label, wide)

    lines = [f"{safe.name(told.cluster)}   rehearsed: {safe.text(told.what)}   {_verdict(told)}"]
    lines += section("brought up", [f"{duration(told.brought_up)}, as the repo has it now, to the handover"])
    lines += section("moved", [f"{duration(told.moved)}: {_moved(told)}"])
    lines += section("pods", [f"{told.pods - len(told.replaced)} the same, {len(told.replaced)} replaced"])
    lines += section("replaced", _some(told.replaced))
    lines += section("deleted", _some(told.deleted) or ["0, by the audit log"])
    lines += section("second run", _some(told.written) or [told.second_run or "none: the move did not come to its end"])
    lines += section("cold start", [_cold(told)] if told.is_fine else [])
    lines += section("simulated", [", ".join(told.simulated)] if told.simulated else [])
    lines += section("not tried", [", ".join(_some(told.untried))] if told.untried else [])
    if not told.is_fine:
        lines += section("next", [_next(told)])
    return "\n".join(lines)


def data(told: RehearsedMove) -> dict[str, Any]:
    """The same for programs."""
    return {
        "cluster": told.cluster,
        "fine": told.is_fine,
        "lab": told.lab,
        "kept": told.is_kept,
        "broughtUp": round(told.brought_up, 3),
        "moved": round(told.moved, 3),
        "passing": told.is_passing,
        "passed": [{"owner": owner, "objects": count} for owner, count in told.passed],
        "certificate": told.certificate or None,
        "pods": told.pods,
        "replaced": list(told.replaced),
        "deleted": list(told.deleted),
        "secondRun": told.second_run or None,
        "written": list(told.written),
        "failed": told.failure or None,
        "hint": told.hint,
        "simulated": list(told.simulated),
        "untried": list(told.untried),
    }


def _verdict(told: RehearsedMove) -> str:
    if told.is_fine:
        return "✔ nothing deleted, no pod replaced, a second run writes nothing"
    if told.failure:
        return "✘ it fails"
    wrong = [
        *(["something was deleted"] if told.deleted else []),
        *(["pods were replaced"] if told.replaced else []),
        *(["a second run is not without writes"] if told.written else []),
    ]
    return f"✘ {', '.join(wrong) or 'it is not proven'}"


def _moved(told: RehearsedMove) -> str:
    if told.failure:
        hint = f" ({told.hint})" if told.hint else ""
        return f"not: {told.failure}{hint}"
    objects = [
        f"{count} object{'' if count == 1 else 's'} {'passed to' if told.is_passing else 'of'} {owner}"
        for owner, count in told.passed
    ]
    if not told.is_passing:
        objects.append("the owner stays")
    return f"{', '.join(objects) or 'nothing'}; certificate {told.certificate[:4]}…"


def _cold(told: RehearsedMove) -> str:
    return f"planned, and not rehearsed: once it is written, firstlight rehearse {told.cluster}"


def _next(told: RehearsedMove) -> str:
    if told.is_kept:
        return f"look around: export KUBECONFIG=$(firstlight lab kubeconfig -n {told.lab})"
    return "nothing was written; --keep leaves the lab running, to look around in it"


def _some(found: Sequence[str]) -> list[str]:
    more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    return [*found[:_SHOWN], *more]
