"""A chart as one file: packed the same way each time, and unpacked into memory alone."""

import contextlib
import gzip
import io
import os
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients.helm import charts as helm_charts

LIMITS = helm_charts.LIMITS


def pack(files: Mapping[str, bytes], name: str) -> bytes:
    """Files as an archive that Helm takes for a chart of this name."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), compresslevel=1, mtime=0)


def unpack(data: bytes) -> dict[str, bytes]:
    """The files of an archive by their paths in the chart; only plain files are taken.

    Raises:
        errors.Refused: It is no archive, has something else than files in it, or too much.
    """
    files: dict[str, bytes] = {}
    size = 0
    try:
        with gzip.open(io.BytesIO(data)) as raw, tarfile.open(fileobj=raw, mode="r|") as archive:
            for entry in archive:
                if entry.isdir():
                    continue
                _, _, path = entry.name.partition("/")
                if not entry.isreg() or not is_inside(path):
                    raise errors.Refused(
                        f"the archive of a chart has {entry.name[:200]!r} in it, which is no plain file"
                    )
                size += entry.size
                if size > LIMITS.size or len(files) >= LIMITS.files:
                    raise errors.Refused("the archive of a chart has too much in it")
                content = archive.extractfile(entry)
                assert content is not None
                files[path] = content.read()
    except (tarfile.TarError, OSError, EOFError, zlib.error, ValueError) as error:
        raise errors.Refused(f"the archive of a chart cannot be read: {error}") from error
    return files


def read(directory: Path) -> dict[str, bytes]:
    """The files of a chart in a directory, which was looked through before; directories that are links are left out."""
    files: dict[str, bytes] = {}
    for base, _, names in os.walk(directory):
        for name in names:
            place = Path(base, name)
            if place.is_file():
                files[place.relative_to(directory).as_posix()] = place.read_bytes()
    return files


def write(files: Mapping[str, bytes], directory: Path, *, is_lenient: bool = False) -> None:
    """Put files into a directory, which is made.

    Args:
        files: Contents by path.
        directory: Where they are put.
        is_lenient: Leave out what cannot be written, such as a name that this computer cannot have.

    Raises:
        errors.Refused: A path leads out of it.
    """
    directory.mkdir(parents=True, exist_ok=True)
    made = {directory}
    for path, content in files.items():
        if not is_inside(path):
            if is_lenient:
                continue
            raise errors.Refused(f"{path[:200]!r} is no path of a file")
        place = directory / path
        with contextlib.suppress(*((OSError, ValueError) if is_lenient else ())):
            if place.parent not in made:
                place.parent.mkdir(parents=True, exist_ok=True)
                made.add(place.parent)
            place.write_bytes(content)


def is_inside(path: str) -> bool:
    """Whether a path of an archive stays in the directory that it is unpacked into."""
    return bool(path) and not any(part in {"", ".", ".."} for part in path.split("/")) and "\0" not in path
