"""Taking one file out of a release archive, and nothing else.

Python's own extraction is not used: it decides about paths, links, owners and modes, and none of these are
wanted. The checksum was verified before; an archive that still looks like an attack is refused as a whole.
"""

import contextlib
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from firstlight import errors

LIMIT = 1 << 30
"""Bytes that an archive may hold unpacked: the largest known holds a quarter of it, and a bomb much more."""


def extract(archive: Path, member: str, *, to: Path) -> None:
    """Write the regular file ``member`` of a .tar.gz or .zip to ``to``.

    Raises:
        errors.ToolError: It is not there, not a regular file, or the archive is not sound.
    """
    try:
        with _open_member(archive, member) as source, to.open("xb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, zlib.error) as error:
        raise _refuse(archive, f"it cannot be read: {error}") from error


@contextlib.contextmanager
def _open_member(archive: Path, member: str) -> Iterator[IO[bytes]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as file, file.open(_choose_zip(archive, file, member)) as source:
            yield source
        return
    with tarfile.open(archive, "r:gz") as tar:
        stream = tar.extractfile(_choose_tar(archive, tar, member))
        assert stream is not None
        with stream:
            yield stream


def _choose_tar(archive: Path, file: tarfile.TarFile, member: str) -> tarfile.TarInfo:
    size = 0
    chosen: tarfile.TarInfo | None = None
    for info in file:
        _check_name(archive, info.name)
        size = _check_size(archive, size + info.size)
        if _plain(info.name) == member:
            if not info.isreg():
                raise _refuse(archive, f"{member} is not a regular file")
            chosen = info
    if chosen is None:
        raise _refuse(archive, f"there is no {member} in it")
    return chosen


def _choose_zip(archive: Path, file: zipfile.ZipFile, member: str) -> zipfile.ZipInfo:
    size = 0
    chosen: zipfile.ZipInfo | None = None
    for info in file.infolist():
        _check_name(archive, info.filename)
        size = _check_size(archive, size + info.file_size)
        if _plain(info.filename) == member:
            # The upper half holds the Unix mode, if it was made on Unix; the file type may be missing.
            if stat.S_IFMT(info.external_attr >> 16) not in {0, stat.S_IFREG} or info.is_dir():
                raise _refuse(archive, f"{member} is not a regular file")
            chosen = info
    if chosen is None:
        raise _refuse(archive, f"there is no {member} in it")
    return chosen


def _plain(name: str) -> str:
    return name.removeprefix("./")


def _check_name(archive: Path, name: str) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise _refuse(archive, f"it has a member outside of itself: {name}")


def _check_size(archive: Path, size: int) -> int:
    if size > LIMIT:
        raise _refuse(archive, f"it unpacks to more than {LIMIT >> 20} MiB")
    return size


def _refuse(archive: Path, why: str) -> errors.ToolError:
    return errors.ToolError(
        f"the archive {archive.name} is refused: {why}",
        hint="FIRSTLIGHT_ACQUIRE=build builds it from its sources instead",
    )
