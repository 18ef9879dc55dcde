"""Changes as text: one in short, and all of them in a list."""

from collections.abc import Sequence

from firstlight.commands.change import change_record
from firstlight.commands.change.change_record import ChangeRecord, ChangeStanding
from firstlight.commands.change.markdown import moment
from firstlight.commands.decide import text as decide_text
from firstlight.drawing import decision_words, safe, table
from firstlight.model.decision import ChangeCheck, CheckState, Decision

_FILES = 6
_FEW = 3


def ahead(found: Decision, record: ChangeRecord, *, columns: int) -> str:
    """What is about to be done, before anybody says yes."""
    files = ", ".join(record.files[:_FILES]) + (" …" if len(record.files) > _FILES else "")
    parts = [("branch", each.branch, each.cluster) for each in record.parts]
    rows = [
        ["path", f"{record.path}: {decision_words.verdict(found)}"],
        ["files", files],
        *(["branch", f"{branch}{f' for {cluster}' if cluster else ''}"] for _, branch, cluster in parts),
        ["into", f"{record.followed} of {record.repository}"],
        ["clusters", ", then ".join(record.clusters) or "none"],
        ["approval", str(found.approval)],
    ]
    lines = [safe.text(record.title)]
    for label, said in rows:
        lines += table.labelled(label, table.wrap(safe.text(said), columns - 2 - table.LABEL))
    return "\n".join(lines)


def change_text(record: ChangeRecord, *, columns: int) -> str:
    """A change in short: how far it is, what failed, and what is next."""
    lines = [f"{record.id}  {record.standing}  {safe.text(record.title)}"]
    rows = [("why", record.why), ("by", record.who), ("path", f"{record.path}, risk {record.risk}")]
    rows += [("approval", record.approval), ("clusters", ", then ".join(record.clusters))]
    rows += [("emergency", record.emergency), ("held", ", ".join(record.held))]
    for part in record.parts:
        said = [f"{word} {commit[:12]}" for word, commit in
                (("", part.commit), ("merged as", part.merged), ("reverted by", part.reverted)) if commit]  # fmt: skip
        rows.append(("git", f"{part.branch} {', '.join(said)}".strip()))
    rows += [("begun", moment(record.begun)), ("ended", moment(record.ended)), ("failed", record.failure)]
    rows += [("incident", record.incident), ("next", next_step(record))]
    for label, text in rows:
        if text:
            lines += table.labelled(label, table.wrap(safe.text(text), columns - 2 - table.LABEL))
    lines += _checks(record.checks, columns)
    lines += _steps(record, columns)
    return "\n".join(lines)


def changes_text(records: Sequence[ChangeRecord], *, columns: int) -> list[str]:
    """All changes, the newest first."""
    rows = [["change", "standing", "path", "clusters", "what"]]
    for each in reversed(records):
        clusters = ", ".join(each.clusters) or "-"
        rows.append([each.id, str(each.standing), str(each.path), clusters, safe.name(each.title)])
    return table.render(rows, columns=columns)


def next_step(record: ChangeRecord) -> str:
    """What to type next; empty where nothing is left to do."""
    match record.standing:
        case ChangeStanding.UNDER_WAY | ChangeStanding.REVERTING:
            return f"firstlight change resume {record.id}"
        case ChangeStanding.FAILED:
            revert = f"firstlight change revert {record.id}" if record.commit else ""
            return " or ".join(filter(None, (revert, f"firstlight change resume {record.id}")))
        case _:
            return ""


def _checks(checks: Sequence[ChangeCheck], columns: int) -> list[str]:
    """Those that need somebody; the others are counted."""
    open_ones = [each for each in checks if each.state in (CheckState.FAILED, CheckState.PERSON)]
    rows = [[decide_text.MARKS[each.state], str(each.moment), safe.name(each.title), safe.text(each.says)]
            for each in open_ones]  # fmt: skip
    passed = sum(each.state is CheckState.PASSED for each in checks)
    lines = [line for row in table.wrapped(rows, columns=columns - 2 - table.LABEL) for line in row] if rows else []
    return table.labelled("checks", [*lines, *([f"{passed} passed"] if passed else [])])


def _steps(record: ChangeRecord, columns: int) -> list[str]:
    rows = [
        [each.verdict or "begun", each.cluster or "git", safe.name(each.title), change_record.seconds(each),
         safe.name(each.says)]
        for each in record.steps
    ]  # fmt: skip
    return table.labelled("steps", table.render(rows, columns=columns - 2 - table.LABEL))
