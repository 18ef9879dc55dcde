"""A chart as one file: packed the same way each time, and unpacked into memory alone."""

import contextlib
import dataclasses
import enum
import gzip
import io
import os
import re
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients.helm import charts
from firstlight.model import remote_url, versions
from firstlight.model.rendition import VersionPin

PACKAGE_LIMITS = charts.LIMITS


def pack_chart(files: Mapping[str, bytes], name: str) -> bytes:
    """Files as an archive that Helm takes for a chart of this name."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), compresslevel=1, mtime=0)


def unpack_chart(data: bytes) -> dict[str, bytes]:
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
                if size > PACKAGE_LIMITS.size or len(files) >= PACKAGE_LIMITS.files:
                    raise errors.Refused("the archive of a chart has too much in it")
                content = archive.extractfile(entry)
                assert content is not None
                files[path] = content.read()
    except (tarfile.TarError, OSError, EOFError, zlib.error, ValueError) as error:
        raise errors.Refused(f"the archive of a chart cannot be read: {error}") from error
    return files


def read_files(directory: Path) -> dict[str, bytes]:
    """The files of a chart in a directory, which was looked through before; directories that are links are left out."""
    files: dict[str, bytes] = {}
    for base, _, names in os.walk(directory):
        for name in names:
            place = Path(base, name)
            if place.is_file():
                files[place.relative_to(directory).as_posix()] = place.read_bytes()
    return files


def write_files(files: Mapping[str, bytes], directory: Path, *, is_lenient: bool = False) -> None:
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


# Charts and files that are asked for, and those that are there.


_COMMIT = re.compile(r"[0-9a-f]{40}")


class NotCached(errors.ClientError):
    """Something is not in the cache, and offline nothing is fetched."""


class FetchKind(enum.StrEnum):
    """What something is fetched from."""

    OCI = "oci"
    """A chart in a registry."""
    REPOSITORY = "repository"
    """A chart in a repository with an index."""
    GIT = "git"
    """All files of a commit."""
    FILE = "file"
    """One file of the web."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """Something elsewhere, as a repo asks for it."""

    kind: FetchKind
    url: str
    """Of the chart itself in a registry; else of the repository, or of the file."""
    name: str = ""
    """Of a chart in a repository."""
    version: str = ""
    """A version or range; in Git a branch, tag or commit; empty for the latest."""
    digest: str = ""
    insecure: bool = False
    """Whether the registry is spoken to without TLS, since whoever asks says so."""

    @property
    def source(self) -> str:
        """As people write it."""
        parts = (self.url, self.name, self.digest or self.version)
        return remote_url.without_credentials(" ".join(each for each in parts if each))

    @property
    def is_exact(self) -> bool:
        """Whether it names one content, as far as its publisher keeps to the rules."""
        if self.kind == FetchKind.GIT:
            return _COMMIT.fullmatch(self.version) is not None
        return bool(self.digest) or versions.is_semantic(self.version)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FetchedContent:
    """What is there."""

    wanted: FetchRequest
    name: str
    """The chart's own name."""
    version: str
    """The chart's own version; in Git the commit."""
    digest: str
    """Of the chart's manifest in a registry; the commit in Git; else of the files."""
    sum: str
    """The SHA-256 of the content here."""

    @property
    def pin(self) -> VersionPin:
        """What the reference was when it was resolved."""
        return VersionPin(source=self.wanted.source, version=self.version, digest=self.digest)
