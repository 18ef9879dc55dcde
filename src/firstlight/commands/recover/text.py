"""An assessment and a drill as text and as data: parts from the outside in, what is broken, the ways back."""

from collections.abc import Iterable, Sequence

from firstlight.commands.doctor import data as doctor_data
from firstlight.commands.doctor.symptoms import RootCause
from firstlight.commands.recover import options
from firstlight.commands.recover.assessment import Assessment, DrillResult, OptionNeed, PartCondition, RecoveryOption
from firstlight.commands.recover.output_form import AssessmentData, DrillData, OptionData
from firstlight.drawing import clock, safe, table

_SIGNS = {PartCondition.WELL: "✔", PartCondition.BROKEN: "✘", PartCondition.FOLLOWS: "▸", PartCondition.UNSEEN: "·"}
_MET = {True: "✔", False: "✘", None: "·"}
_LABEL = 10
_NAMED = 2
"""Consequences that are named."""


def text(found: Assessment, *, now: float, columns: int = 0) -> str:
    """The whole page.

    Args:
        found: The assessment.
        now: When it was made.
        columns: How wide the terminal is; 0 for lines of any length.
    """
    wide = columns or 10_000
    blocks = [[_title(found)], _parts(found, columns)]
    blocks += [_cause(each, found, now=now, columns=wide) for each in found.causes]
    blocks += [_option(number, each, columns=wide) for number, each in enumerate(found.options, 1)]
    blocks.append(_foot(found, wide))
    return "\n\n".join("\n".join(each) for each in blocks if each)


def _title(found: Assessment) -> str:
    name = safe.name(found.cluster)
    if found.is_blind:
        return f"{name}   nothing could be looked at"
    if not found.causes:
        return f"{name}   ✔ nothing is broken" + (" in what could be looked at" if found.unseen else "")
    follows = sum(len(each.effects) for each in found.causes)
    broken = f"{len(found.causes)} thing{'s are' if len(found.causes) > 1 else ' is'} broken"
    return f"{name}   {broken}" + (f", {_count(follows, 'consequence')}" if follows else "")


def _parts(found: Assessment, columns: int) -> list[str]:
    rows = [[f"{_SIGNS[each.condition]} {each.name}", each.condition.value, _flat(each.says)] for each in found.parts]
    return table.render(rows, indent="  ", columns=columns)


def _cause(cause: RootCause, found: Assessment, *, now: float, columns: int) -> list[str]:
    first, *rest = table.wrap(_flat(cause.symptom.message), columns - 4)
    lines = [f"  ✘ {first}", *(f"    {each}" for each in rest)]
    if cause.symptom.since:
        lines += _beside("since", [clock.span(now - cause.symptom.since)])
    shown = [_flat(each.message) for each in cause.effects[:_NAMED]]
    if left := len(cause.effects) - len(shown):
        shown.append(f"and {left} more: firstlight doctor {safe.name(found.cluster)} --all")
    lines += _labelled("so that", shown, columns)
    if not any(cause.symptom.key in each.answers and each.is_possible for each in found.options):
        lines += _typed("by hand", [each.command for each in cause.symptom.next], columns)
    return lines


def _option(number: int, option: RecoveryOption, *, columns: int) -> list[str]:
    what = f" {safe.name(option.on)}" if option.on else ""
    head = f"  {number} {option.name}{what}" + ("   by hand" if option.is_by_hand else "")
    lines = [head if option.is_possible else f"{head}   not now"]
    lines += _labelled("does", [_flat(option.does)], columns)
    lines += _labelled("risk", [_flat(option.risk)], columns)
    lines += _labelled("needs", [_need(each) for each in option.needs], columns)
    return lines + _typed("type", option.commands, columns)


def _need(need: OptionNeed) -> str:
    return f"{_MET[need.is_met]} {_flat(need.says)}"


def _foot(found: Assessment, columns: int) -> list[str]:
    took = f" in {found.seconds:.1f} s" if found.seconds else ""
    lines = _labelled("looked at", [f"{', '.join(found.looked)}{took}"] if found.looked else [], columns, indent="  ")
    return lines + _labelled("not seen", [_flat(each) for each in found.unseen], columns, indent="  ")


def _typed(label: str, commands: Iterable[str], columns: int) -> list[str]:
    cells = columns - 4 - _LABEL
    return _beside(label, [line for each in commands for line in table.wrapped_command(safe.name(each), cells)])


def _labelled(label: str, rows: Sequence[str], columns: int, *, indent: str = "    ") -> list[str]:
    lines: list[str] = []
    for each in rows:
        first, *rest = table.wrap(each, columns - 4 - _LABEL)
        lines += [first, *(f"  {line}" for line in rest)]
    return _beside(label, lines, indent=indent)


def _beside(label: str, lines: Sequence[str], *, indent: str = "    ") -> list[str]:
    if not lines:
        return []
    first, *rest = lines
    left = 4 + _LABEL  # all texts begin in the same column
    return [f"{f'{indent}{label}':<{left}}{first}", *(f"{'':<{left}}{each}" for each in rest)]


def _flat(value: str) -> str:
    return " ".join(safe.text(value).split())


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


# A drill, and the list of those that there are, as text and as data.


_SHOWN = 10
_HEAD = ["scenario", "option", "what is broken, and how"]


def drill_text(drilled: DrillResult, what: str, *, how: str, untried: str = "", recorded: str = "") -> str:
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


def _verdict(drilled: DrillResult) -> str:
    if drilled.code:
        return f"✘ not repaired (exit code {drilled.code})"
    return "✔ repaired, nothing lost" if drilled.is_fine else "✘ repaired, with something lost"


def drill_data(drilled: DrillResult, *, untried: str = "", recorded: str = "") -> DrillData:
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


def drill_list(rows: Sequence[tuple[str, str, str, str]], *, columns: int = 0) -> str:
    """The scenarios: id, what is broken, how it is made, what repairs it."""
    return "\n".join(
        "\n".join(each)
        for each in table.wrapped(
            [_HEAD, *([id, option, f"{what}: {how}"] for id, what, how, option in rows)], indent="  ", columns=columns
        )
    )


def data(found: Assessment) -> AssessmentData:
    """Everything that was found."""
    return {
        "cluster": found.cluster,
        "fine": not found.causes and not found.is_blind,
        "blind": found.is_blind,
        "parts": [{"name": each.name, "condition": each.condition.value, "says": each.says} for each in found.parts],
        "broken": [{**doctor_data.cause_data(each), "part": options.part_of(each.symptom)} for each in found.causes],
        "options": [_option_data(each) for each in found.options],
        "looked": list(found.looked),
        "unseen": list(found.unseen),
        "seconds": round(found.seconds, 3),
    }


def _option_data(found: RecoveryOption) -> OptionData:
    return {
        "name": found.name,
        "on": found.on,
        "does": found.does,
        "risk": found.risk,
        "needs": [{"says": each.says, "met": each.is_met} for each in found.needs],
        "possible": found.is_possible,
        "byHand": found.is_by_hand,
        "answers": list(found.answers),
        "commands": list(found.commands),
    }
