"""Two states of a repo, made for one test."""

from collections.abc import Mapping
from pathlib import Path

from firstlight.model.change import Change
from firstlight.repo import platform_reader
from firstlight.repo.changes import repo_changes
from firstlight.repo.overlaid_tree import OverlaidTree
from tests.unit.repo.trees import make

Files = Mapping[str, str | bytes]


def changes(root: Path, before: Files, after: Files, *, rest: Files | None = None) -> tuple[Change, ...]:
    """What differs, seen by somebody who has read both states; ``rest`` is the same in both."""
    new = make(root, {**(rest or {}), **after})
    old = OverlaidTree(
        new,
        {
            path: _bytes(before[path]) if path in before else None
            for path in (*before, *(each for each in after if each not in before))
        },
    )
    paths = sorted({*before, *after})
    platforms = [platform_reader.read_tree(new), platform_reader.read_tree(old)]
    return repo_changes.changes(old, new, paths, platforms=platforms)


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


def shown(found: tuple[Change, ...]) -> list[str]:
    """Changes as lines: what, and each field with what it was and is."""
    lines = []
    for each in found:
        moved = f" from {each.old_path}" if each.old_path else ""
        lines.append(f"{each.matter} {each.verb} {each.title}{moved}")
        for field in each.fields:
            values = f" values={'.'.join(field.values)}" if field.values is not None else ""
            secret = " secret" if field.is_secret else ""
            lines.append(f"  {field.verb} {field.path}: {field.before!r} -> {field.after!r}{values}{secret}")
    return lines
