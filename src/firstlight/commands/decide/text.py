"""A decision as text: the answer, each change with its reason, the way through the tree, and what to do."""

from collections.abc import Sequence

from firstlight.drawing import decision_words, table
from firstlight.model.change import ChangeVerb, Level
from firstlight.model.decision import ChangeCheck, CheckState, Decision, DecisionItem, ProcedureStep, Ruling

_ITEMS = 12
"""Changes that are shown before the rest is counted."""
_ALIKE = 4
"""Of what one rule says of one file, that is shown one by one."""
_NAMES = 8
_DOUBTS = 5
_DETAILS = 4
_WIDE = 110
"""Columns from which on a reason stands beside its file, not below it."""
MARKS = {
    CheckState.PASSED: "✔",
    CheckState.FAILED: "✘",
    CheckState.PERSON: "☐",
    CheckState.SKIPPED: "–",
    CheckState.OPEN: "☐",
}


def text(decision: Decision, *, columns: int, everything: bool = False) -> str:
    """The whole answer.

    Args:
        decision: The answer.
        columns: How wide the terminal is.
        everything: All changes with all of their fields, and all that is affected, by name.
    """
    lines = _head(decision, columns)
    if not decision.items:
        return "\n".join([*lines, *_doubts(decision, columns, everything=everything)])
    lines += _items(decision, columns, everything=everything)
    lines += _rendered(decision, columns, everything=everything)
    lines += _why(decision, columns, everything=everything)
    lines += procedure("do", decision.procedure, columns=columns, everything=everything)
    lines += procedure("back", decision.rollback, columns=columns, everything=everything)
    lines += checks(decision.checks, columns=columns, everything=everything)
    lines += _affected(decision, columns, everything=everything)
    lines += _approved(decision, columns)
    return "\n".join([*lines, *_doubts(decision, columns, everything=everything)])


def procedure(label: str, steps: Sequence[ProcedureStep], *, columns: int, everything: bool = False) -> list[str]:
    """Numbered steps; a command that does not fit goes on behind a backslash, so that it can still be copied.

    Args:
        label: What stands before them.
        steps: In their order.
        columns: How wide the terminal is.
        everything: Every step, where else one stands for those that only differ in names.
    """
    groups = [[each] for each in steps] if everything else decision_words.alike(steps)
    is_split = len({each.side for each in steps if each.side is not None}) > 1
    lines: list[str] = []
    for number, group in enumerate(groups, start=1):
        side = f"{group[0].side or '':<9}  " if is_split else ""
        head = f"{number:>{len(str(len(groups)))}} {side}"
        room = columns - 2 - table.LABEL - len(head)
        command, said = decision_words.plain(group[0].command), decision_words.plain(group[0].text)
        if command and table.width(f"{command}   {said}") <= room:
            lines.append(f"{head}{command}   {said}".rstrip())
        elif command:
            first, *more = table.wrapped_command(command, room)
            more += table.wrap(said, room) if said else []
            lines += [f"{head}{first}", *(" " * len(head) + each for each in more)]
        else:
            lines += _hanging(head, said, room)
        if len(group) > 1:
            lines += [" " * len(head) + each for each in table.wrap(f"the same for {_others(group)}", room)]
    return table.labelled(label, lines)


def _others(group: Sequence[ProcedureStep]) -> str:
    """What the commands after the first one name instead."""
    rows = [decision_words.plain(each.command).split() for each in group]
    varying = [number for number, column in enumerate(zip(*rows, strict=True)) if len(set(column)) > 1]
    names = [" ".join(row[number] for number in varying) for row in rows[1:]]
    more = f", and {len(names) - _NAMES} more: --everything" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more


def checks(found: Sequence[ChangeCheck], *, columns: int, everything: bool = False) -> list[str]:
    """What is to be looked at before and after; what did not pass with what is to be said of it."""
    lines: list[str] = []
    for moment, word in decision_words.MOMENTS.items():
        mine = [each for each in found if each.moment == moment]
        if not mine:
            continue
        lines += _flowing(
            f"{word:<6} ", [f"{MARKS[each.state]} {decision_words.plain(each.title)}" for each in mine], columns - 13
        )
        for each in mine:
            if each.says and each.state not in (CheckState.PASSED, CheckState.OPEN):
                where = f"{each.place}: " if each.place is not None and each.state is CheckState.FAILED else ""
                said = decision_words.plain(f"{each.title}: {where}{each.says}")
                lines += _hanging(f"  {MARKS[each.state]} ", said, columns - 17)
                lines += _details(each, columns, everything=everything)
    return table.labelled("checks", lines)


