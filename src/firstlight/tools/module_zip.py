"""The archive of a Go module: its hash, as go.sum has it, and taking files out of it.

Nothing of an archive is used before its hash was compared with a pinned one. It is read with suspicion all the same:
one name that leads out of the module, one link, one size beyond all bounds, and the whole of it is refused.
"""

import base64
import hashlib
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath

from firstlight import errors

LIMIT = 1 << 30
"""Bytes that an archive may hold unpacked: Go itself accepts half of it."""

MEMBERS = 200_000
"""Files that an archive may hold: the largest known has a tenth of it."""

SCRIPT = b"#!"
"""With what a file begins that is to be executed: archives of modules do not say it."""


def compute_hash(archive: Path) -> str:
    """What go.sum says of a module: a hash over the names and hashes of all files.

    Raises:
        errors.ToolError: The archive is not sound.
    """
    total = hashlib.sha256()
    try:
        with zipfile.ZipFile(archive) as file:
            _check_sizes(archive, file.infolist())
            for info in sorted(file.infolist(), key=lambda info: info.filename):
                if "\n" in info.filename:
                    raise _refuse(archive, "it has a member with a line break in its name")
                with file.open(info) as source:
                    digest = hashlib.file_digest(source, "sha256").hexdigest()  # type: ignore[arg-type]
                total.update(f"{digest}  {info.filename}\n".encode())
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, zlib.error) as error:
        raise _refuse(archive, f"it cannot be read: {error}") from error
    return "h1:" + base64.b64encode(total.digest()).decode()


def extract(archive: Path, *, root: str, choose: Callable[[str], Iterable[str]], to: Path) -> list[str]:
    """Write the chosen files of a module below ``to``; the paths that were written.

    Args:
        archive: The module's archive.
        root: What every name in it begins with: ``path@version``.
        choose: Called with the path of each file inside the module; where it goes, if anywhere.
        to: The directory below which files are written; none is overwritten.

    Raises:
        errors.ToolError: The archive is not sound, or two files have the same place.
    """
    written = []
    try:
        with zipfile.ZipFile(archive) as file:
            _check_sizes(archive, file.infolist())
            for info in file.infolist():
                name = _inside(archive, info, root)
                for target in choose(name):
                    _write(archive, file, info, to=to / target)
                    written.append(target)
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, zlib.error) as error:
        raise _refuse(archive, f"it cannot be read: {error}") from error
    return written


def _write(archive: Path, file: zipfile.ZipFile, info: zipfile.ZipInfo, *, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        with file.open(info) as source, to.open("xb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
    except FileExistsError as error:
        raise _refuse(archive, f"two of its files would be {to.name}") from error
    with to.open("rb") as written:
        to.chmod(0o755 if written.read(len(SCRIPT)) == SCRIPT else 0o644)


def _inside(archive: Path, info: zipfile.ZipInfo, root: str) -> str:
    """The path of a member inside its module."""
    name = info.filename
    # The upper half holds the Unix mode, if there is one.
    if stat.S_IFMT(info.external_attr >> 16) not in {0, stat.S_IFREG} or info.is_dir():
        raise _refuse(archive, f"{name} is not a regular file")
    path = PurePosixPath(name)
    if not name.startswith(f"{root}/") or ".." in path.parts or "\\" in name or path.as_posix() != name:
        raise _refuse(archive, f"it has a member outside of {root}: {name}")
    return name.removeprefix(f"{root}/")


def _check_sizes(archive: Path, members: Sequence[zipfile.ZipInfo]) -> None:
    if len(members) > MEMBERS:
        raise _refuse(archive, f"it has {len(members)} files")
    # Reading stops with an error where a member is larger than it says.
    if sum(info.file_size for info in members) > LIMIT:
        raise _refuse(archive, f"it unpacks to more than {LIMIT >> 20} MiB")


def _refuse(archive: Path, why: str) -> errors.ToolError:
    return errors.ToolError(f"the module archive {archive.name} is refused: {why}")
