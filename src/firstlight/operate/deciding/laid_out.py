"""A tree that is nowhere checked out, written down for programs that want files, and gone afterwards."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from firstlight.repo.work_tree import WorkTree

_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory made there has a name that nobody can guess, and is ours


@contextlib.contextmanager
def laid_out(tree: WorkTree) -> Iterator[Path]:
    """The files of a tree in a directory of our own, on no disk if possible.

    What cannot be written, such as a name that this computer cannot have, is left out: whoever needs it says so.
    """
    place = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="firstlight-decide-", dir=place) as made:
        root = Path(made).resolve()
        known: set[str] = set()
        for path in tree.files:
            content = tree.bytes(path)
            if content is None:
                continue
            parent, _, _ = path.rpartition("/")
            with contextlib.suppress(OSError, ValueError):
                if parent not in known:
                    (root / parent).mkdir(parents=True, exist_ok=True)
                    known.add(parent)
                (root / path).write_bytes(content)
        for link, target in tree.links.items():
            with contextlib.suppress(OSError, ValueError):
                (root / link).parent.mkdir(parents=True, exist_ok=True)
                (root / link).symlink_to(os.path.relpath(root / target, (root / link).parent))
        yield root
