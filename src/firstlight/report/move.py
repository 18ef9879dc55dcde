"""A move as text and as data: who needs the component, what a cold start makes of it, what to edit, what comes next."""

from collections.abc import Sequence
from typing import Any

from firstlight.model.move import Analysis, Instruction, Relocation, Seat, Split
from firstlight.model.plan import Problem
from firstlight.report import plan as plans
from firstlight.report import plan_data, safe, table

_SHOWN = 4
_NARROWEST = 30
"""Cells of a column of words."""


def text(
    component: str,
    analyses: Sequence[Analysis],
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
    wish: Relocation | Split,
    passed: Sequence[tuple[str, str, str, str]],
    new: Sequence[Problem],
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


def _rows(each: Analysis) -> list[tuple[str, str]]:
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


def _problems(found: Sequence[Problem], columns: int) -> list[str]:
    return [f"  {line}" for block in plans.problems(list(found), columns=columns - 2) for line in block]


def data(analyses: Sequence[Analysis]) -> list[dict[str, Any]]:
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
            "new": [plan_data.problem(one) for one in each.new],
            "solved": [plan_data.problem(one) for one in each.solved],
            "rendered": each.is_rendered,
        }
        for each in analyses
    ]
