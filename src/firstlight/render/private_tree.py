"""A directory of our own with the files of one rendering, gone when it is done."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from firstlight.render import private_directory
from firstlight.render.charts import packing


@contextlib.contextmanager
def written(
    files: Mapping[str, bytes],
    *,
    links: Mapping[str, str] | None = None,
    purpose: str = "render",
    is_lenient: bool = False,
) -> Iterator[Path]:
    """Files in a directory that is on no disk if possible, since there may be Secrets among what is rendered.

    Args:
        files: Contents by path.
        links: Symbolic links by path, each with the path from the top to which it leads.
        purpose: What the directory is for, in its name.
        is_lenient: Leave out what cannot be written: whoever needs it says so.
    """
    with private_directory.made(purpose) as root:
        for link, target in (links or {}).items():
            if any(link == path or path.startswith(f"{link}/") for path in files):
                continue
            with contextlib.suppress(*((OSError, ValueError) if is_lenient else ())):
                (root / link).parent.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(FileExistsError):
                    (root / link).symlink_to(os.path.relpath(root / target, (root / link).parent))
        packing.write(files, root, is_lenient=is_lenient)
        yield root
