"""The record of a change for people: a page of Markdown that can be put into a repo, a ticket or a mail.

Titles, reasons and messages may be a stranger's: they are shown as they are and obeyed by nobody.
"""

import datetime
from collections.abc import Iterable

from firstlight.commands.change import change_record
from firstlight.commands.change.change_record import ChangePart, ChangeRecord, ChangeStep
from firstlight.commands.decide.markdown import code, words
from firstlight.model.decision import ChangeCheck, CheckState


def record_markdown(record: ChangeRecord) -> str:
    """The page."""
    parts = [
        [f"# {words(record.title)}", ""],
        _facts(record),
        ["", "## Why", "", words(record.why) or "nobody said", ""],
        _files(record),
        _merges(record.parts),
        _checks(record.checks),
        _steps(record.steps),
    ]
    return "\n".join(line for part in parts for line in part).rstrip("\n") + "\n"


def moment(at: float) -> str:
    """A time for people, the same wherever they are; empty where it is none."""
    return datetime.datetime.fromtimestamp(at, tz=datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if at else ""


def _facts(record: ChangeRecord) -> list[str]:
    facts = {
        "Change": code(record.id),
        "Standing": f"**{record.standing}**{f': {words(record.failure)}' if record.failure else ''}",
        "By": words(record.who),
        "Path": f"{record.path}, {words(record.side or 'no side')}, risk {words(record.risk)}",
        "Emergency": words(record.emergency),
        "Rules": ", ".join(code(each) for each in record.rules),
        "Approval": words(record.approval),
        "Clusters": ", ".join(code(each) for each in record.clusters),
        "Held": ", ".join(code(each) for each in record.held),
        "Begun": moment(record.begun),
        "Ended": moment(record.ended),
        "Although checks failed": words(record.anyway),
        "Without a backup": words(record.without_backup),
        "Incident record": code(record.incident) if record.incident else "",
    }
    return ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts.items() if value)]


def _files(record: ChangeRecord) -> list[str]:
    if not record.files:
        return []
    base = f" Stands on {code(record.base[:12])}." if record.base else ""
    return ["## What", "", *_listed(code(each) for each in record.files), "", *([base.strip(), ""] if base else [])]


def _merges(parts: Iterable[ChangePart]) -> list[str]:
    lines = []
    for each in parts:
        said = [
            f"{word} {code(commit[:12])}"
            for word, commit in (("commit", each.commit), ("merged as", each.merged), ("reverted by", each.reverted))
            if commit
        ]
        where = f"{code(each.cluster)}: " if each.cluster else ""
        lines.append(f"{where}branch {code(each.branch)}, {', '.join(said) or 'not committed'}" if each.branch else "")
    return ["## Git", "", *_listed(each for each in lines if each), ""] if any(lines) else []


def _checks(checks: Iterable[ChangeCheck]) -> list[str]:
    rows = [
        f"| {each.moment} | {words(each.title)} | {each.state} "
        f"| {'<br>'.join(map(words, (each.says, *each.details)))} |"
        for each in checks
    ]
    return ["## Checks", "", "| when | check | | found |", "|---|---|---|---|", *rows, ""] if rows else []


def _steps(steps: Iterable[ChangeStep]) -> list[str]:
    rows = [
        f"| {moment(each.begun)} | {code(each.cluster) if each.cluster else 'Git'} | {words(each.title)} "
        f"| {each.verdict or 'begun'} | {change_record.seconds(each)} | {words(each.says)} |"
        for each in steps
    ]
    head = ["| when | where | step | | took | |", "|---|---|---|---|---|---|"]
    return ["## Steps", "", *head, *rows, ""] if rows else []


def _listed(lines: Iterable[str]) -> list[str]:
    return [f"- {each}" for each in lines]


# The incident record of a change that was carried through in an emergency, with the same questions as an override's.
#
# What is known is written, what people must say is left open.


def incident_markdown(record: ChangeRecord, *, cluster: str) -> str:
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
        "## Checks", "", *_change_incident_checks(record), "",
        "## Deviations from the usual way", "", *_deviations(record), "",
        "## Cause", "", "_To fill in: what broke, and why._", "",
        "## Follow-ups", "",
        "- [ ] _To fill in: what keeps it from coming back, who does it, by when_",
        *(["- [ ] Have it reviewed now: nobody has before"] if not _is_approved(record) else []), "",
    ]  # fmt: skip
    return "\n".join(lines)


def _change_incident_checks(record: ChangeRecord) -> list[str]:
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
