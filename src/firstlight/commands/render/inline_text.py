"""An embedding as text and as data: what changes, what was left out, what is wrong, what to do next."""

from collections.abc import Iterator, Sequence
from typing import Any

from firstlight.cli import diagnostic_data
from firstlight.cli.output_form import ObjectData
from firstlight.commands.render.output_form import InlineChangeData, InlineData
from firstlight.drawing import safe, table
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.inline_manifest import Embedding, InlineObjectChange, InlineState, ObjectChangeKind

_STATES = {
    InlineState.FRESH: "fresh",
    InlineState.WRITTEN_OTHERWISE: "the same objects, written otherwise",
    InlineState.STALE: "stale",
    InlineState.ABSENT: "not there yet",
}
_LISTED = 12
"""Objects that are listed one by one."""


def text(
    embedding: Embedding, *, columns: int, is_written: bool = False, is_new: bool = False, has_diff: bool = False
) -> str:
    """The whole story.

    Args:
        embedding: What it comes to.
        columns: How wide the terminal is.
        is_written: Whether the file was changed.
        is_new: Whether the file was not there before.
        has_diff: Whether the differences are shown line by line.
    """
    parts = [
        [title(embedding)],
        table.render([*rows(embedding)], indent="  ", columns=columns),
        [safe.text(line) for each in embedding.changes for line in each.lines] if has_diff else [],
        diagnostic_lines(embedding.diagnostics),
        [*_next(embedding, is_written=is_written, is_new=is_new)],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def title(embedding: Embedding) -> str:
    """What is where, and how it stands."""
    what = "Omni manifest" if embedding.is_omni else "inline manifest"
    where = f" of {embedding.cluster}" if embedding.cluster else ""
    line = f"{embedding.path}   {what} {embedding.name}{where}   {_STATES[embedding.state]}"
    return safe.text(line)


def rows(embedding: Embedding) -> Iterator[list[str]]:
    """What is in it, and what changes."""
    counts = {what: sum(each.what is what for each in embedding.changes) for what in ObjectChangeKind}
    changes = ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing changes"
    before = f" (was {_size(embedding.before)})" if embedding.before not in (0, embedding.after) else ""
    yield ["objects", f"{len(embedding.objects)} in {_size(embedding.after)}{before}: {changes}"]
    for change in _some(embedding.changes):
        yield [change.what, safe.text(str(change.id))]
    yield from _rest(embedding.changes)
    for each in embedding.left_out:
        yield ["left out", safe.text(f"{each.id}: {each.reason}")]
    for id in embedding.added_crds:
        yield ["with", safe.text(f"{id}: it must be served when this starts")]
    for value in _some(embedding.kept):
        yield ["kept", safe.text(f"{value}: every rendering makes another one")]
    yield from _rest(embedding.kept)


def diagnostic_lines(diagnostics: Sequence[Diagnostic]) -> list[str]:
    """What there is to say, errors first."""
    order = [Severity.ERROR, Severity.WARNING, Severity.UNKNOWN]
    lines = []
    for each in sorted(diagnostics, key=lambda each: (order.index(each.severity), each.place)):
        lines.append(safe.text(f"{each.severity:8} {each.place}: {each.message}"))
        if each.fix:
            lines.append(safe.text(f"{'':8} {each.fix}"))
    return lines


def _next(embedding: Embedding, *, is_written: bool, is_new: bool) -> Iterator[str]:
    if embedding.is_refused:
        count = sum(each.severity == Severity.ERROR for each in embedding.diagnostics)
        yield f"refused: {count} error{'s' if count > 1 else ''} above; nothing was written"
    elif is_written:
        path = safe.text(embedding.path)
        # Of a file that Git does not know it shows no diff.
        look = f"the file is new: git add {path}, look at it with git diff --cached {path}"
        yield f"written; {look if is_new else f'look at it with git diff {path}'}, and commit it"
        if embedding.is_omni:
            yield "next: omnictl cluster template sync; Omni applies it once the cluster is healthy"
        else:
            yield f"next: firstlight up {safe.text(embedding.cluster)}".rstrip() + (
                "; it gives the machines the new config (so do talosctl apply-config and omnictl cluster template sync)"
            )
            yield "a new cluster applies all of it; one that runs adds what is missing, and changes what is there only"
            yield "with talosctl upgrade-k8s"
    elif embedding.is_stale:
        yield f"next: firstlight render {safe.text(embedding.component)} --inline {safe.text(embedding.path)}"


def data(embedding: Embedding, *, is_written: bool = False) -> InlineData:
    """The stable form for programs."""
    return {
        "component": embedding.component,
        "cluster": embedding.cluster,
        "path": embedding.path,
        "name": embedding.name,
        "line": embedding.place.line,
        "omni": embedding.is_omni,
        "state": embedding.state,
        "stale": embedding.is_stale,
        "refused": embedding.is_refused,
        "written": is_written,
        "bytes": {"before": embedding.before, "after": embedding.after},
        "objects": [_object(each) for each in embedding.objects],
        "changes": [_change(each) for each in embedding.changes],
        "leftOut": [{**_object(each.id), "reason": each.reason} for each in embedding.left_out],
        "addedCrds": [each.name for each in embedding.added_crds],
        "kept": list(embedding.kept),
        "diagnostics": diagnostic_data.of_all(embedding.diagnostics),
    }


def _change(change: InlineObjectChange) -> InlineChangeData:
    return {**_object(change.id), "what": change.what, "diff": list(change.lines)}


def _object(id: ObjectId) -> ObjectData:
    return {"group": id.group, "kind": id.kind, "namespace": id.namespace, "name": id.name}


def _some(items: Sequence[Any]) -> Sequence[Any]:
    return items if len(items) <= _LISTED + 1 else items[:_LISTED]


def _rest(items: Sequence[Any]) -> Iterator[list[str]]:
    if len(items) > _LISTED + 1:
        yield ["", f"and {len(items) - _LISTED} more"]


def _size(size: int) -> str:
    if size < 1 << 10:
        return f"{size} bytes"
    return f"{size / (1 << 10):.0f} KiB" if size < 1 << 20 else f"{size / (1 << 20):.1f} MiB"
