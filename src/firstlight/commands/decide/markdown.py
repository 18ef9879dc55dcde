"""A decision as a comment on a pull request: a line, a table, and the rest to be opened.

Everything here may come from a stranger's branch. So whatever is not a plain letter is written as a number, which no
Markdown or HTML takes for markup, and names stand in ``code``, where nobody is called by ``@``.
"""

import re
from collections.abc import Iterable, Sequence

from firstlight.drawing import decision_words
from firstlight.model.change import Level
from firstlight.model.decision import ChangeCheck, CheckState, Decision, DecisionItem, ProcedureStep, Ruling

MARK = "<!-- firstlight decide -->"
"""By which a comment is known again, so that it can be replaced."""
_ITEMS = 30
_NAMES = 60
_DOUBTS = 30
_LARGEST = 60_000
"""Characters of a comment; GitHub takes 65,536."""
_TABLE, _SHORT = 25_000, 6_000
"""How many of these the table may have; and the doubts, or the names of those who have approved."""
_SAID = 1_000
"""Characters of one thing that is said, each of which may become ten."""
_PLAIN = re.compile(r":(?! |$)|[^A-Za-z0-9 ,;.?()/›…–':-]")
"""What is written as a number. A colon before a space is none of an address or of an emoji, and is read by people who
see the comment as it is sent, too."""
_RUN = re.compile("`+")


def text(decision: Decision) -> str:
    """The comment."""
    head = [MARK, f"### {decision_words.verdict(decision)}", "", _about(decision), ""]
    if not decision.items:
        return "\n".join([*head, *_doubts(decision)])
    rest = [*_approved(decision), *_doubts(decision)]
    parts = [
        _why(decision),
        _steps("What to do", decision.procedure),
        _steps("The way back", decision.rollback),
        _checks(decision.checks),
        _affected(decision),
    ]
    body = [*head, *_table(decision.items)]
    rendered = _rendered(decision)
    body += [*rendered, *rest] if _size([*body, *rendered, *rest]) <= _LARGEST else rest
    for part in parts:
        if _size([*body, *part]) > _LARGEST:
            body += ["", "More is not shown here, since a comment cannot be longer: <code>firstlight decide</code>"]
            break
        body += part
    return "\n".join(body)


def words(value: str) -> str:
    """A stranger's words, shown as they are and obeyed by nobody."""
    made = _PLAIN.sub(lambda match: f"&#{ord(match.group())};", _clipped(value))
    # Whoever shows the comment looks for these once more in what has come of it.
    return made.replace("&#64;", "&#64;&#8203;").replace("&#35;", "&#35;&#8203;").replace("www.", "&#119;ww.")


def code(value: str) -> str:
    """A stranger's name in a fixed width."""
    made = _PLAIN.sub(lambda match: f"&#{ord(match.group())};", _clipped(value))
    return f"<code>{made.replace('www.', '&#119;ww.')}</code>"


def _about(decision: Decision) -> str:
    found = [each for each in (decision.title, decision_words.counts(decision)) if each]
    return words(": ".join(found))


def _table(items: Sequence[DecisionItem]) -> list[str]:
    listed = decision_words.listed(items)
    head, rows = ["| file | side | risk | what, and why |", "|---|---|---|---|"], list[str]()
    for item in listed[:_ITEMS]:
        gravest = item.rulings[0]
        said = [decision_words.reason(item), gravest.why, *(f"{each.risk}: {each.why}" for each in gravest.factors)]
        said += decision_words.further_fields(item)
        cells = [code(decision_words.named(item)), decision_words.side_word(item.side), f"**{item.risk}**"]
        rows.append(f"| {' | '.join([*cells, '<br>'.join(words(each) for each in said)])} |")
    rows = _first(rows, _TABLE)
    left = [f"| … and {len(listed) - len(rows)} more | | | |"] if len(listed) > len(rows) else []
    return [*head, *rows, *left, ""]


def _rendered(decision: Decision) -> list[str]:
    found = [each for each in decision.items if each.change.level == Level.RENDERED]
    if not found:
        return []
    noun = "object differs" if len(found) == 1 else "objects differ"
    is_several = len({each.change.cluster for each in found}) > 1
    rows = []
    for each in found[:_ITEMS]:
        name = code(decision_words.rendered_name(each, with_cluster=is_several))
        answer = f"{each.change.verb}, {decision_words.side_word(each.side)}, {each.risk}"
        rows.append(f"- {name} {answer}: {words(each.rulings[0].why)}")
    more = [f"- … and {len(found) - _ITEMS} more"] if len(found) > _ITEMS else []
    return _folded(f"In the cluster {len(found)} {noun}", [*rows, *more])


