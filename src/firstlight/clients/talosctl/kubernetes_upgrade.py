"""Reading what ``talosctl upgrade-k8s`` prints, which is for people only: line by line, patches by their own counts."""

import re
from collections.abc import Iterator

from firstlight.model.kubernetes_upgrade import Action, ComponentUpdate, KubernetesUpgrade, ManifestChange
from firstlight.model.secret import MASK

_STARTING = re.compile(r' > "(?P<node>[^"]+)": starting update')
_UPDATE = re.compile(r" > update (?P<component>\S+): (?P<before>\S+) -> (?P<after>\S+)")
_CHANGE = re.compile(r" < (?P<action>created|configured|unchanged|deleted|Pruned) (?P<subject>\S+)")
_SKIPPED = re.compile(r" > skipped (?P<subject>\S+): no changes")
_PROCESSING = re.compile(r" > processing manifest (?P<subject>\S+)")
_UNCHANGED = " < no changes"
_HUNK = re.compile(r"@@ -\d+(?:,(?P<old>\d+))? \+\d+(?:,(?P<new>\d+))? @@")
_SECRET = re.compile(r"(?:.*\.)?Secret/")
_ACTIONS: dict[str, Action] = {
    "created": "created",
    "configured": "configured",
    "unchanged": "unchanged",
    "deleted": "pruned",
    "Pruned": "pruned",
}


def parse(printed: str, *, is_dry_run: bool) -> KubernetesUpgrade:
    """The updates and changes in what was printed; the text of it without the contents of Secrets."""
    node = ""
    updates: list[ComponentUpdate] = []
    changes: list[tuple[Action, str]] = []
    patches: list[list[str]] = []
    text: list[str] = []
    for line, in_patch in _lines(printed):
        if in_patch:
            hidden = bool(changes) and _SECRET.match(changes[-1][1]) is not None
            shown = f"{line[:1]} {MASK}" if hidden and not _is_heading(line) else line
            if patches:
                patches[-1].append(shown)
            text.append(shown)
            continue
        text.append(line)
        if match := _STARTING.fullmatch(line):
            node = match["node"]
        elif match := _UPDATE.fullmatch(line):
            updates.append(ComponentUpdate(match["component"], node, match["before"].removeprefix("v"), match["after"]))
        elif match := _CHANGE.fullmatch(line):
            changes.append((_ACTIONS[match["action"]], match["subject"]))
            patches.append([])
        elif match := _SKIPPED.fullmatch(line):
            changes.append(("unchanged", match["subject"]))
            patches.append([])
        elif match := _PROCESSING.fullmatch(line):
            changes.append(("changed", match["subject"]))
            patches.append([])
        elif line == _UNCHANGED and changes:
            changes[-1] = ("unchanged", changes[-1][1])
    return KubernetesUpgrade(
        is_dry_run=is_dry_run,
        updates=tuple(updates),
        manifests=tuple(
            ManifestChange(action, subject, "".join(f"{line}\n" for line in patch))
            for (action, subject), patch in zip(changes, patches, strict=True)
        ),
        text="\n".join(text),
    )


def _lines(printed: str) -> Iterator[tuple[str, bool]]:
    """Every line, and whether it is part of a patch: an object may contain what looks like a line of talosctl's."""
    old = new = 0
    for line in printed.splitlines():
        if old > 0 or new > 0:
            old -= line[:1] in {" ", "-", ""}
            new -= line[:1] in {" ", "+", ""}
            yield line, True
        elif match := _HUNK.match(line):
            old, new = (int(match[side]) if match[side] is not None else 1 for side in ("old", "new"))
            yield line, True
        else:
            yield line, line.startswith(("--- a/", "+++ b/", "\\ No newline"))


def _is_heading(line: str) -> bool:
    return line.startswith(("--- a/", "+++ b/", "@@ -", "\\ No newline"))