def _details(check: ChangeCheck, columns: int, *, everything: bool) -> list[str]:
    shown = check.details if everything else check.details[:_DETAILS]
    lines = [line for each in shown for line in _hanging("      ", decision_words.plain(each), columns - 19)]
    more = len(check.details) - len(shown)
    return [*lines, *([f"      … and {more} more: --everything"] if more else [])]


def _head(decision: Decision, columns: int) -> list[str]:
    first, facts = decision_words.verdict(decision), decision_words.counts(decision)
    title = decision_words.plain(decision.title)
    if not decision.items:
        said = table.wrap(f"{first}: {title}" if title else first, columns)
        return [*said, "side none, no approval needed"]
    space = columns - table.width(first) - table.width(facts)
    lines = [f"{first}{' ' * space}{facts}".rstrip()] if space >= 3 else [first, f"  {facts}"]
    said = [title, *([_gravest(decision)] if len(decision.items) > 1 else [])]
    return [*lines, *(f"  {line}" for each in said if each for line in table.wrap(each, columns - 2))]


def _gravest(decision: Decision) -> str:
    """What the answer is as grave for as it is."""
    return f"riskiest: {decision_words.reason(decision.items[0])}"


def _items(decision: Decision, columns: int, *, everything: bool) -> list[str]:
    found = (
        [[each] for each in decision_words.listed(decision.items)]
        if everything
        else _grouped(decision_words.listed(decision.items))
    )
    shown = found if everything else found[:_ITEMS]
    is_wide = columns >= _WIDE
    room = columns // 3 if is_wide else columns - 2 - 3 - 9 - 3 - 8
    rows = [
        (shortened(decision_words.named(each[0]), room), decision_words.side_word(each[0].side), str(each[0].risk))
        for each in shown
    ]
    widths = [max((table.width(row[n]) for row in rows), default=0) for n in range(3)]
    lines = []
    for group, row in zip(shown, rows, strict=True):
        cells = [cell + " " * (widths[n] - table.width(cell)) for n, cell in enumerate(row)]
        head = "  " + table.GAP.join(cells)
        reasons = _reasons(group, everything=everything)
        if is_wide:
            left = table.width(head) + 3
            told = [line for each in reasons for line in table.wrap(each, columns - left)]
            lines += [f"{head}   {told[0]}", *(" " * left + each for each in told[1:])]
        else:
            lines += [head.rstrip(), *("      " + line for each in reasons for line in table.wrap(each, columns - 6))]
    if len(found) > len(shown):
        rest = [item for group in found[len(shown) :] for item in group]
        lines.append(f"  … and {len(rest)} more, at most {max(each.risk for each in rest)} risk: --everything")
    return lines


def _grouped(items: Sequence[DecisionItem]) -> list[list[DecisionItem]]:
    """Changes that follow each other, stand in one file, and of which one rule says the same, together."""
    groups: list[list[DecisionItem]] = []
    for each in items:
        if groups and _sort(groups[-1][0]) == _sort(each):
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups


def _sort(item: DecisionItem) -> tuple[object, ...]:
    ruling = item.rulings[0]
    return decision_words.named(item), item.side, item.risk, ruling.rule, tuple(_whys(ruling))


def _reasons(group: Sequence[DecisionItem], *, everything: bool) -> list[str]:
    """What differs, and then why that matters."""
    if len(group) == 1:
        first = group[0]
        return [decision_words.reason(first), *_whys(first.rulings[0]), *_further(first, everything=everything)]
    told = [", ".join([decision_words.reason(each), *_further(each, everything=False)]) for each in group[:_ALIKE]]
    more = [f"… and {len(group) - _ALIKE} more of these: --everything"] if len(group) > _ALIKE else []
    return [*told, *more, *_whys(group[0].rulings[0])]


def _whys(ruling: Ruling) -> list[str]:
    return [
        decision_words.plain(ruling.why),
        *(f"{each.risk}: {decision_words.plain(each.why)}" for each in ruling.factors),
    ]


def _further(item: DecisionItem, *, everything: bool) -> list[str]:
    """The fields beside the gravest one."""
    if everything:
        answers = [
            (each, f"{decision_words.side_word(each.side)}, {each.risk}, rule {decision_words.plain(each.rule)}")
            for each in item.rulings[1:]
        ]
        return [
            f"{decision_words.what(item.change, each)}: {answer}: {decision_words.plain(each.why)}"
            for each, answer in answers
        ]
    return decision_words.further_fields(item)