def _why(decision: Decision) -> list[str]:
    lines = []
    for ruling in decision_words.gravest(decision.items):
        lines.append(f"- **{decision_words.side_word(ruling.side)}** by rule {code(ruling.rule)}: {words(ruling.why)}")
        lines += _trees(ruling)
    return _folded("Why", lines)


def _trees(ruling: Ruling) -> list[str]:
    told = [decision_words.told_way(each, ruling) for each in ruling.trees]
    return [f"  - {words(each)}" for each in [*told, *decision_words.criteria(ruling)]]


def _steps(title: str, steps: Sequence[ProcedureStep]) -> list[str]:
    """Numbered steps; those that only differ in names in one block."""
    is_split = len({each.side for each in steps if each.side is not None}) > 1
    lines: list[str] = []
    for number, group in enumerate(decision_words.alike(steps), start=1):
        half = f"**{group[0].side}** " if is_split and group[0].side is not None else ""
        said = words(group[0].text or "run") if len(group) == 1 else f"{words(group[0].text)}, and so on"
        head = f"{number}. "
        # What belongs to a step stands below its first word, or else the list ends before it.
        indent = " " * len(head)
        lines.append(f"{head}{half}{said}")
        commands = [decision_words.plain(each.command) for each in group if each.command]
        if commands:
            fence = "`" * max(3, 1 + max((len(run) for each in commands for run in _RUN.findall(each)), default=0))
            lines += ["", *(f"{indent}{each}" for each in (f"{fence}sh", *commands, fence)), ""]
    return _folded(title, lines)


def _checks(checks: Sequence[ChangeCheck]) -> list[str]:
    lines: list[str] = []
    for moment, word in decision_words.MOMENTS.items():
        mine = [each for each in checks if each.moment == moment]
        lines += ["", f"**{word}**", ""] if mine else []
        lines += [_check(each) for each in mine]
    return _folded("Checks", lines)


def _check(check: ChangeCheck) -> str:
    box = "x" if check.state == CheckState.PASSED else " "
    state = "" if check.state in (CheckState.PASSED, CheckState.OPEN) else f" ({check.state})"
    said = f": {words(check.says)}" if check.says else ""
    return f"- [{box}] {words(check.title)}{state}{said}"


def _affected(decision: Decision) -> list[str]:
    lines: list[str] = []
    for title, names in (("What depends on it", decision.affected), ("What it brings", decision.brought)):
        more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        shown = [", ".join(code(each) for each in names[:_NAMES]) + more] if names else []
        lines += _folded(f"{title}: {len(names)}", shown)
    return lines


def _approved(decision: Decision) -> list[str]:
    if decision.approved is None:
        return []
    mark = "✔" if decision.approved.is_given else "✘"
    names = _first([f"; {words(each)}" for each in decision.approved.by], _SHORT)
    by = "".join(names) + ("; …" if len(names) < len(decision.approved.by) else "")
    return [f"{mark} {words(decision.approved.says)}{by}", ""]


def _doubts(decision: Decision) -> list[str]:
    if not decision.doubts:
        return []
    shown = _first([f"- {words(each)}" for each in decision.doubts[:_DOUBTS]], _SHORT)
    more = len(decision.doubts) - len(shown)
    shown += [f"- … and {more} more: <code>firstlight decide --everything</code>"] if more else []
    return ["**Not seen**, so that the answer may be too mild:", "", *shown, ""]


def _clipped(value: str) -> str:
    plain = decision_words.plain(value)
    return plain if len(plain) <= _SAID else f"{plain[: _SAID - 1]}…"


def _first(lines: Sequence[str], room: int) -> list[str]:
    """As many lines as fit, from the first on."""
    found: list[str] = []
    for each in lines:
        if _size([*found, each]) > room:
            break
        found.append(each)
    return found


def _size(lines: Sequence[str]) -> int:
    return len("\n".join(lines))


def _folded(title: str, lines: Iterable[str]) -> list[str]:
    """What is opened by a click; the title is our own."""
    found = list(lines)
    return [f"<details><summary>{title}</summary>", "", *found, "", "</details>", ""] if found else []
