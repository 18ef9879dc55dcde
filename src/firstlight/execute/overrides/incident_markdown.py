"""The incident record of an override as Markdown: what is known is written, what people must say is left open."""

import datetime

from firstlight.drawing import safe
from firstlight.model.override import Override, OverrideStanding

_WAYS = {
    OverrideStanding.ENDED: "ended: Git and cluster agreed, and the engine has gone on",
    OverrideStanding.ABORTED: "aborted: everything is as it was before",
    OverrideStanding.GONE: "gone: its cluster was taken down before it was over",
}


def incident_markdown(override: Override) -> str:
    """The record."""
    way = (
        "ended: Git's form was put back"
        if override.is_discarded and override.standing is OverrideStanding.ENDED
        else _WAYS.get(override.standing, "open")
    )
    lines = [
        f"# Override {override.id} of {safe.name(override.cluster)}",
        "",
        "| | |",
        "| --- | --- |",
        f"| Emergency | {override.emergency} |",
        f"| Reason | {_cell(override.reason)} |",
        f"| Begun | {_time(override.begun)} by {_cell(override.who)} |",
        f"| Was to end | {_time(override.until)} |",
        f"| Over | {_time(override.ended)} by {_cell(override.ended_by)} |" if override.ended else "| Over | no |",
        f"| How | {way} |",
        f"| Commit that has it | {_cell(override.revision or 'none')} |",
        f"| Scope | {_cell(', '.join(override.scope))} |",
        "",
        "## What rested",
        "",
        *([f"- {_cell(str(each))}: {_cell(each.why)}" for each in override.held] or ["Nothing."]),
        "",
        "## What was changed past Git",
        "",
        *_changes(override),
        "## Before and after",
        "",
        *_fields(override),
        "",
        "## Deviations from the usual way",
        "",
        f"- changed past Git for {_span(override)}, without a review before",
        *(f"- {_cell(each)}" for each in override.notes),
        *(["- stood longer than it was to"] if override.ended > override.until else []),
        "",
        "## Cause",
        "",
        "_To fill in: what broke, and why._",
        "",
        "## Follow-ups",
        "",
        "- [ ] _To fill in: what keeps it from coming back, who does it, by when_",
        "",
    ]
    return "\n".join(lines)


def _changes(override: Override) -> list[str]:
    if not override.changes:
        return ["Nothing.", ""]
    lines = []
    for each in override.changes:
        what = "deleted" if each.is_deleted else "created" if each.is_new else "changed"
        fields = f": {_cell(', '.join(each.fields))}" if each.fields else ""
        lines.append(f"- {_time(each.at)} {_cell(each.who)} {what} {_cell(str(each.object))}{fields}")
    return [*lines, ""]


def _fields(override: Override) -> list[str]:
    if not override.fields and override.standing is OverrideStanding.GONE:
        return ["Nobody has looked before the cluster was gone."]
    if not override.fields:
        return ["No field differed."]
    return [
        "| Object | Field | Before | After |",
        "| --- | --- | --- | --- |",
        *(
            f"| {_cell(str(each.object))} | {_cell(each.field)} | {_cell(each.before)} | {_cell(each.after)} |"
            for each in override.fields
        ),
    ]


def _cell(text: str) -> str:
    return safe.name(text).replace("|", "\\|").replace("<", "&lt;")


def _time(at: float) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _span(override: Override) -> str:
    seconds = int((override.ended or override.until) - override.begun)
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds % 60} s"
