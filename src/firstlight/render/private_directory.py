"""A directory for what may hold Secrets: ours alone, on no disk if possible, and gone when it is done."""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from firstlight.clients import scratch
from firstlight.render import chart_packages

swept = scratch.swept


@contextlib.contextmanager
def create(purpose: str, *, memory: Path = scratch.MEMORY) -> Iterator[Path]:
    """A directory on no disk if possible, since there may be Secrets in it.

    Args:
        purpose: What it is for, in its name.
        memory: Where it is made, if that can be written.
    """
    place = memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
    with scratch.directory(purpose, place=place) as root:
        yield root


# A directory of our own with the files of one rendering, gone when it is done.


@contextlib.contextmanager
def create_with_files(
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
    with create(purpose) as root:
        for link, target in (links or {}).items():
            if any(link == path or path.startswith(f"{link}/") for path in files):
                continue
            with contextlib.suppress(*((OSError, ValueError) if is_lenient else ())):
                (root / link).parent.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(FileExistsError):
                    (root / link).symlink_to(os.path.relpath(root / target, (root / link).parent))
        chart_packages.write_files(files, root, is_lenient=is_lenient)
        yield root
