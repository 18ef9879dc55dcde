"""Trees of files from their texts."""

from collections.abc import Mapping
from pathlib import Path

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"


def make(root: Path, files: Mapping[str, str]) -> Path:
    """Write files; a text that begins with ``-> `` is a link."""
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            place.symlink_to(text.removeprefix("-> "))
        else:
            place.write_text(text)
    return root
