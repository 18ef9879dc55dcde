"""Files that references name: of the repo and not beyond it, or wherever the user says."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients import secret_errors as problems
from firstlight.model.reference import File, Reference, Sops
from firstlight.model.secret import Secret

SIZE = 8 << 20
"""Bytes of the largest file that is read: Kubernetes takes 1 MiB in a Secret."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def locate(reference: File | Sops, root: Path, *, environ: Mapping[str, str]) -> Path:
    """Where the file of a reference is.

    Raises:
        errors.Refused: It is said to be in the repo, and a link leads out of it.
        problems.NoSuchFile: It begins with ~, and there is no home.
    """
    if isinstance(reference, File) and reference.is_outside:
        if reference.path.startswith("/"):
            return Path(reference.path)
        home = environ.get("HOME", "")
        if not home:
            raise problems.NoSuchFile("file", str(reference), "HOME is not set", hint="write the whole path")
        return Path(home) / reference.path.removeprefix("~/")
    path = root / reference.path
    refuse_outside(path, root, reference)
    return path


def refuse_outside(path: Path, root: Path, about: Reference | str) -> None:
    """See that a path of the repo does not lead out of it.

    Raises:
        errors.Refused: It does.
    """
    if not path.resolve().is_relative_to(root.resolve()):
        raise errors.Refused(f"{about}: a link leads out of the repo", hint="put the file itself there")


def read(path: Path, reference: File) -> Secret:
    """The content of a file, as it is.

    Raises:
        problems.NoSuchFile: It is not there.
        problems.Unreadable: It is no file, too large, or may not be read.
    """
    about = str(reference)
    try:
        # A pipe that nobody writes to would be waited for.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise problems.NoSuchFile("file", about, "there is no such file") from None
    except OSError as error:
        raise problems.Unreadable("file", about, f"it cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise problems.Unreadable("file", about, "it is no regular file")
    with os.fdopen(fd, "rb") as file:
        content = file.read(SIZE + 1)
    if len(content) > SIZE:
        raise problems.Unreadable("file", about, f"it has more than {SIZE >> 20} MiB")
    return Secret(content)


def warning(path: Path) -> tuple[str, str]:
    """What to say of a file that others can read, and what to do; empty if they cannot."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return "", ""
    if not mode & _OTHERS:
        return "", ""
    return f"others on this computer may read it (mode {mode:04o})", f"chmod 600 {path}"
