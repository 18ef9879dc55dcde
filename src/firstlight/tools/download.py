"""Official release downloads, compared with the hash that the catalogue pins.

A checksum that is published beside a file says nothing: whoever replaces the one replaces the other. A file without a
pinned hash is not fetched; one with another hash stops everything, because somebody should look at it. Everything else
that can go wrong (no network, no such release) is an answer, and the next way is tried.
"""

import asyncio
import contextlib
import dataclasses
import hashlib
import shutil
import stat
import tarfile
import urllib.parse
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

import aiohttp

from firstlight import errors
from firstlight.tools import catalogue, tool_progress, workshop

SIZE_LIMIT = 512 << 20
"""Bytes of a download; the largest release in the catalogue has a third of it."""

CONNECT_TIMEOUT = 5
"""Seconds to find and reach a host: sites without internet must not wait long for the build."""

READ_TIMEOUT = 30
"""Seconds without a byte."""

TOTAL_TIMEOUT = 1800

_REPORT_EVERY = 1 << 20


@dataclasses.dataclass(frozen=True)
class FetchedRelease:
    """A binary that its project published."""

    binary: Path
    sha256: str
    url: str


@dataclasses.dataclass(frozen=True)
class ReleaseUnavailable:
    """There is nothing to be had this way; ``known`` if that is no news."""

    why: str
    known: bool = False


class Downloads:
    """Downloads, with a memory for hosts that cannot be reached: a process tries each of them once."""

    def __init__(self) -> None:
        self._unreachable: dict[str, str] = {}

    async def fetch(
        self, tool: catalogue.CatalogueTool, shop: workshop.Workshop, *, stage: Path, report: tool_progress.Report
    ) -> FetchedRelease | ReleaseUnavailable:
        """Download a tool into ``stage`` and verify it.

        Raises:
            errors.ToolError: The hash is not the pinned one, or the archive is not sound.
        """
        if tool.download is None:
            return ReleaseUnavailable(tool.by_hand or "no hash of its release is pinned", known=True)
        system, machine = shop.target.system, shop.target.machine
        expected = tool.download.pinned(system, machine)
        if not expected:
            return ReleaseUnavailable(f"no hash of its release for {system}-{machine} is pinned", known=True)
        url, member = (
            catalogue.fill(template, tool, system=system, machine=machine)
            for template in (tool.download.url, tool.download.member)
        )
        url = mirrored(url, shop.mirror)
        if why := self._unreachable.get(_host(url)):
            return ReleaseUnavailable(why, known=True)

        # Imported here: it takes longer than a whole listing.
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=TOTAL_TIMEOUT, connect=CONNECT_TIMEOUT, sock_read=READ_TIMEOUT)
        async with aiohttp.ClientSession(trust_env=True, timeout=timeout) as session:
            try:
                target = stage / "download"
                actual = await _fetch_file(session, url, to=target, name=tool.name, report=report)
            except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
                host = _host(url)
                self._unreachable[host] = f"{host} cannot be reached ({_reason(error)})"
                return ReleaseUnavailable(self._unreachable[host])
            except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError) as error:
                return ReleaseUnavailable(f"{_host(url)}: {_reason(error)}")
        if isinstance(actual, ReleaseUnavailable):
            return actual
        if actual != expected:
            raise errors.ToolError(
                f"{url} is refused: its SHA-256 is {actual}, and {expected} is pinned",
                hint="Tell the project: what it published has changed. "
                "FIRSTLIGHT_ACQUIRE=build builds it from its sources instead.",
            )
        binary = stage / tool.name
        if member:
            extract_member(target, member, to=binary)
        else:
            target.rename(binary)
        binary.chmod(0o755)
        return FetchedRelease(binary, actual, url)


def mirrored(url: str, mirror: str) -> str:
    """The URL below a mirror: its base instead of scheme and host."""
    if not mirror:
        return url
    return mirror + urllib.parse.urlsplit(url)._replace(scheme="", netloc="").geturl()


async def _fetch_file(
    session: aiohttp.ClientSession, url: str, *, to: Path, name: str, report: tool_progress.Report
) -> str | ReleaseUnavailable:
    digest = hashlib.sha256()
    received = reported = 0
    async with session.get(url) as response:
        if problem := _problem(url, response):
            return ReleaseUnavailable(problem)
        size = response.content_length or 0
        if size > SIZE_LIMIT:
            return ReleaseUnavailable(f"{url} has {size} bytes, more than the limit of {SIZE_LIMIT}")
        report(tool_progress.Downloading(name, url, 0, size))
        with to.open("xb") as out:
            async for chunk in response.content.iter_any():
                received += len(chunk)
                if received > SIZE_LIMIT:
                    return ReleaseUnavailable(f"{url} sends more than the limit of {SIZE_LIMIT} bytes")
                digest.update(chunk)
                out.write(chunk)
                if received - reported >= _REPORT_EVERY:
                    reported = received
                    report(tool_progress.Downloading(name, url, received, size))
    report(tool_progress.Downloading(name, url, received, size or received))
    return digest.hexdigest()


def _problem(url: str, response: aiohttp.ClientResponse) -> str:
    if response.status != 200:
        return f"{url} answers {response.status} {response.reason or ''}".rstrip()
    if url.startswith("https://") and response.url.scheme != "https":
        return f"{url} redirects to plain http"
    return ""


def _host(url: str) -> str:
    return urllib.parse.urlsplit(url).netloc


def _reason(error: BaseException) -> str:
    # aiohttp wraps what the system said into words that say the host's name again.
    cause = getattr(error, "os_error", None)
    return (getattr(cause, "strerror", None) or str(error) or type(error).__name__).lower()


# Taking one file out of a release archive, and nothing else.
#
# Python's own extraction is not used: it decides about paths, links, owners and modes, and none of these are
# wanted. The checksum was verified before; an archive that still looks like an attack is refused as a whole.


MEMBER_LIMIT = 1 << 30
"""Bytes that an archive may hold unpacked: the largest known holds a quarter of it, and a bomb much more."""


def extract_member(archive: Path, member: str, *, to: Path) -> None:
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
    if size > MEMBER_LIMIT:
        raise _refuse(archive, f"it unpacks to more than {MEMBER_LIMIT >> 20} MiB")
    return size


def _refuse(archive: Path, why: str) -> errors.ToolError:
    return errors.ToolError(
        f"the archive {archive.name} is refused: {why}",
        hint="FIRSTLIGHT_ACQUIRE=build builds it from its sources instead",
    )
