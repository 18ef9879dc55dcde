"""The incident record of a change that was carried through in an emergency, with the same questions as an override's.

What is known is written, what people must say is left open.
"""

from firstlight.model.change_record import ChangeRecord
from firstlight.model.decision import CheckState
from firstlight.report.change_markdown import moment
from firstlight.report.decision_markdown import code, words


def markdown(record: ChangeRecord, *, cluster: str) -> str:
    """The record.

    Args:
        record: The change.
        cluster: In which the emergency was.
    """
    git = next((each for each in record.parts if each.cluster in ("", cluster)), None)
    merged = git.merged if git is not None else ""
    rows = {
        "Emergency": words(record.emergency),
        "Reason": words(record.why),
        "Begun": f"{moment(record.begun)} by {words(record.who)}",
        "Over": moment(record.ended) or "no",
        "How": f"{record.standing}: the engine worked, so that Git was changed and reconciled at once",
        "Commit that has it": code(merged[:12]) if merged else "none",
        "Taken back by": code(record.reverted[:12]) if record.reverted else "",
        "Change": code(record.id),
    }
    lines = [
        f"# Expedited change {code(record.id)} of {code(cluster)}", "",
        "| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows.items() if value), "",
        "## What was changed", "", *(f"- {code(each)}" for each in record.files), "",
        "## Checks", "", *_checks(record), "",
        "## Deviations from the usual way", "", *_deviations(record), "",
        "## Cause", "", "_To fill in: what broke, and why._", "",
        "## Follow-ups", "",
        "- [ ] _To fill in: what keeps it from coming back, who does it, by when_",
        *(["- [ ] Have it reviewed now: nobody has before"] if not _is_approved(record) else []), "",
    ]  # fmt: skip
    return "\n".join(lines)


def _checks(record: ChangeRecord) -> list[str]:
    found = [each for each in record.checks if each.state is not CheckState.SKIPPED]
    return [f"- {each.moment}, {words(each.title)}: {each.state}: {words(each.says)}" for each in found] or ["None."]


def _deviations(record: ChangeRecord) -> list[str]:
    found = [] if _is_approved(record) else [f"merged without waiting for a review: {words(record.approval)}"]
    found += [f"checks before it failed: {words(record.anyway)}"] if record.anyway else []
    found += [f"without a backup: {words(record.without_backup)}"] if record.without_backup else []
    found += [f"it failed: {words(record.failure)}"] if record.failure else []
    return [f"- {each}" for each in found] or ["None."]


def _is_approved(record: ChangeRecord) -> bool:
    return "not waited for" not in record.approval
