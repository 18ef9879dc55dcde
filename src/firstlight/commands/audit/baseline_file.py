"""Findings written to a baseline: what stands there stays as it is, comments and all."""

import datetime
from collections.abc import Sequence
from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.clients import atomic_file
from firstlight.commands.audit import baseline, excuses
from firstlight.commands.audit.audit import AuditResult
from firstlight.commands.audit.baseline import BaselineEntry
from firstlight.document import yaml_writer
from firstlight.document.mistakes import FormMistakes
from firstlight.repo.work_tree import WorkTree


def add(
    tree: WorkTree, judged: AuditResult, file: Path | None, *, reason: str, until: datetime.date
) -> tuple[str, int]:  # fmt: skip
    """Excuse everything that was found; the file, and how many entries it has more than before.

    Args:
        tree: The repo.
        judged: What was found.
        file: Where to; the one of the repo by default.
        reason: Why.
        until: The last day.

    Raises:
        errors.UsageError: The file cannot be read or written.
        errors.ConfigError: It says something that it must not say.
        errors.Refused: A link leads out of the repo.
    """
    place = file if file is not None else tree.root / baseline.FILE
    shown = str(file) if file is not None else baseline.FILE
    asked = [name for name, given in (("live", judged.scene.live), ("render", judged.scene.renditions)) if given]
    new = {
        (each.code, each.place.path, each.key): baseline.entry(each, reason=reason, until=until, asked=asked)
        for each in judged.audit.findings
        if judged.book.rules[each.code].group != excuses.GROUP
    }
    if not new:
        return shown, 0
    if file is None and (place.is_symlink() or not place.parent.resolve().is_relative_to(tree.root.resolve())):
        raise errors.Refused(f"{shown} is behind a link", hint="Let it be a file of the repo, or name one: --baseline.")
    try:
        old = place.read_text() if place.exists() else ""
        text = _with(old, list(new.values()), shown)
        _write(place, text)
    except (OSError, UnicodeDecodeError) as error:
        raise errors.UsageError(f"{shown} cannot be written: {error}") from error
    return shown, len(new)


def _with(old: str, new: Sequence[BaselineEntry], path: str) -> str:
    """The text with more entries; those that excuse the same and have ended give way."""
    if not old.strip():
        return baseline.written(new)
    known = [each for each, _ in baseline.read(old.encode(), path).entries]
    keys = {(each.rule, each.path, each.key) for each in new}
    kept = [each for each in known if (each.rule, each.path, each.key) not in keys]
    if len(kept) == len(known):
        # Nothing gives way: what stands there stays, if what is added below it means what it is to mean.
        below = "".join(f"  {line}\n" if line else "\n" for line in yaml_writer.dump(_plain(new)).splitlines())
        for text in (f"{old.rstrip()}\n{below}", f"{old.rstrip()}\n{yaml_writer.dump(_plain(new))}"):
            if _entries(text, path) == [*known, *new]:
                return text
    return baseline.written([*kept, *new])


def _plain(entries: Sequence[BaselineEntry]) -> list[object]:
    return [msgspec.to_builtins(each) for each in entries]


def _entries(text: str, path: str) -> list[BaselineEntry] | None:
    try:
        return [each for each, _ in baseline.read(text.encode(), path).entries]
    except FormMistakes:
        return None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_file.replace(path, text.encode(), mode=None)
