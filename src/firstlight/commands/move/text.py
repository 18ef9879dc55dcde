"""A move as text and as data: who needs the component, what a cold start makes of it, what to edit, what comes next."""

from collections.abc import Sequence

from firstlight.cli import diagnostic_data
from firstlight.commands.move.lab_rehearsal import RehearsedMove
from firstlight.commands.move.output_form import MoveAnalysisData, MoveRehearsalData
from firstlight.commands.plan import text as plan_text
from firstlight.commands.rehearse.text import duration
from firstlight.drawing import safe, table
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.move import Instruction, MoveAnalysis, OwnerSplit, Relocation, Seat

_SHOWN = 4
_NARROWEST = 30
"""Cells of a column of words."""


def text(
    component: str,
    analyses: Sequence[MoveAnalysis],
    *,
    by_hand: Sequence[Instruction] = (),
    notes: Sequence[str] = (),
    columns: int,
) -> str:
    """What the repo tells of a move.

    Args:
        component: What moves.
        analyses: What it means, by cluster.
        by_hand: What a person must write.
        notes: What is good to know of the edits.
        columns: Of the screen.
    """
    lines: list[str] = []
    for each in analyses:
        lines += [f"{component}   {each.cluster}   {each.before} › {each.after}"]
        for label, said in _rows(each):
            lines += table.labelled(label, table.wrap(said, max(_NARROWEST, columns - 2 - table.LABEL)))
        lines += _problems(each.new, columns)
    for note in notes:
        lines += table.labelled("note", table.wrap(note, max(_NARROWEST, columns - 2 - table.LABEL)))
    lines += _by_hand(by_hand, columns)
    return "\n".join(safe.text(each) for each in lines)


def relocation(
    wish: Relocation | OwnerSplit,
    passed: Sequence[tuple[str, str, str, str]],
    new: Sequence[Diagnostic],
    *,
    by_hand: Sequence[Instruction] = (),
    columns: int,
) -> str:
    """What passes from one owner to another.

    Args:
        wish: What was asked for.
        passed: The cluster, the object, who has it and who gets it, of each.
        new: What would stand in the way of a cold start.
        by_hand: What a person must write.
        columns: Of the screen.
    """
    count = f"{len(passed)} object{'' if len(passed) == 1 else 's'}" if passed else ""
    lines = [f"{wish.what} › {wish.into}   {count}".rstrip()]
    rows = [[name, cluster, f"{before} › {after}"] for cluster, name, before, after in passed]
    lines += table.render(rows, indent="  ", columns=columns)
    lines += _problems(new, columns)
    lines += _by_hand(by_hand, columns)
    return "\n".join(safe.text(each) for each in lines)


def _by_hand(given: Sequence[Instruction], columns: int) -> list[str]:
    lines: list[str] = []
    for one in given:
        cells = max(_NARROWEST, columns - 2 - table.LABEL)
        # Lines of a file keep their form; a sentence is wrapped.
        said = one.text.splitlines() if "\n" in one.text else table.wrap(one.text, cells)
        lines += table.labelled("by hand", [str(one.place), *said])
    return lines


def _rows(each: MoveAnalysis) -> list[tuple[str, str]]:
    needed = "the engine cannot start without it" if each.is_needed else "the engine starts without it"
    shown = [f"{one.name} ({one.why})" for one in each.users[:_SHOWN]]
    more = f" and {len(each.users) - _SHOWN} more" if len(each.users) > _SHOWN else ""
    used = f"; in bootstrap {', '.join(shown)}{more} needs it" if shown else "; nothing in bootstrap needs it"
    rows = [("needed", needed + used)]
    if each.before is Seat.GITOPS:
        rows.append(("warning", "what is in bootstrap is not reconciled before the engine is there: keep it small"))
    depth = "everything was rendered" if each.is_rendered else "nothing was rendered; --render finds more"
    end = "would not come to its end" if each.is_deadlocked else "comes to its end"
    rows.append(("cold start", f"{end} ({depth})"))
    if each.solved:
        rows.append(("solved", "; ".join(one.message for one in each.solved)))
    return rows


def _problems(found: Sequence[Diagnostic], columns: int) -> list[str]:
    return [f"  {line}" for block in plan_text.problems(list(found), columns=columns - 2) for line in block]


def data(analyses: Sequence[MoveAnalysis]) -> list[MoveAnalysisData]:
    """The same for programs."""
    return [
        {
            "cluster": each.cluster,
            "before": each.before,
            "after": each.after,
            "needed": each.is_needed,
            "users": [
                {"name": one.name, "why": one.why, "place": str(one.place) if one.place else "", "fact": one.is_fact}
                for one in each.users
            ],
            "deadlocked": each.is_deadlocked,
            "new": diagnostic_data.of_all(each.new),
            "solved": diagnostic_data.of_all(each.solved),
            "rendered": each.is_rendered,
        }
        for each in analyses
    ]


# A move that was rehearsed, as text and as data.


_MOVE_REHEARSAL_SHOWN = 10
_BESIDE = 16
"""Cells of labels, and some more for the edge."""


def rehearsal_text(told: RehearsedMove, *, columns: int = 0) -> str:
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


def rehearsal_data(told: RehearsedMove) -> MoveRehearsalData:
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
    more = [f"and {len(found) - _MOVE_REHEARSAL_SHOWN} more"] if len(found) > _MOVE_REHEARSAL_SHOWN else []
    return [*found[:_MOVE_REHEARSAL_SHOWN], *more]