def _rendered(decision: Decision, columns: int, *, everything: bool) -> list[str]:
    """What really changes in the cluster."""
    found = [each for each in decision.items if each.change.level == Level.RENDERED]
    if not found:
        return []
    verbs = [(verb, [each for each in found if each.change.verb == verb]) for verb in ChangeVerb]
    said = ", ".join(f"{len(mine)} {verb}" for verb, mine in verbs if mine and len(mine) < len(found))
    only = next((verb for verb, mine in verbs if len(mine) == len(found)), None)
    head = (
        f"{decision_words.number(len(found), 'object')} {only or 'differ'} in the "
        f"cluster{f' ({said})' if said else ''}: "
    )
    shown = found if everything else found[:_NAMES]
    is_several = len({each.change.cluster for each in found}) > 1
    names = [f"{decision_words.rendered_name(each, with_cluster=is_several)} ({each.risk})" for each in shown]
    more = [f"and {len(found) - len(shown)} more: --everything"] if len(found) > len(shown) else []
    return table.labelled("rendered", table.wrap(head + ", ".join([*names, *more]), columns - 2 - table.LABEL))


def _why(decision: Decision, columns: int, *, everything: bool) -> list[str]:
    """The way through the trees for the gravest of each side, with the rule that decided."""
    lines: list[str] = []
    room = columns - 2 - table.LABEL
    for ruling in decision_words.gravest(decision.items):
        rule = f"rule {decision_words.plain(ruling.rule)}"
        said = [
            decision_words.told_way(each, ruling)
            for each in (ruling.trees if everything else decision_words.telling(ruling))
        ]
        first, *others = said or ["no cluster has it" if ruling.side is None else str(ruling.side)]
        wrapped = table.wrap(first, room)
        if table.width(wrapped[-1]) + 3 + table.width(rule) <= room:
            wrapped[-1] += " " * (room - table.width(wrapped[-1]) - table.width(rule)) + rule
        else:
            wrapped.append(rule.rjust(room))
        lines += [
            *wrapped,
            *(line for each in [*others, *decision_words.criteria(ruling)] for line in table.wrap(each, room)),
        ]
    return table.labelled("why", lines)


def _affected(decision: Decision, columns: int, *, everything: bool) -> list[str]:
    lines: list[str] = []
    for label, found in (("affected", decision.affected), ("brings", decision.brought)):
        names = [decision_words.plain(each) for each in found]
        shown = names if everything else names[:_NAMES]
        more = [f"and {len(names) - len(shown)} more: --everything"] if len(names) > len(shown) else []
        if names:
            lines += table.labelled(label, table.wrap(", ".join([*shown, *more]), columns - 2 - table.LABEL))
    return lines


def _approved(decision: Decision, columns: int) -> list[str]:
    if decision.approved is None:
        return []
    mark = "✔" if decision.approved.is_given else "✘"
    by = "".join(f"; {decision_words.plain(each)}" for each in decision.approved.by)
    return table.labelled(
        "approval", _hanging(f"{mark} ", f"{decision_words.plain(decision.approved.says)}{by}", columns - 15)
    )


def _doubts(decision: Decision, columns: int, *, everything: bool) -> list[str]:
    shown = decision.doubts if everything else decision.doubts[:_DOUBTS]
    lines = [
        line for each in shown for line in _hanging("! ", decision_words.plain(each), columns - 2 - table.LABEL - 2)
    ]
    if len(decision.doubts) > len(shown):
        lines.append(f"… and {len(decision.doubts) - len(shown)} more: --everything")
    return table.labelled("not seen", lines)


def shortened(path: str, cells: int) -> str:
    """A path that fits: its beginning and its end, with what is between left out."""
    if table.width(path) <= cells:
        return path
    first, *rest = path.split("/")
    for count in range(len(rest) - 1, 0, -1):
        candidate = "/".join([first, "…", *rest[-count:]])
        if table.width(candidate) <= cells:
            return candidate
    kept = path.rpartition("/")[2]
    while kept and table.width(kept) > cells - 1:
        kept = kept[1:]
    return f"…{kept}"


def _hanging(head: str, said: str, room: int) -> list[str]:
    first, *rest = table.wrap(said, max(room, 10))
    return [f"{head}{first}", *(" " * table.width(head) + each for each in rest)]


def _flowing(head: str, parts: Sequence[str], cells: int) -> list[str]:
    """Parts beside each other, none of them broken unless it is too long by itself."""
    lines, line = [], head
    for each in parts:
        joined = f"{line}  {each}" if line.strip() and line != head else f"{line}{each}"
        if table.width(joined) > cells and line.strip() and line != head:
            lines.append(line)
            joined = " " * len(head) + each
        line = table.cut(joined, cells)
    return [*lines, line]
