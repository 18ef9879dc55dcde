"""Official release downloads: the published checksum first, then the file, then the comparison.

A file without a published checksum is not fetched; one whose checksum is wrong stops everything, because
somebody should look at it. Everything else that can go wrong (no network, no such release) is an answer, and
the next way is tried.
"""

import asyncio
import dataclasses
import hashlib
import re
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING

from firstlight import errors
from firstlight.tools import archive, catalogue, events, workshop

if TYPE_CHECKING:
    import aiohttp

SIZE_LIMIT = 512 << 20
"""Bytes of a download; the largest release in the catalogue has a third of it."""

CHECKSUM_LIMIT = 1 << 20

CONNECT_TIMEOUT = 5
"""Seconds to find and reach a host: sites without internet must not wait long for the build."""

READ_TIMEOUT = 30
"""Seconds without a byte."""

TOTAL_TIMEOUT = 1800

_REPORT_EVERY = 1 << 20


@dataclasses.dataclass(frozen=True)
class Fetched:
    """A binary that its project published."""

    binary: Path
    sha256: str
    url: str


@dataclasses.dataclass(frozen=True)
class Unavailable:
    """There is nothing to be had this way; ``known`` if that is no news."""

    why: str
    known: bool = False


class Downloads:
    """Downloads, with a memory for hosts that cannot be reached: a process tries each of them once."""

    def __init__(self) -> None:
        self._unreachable: dict[str, str] = {}

    async def fetch(
        self, tool: catalogue.Tool, shop: workshop.Workshop, *, stage: Path, report: events.Report
    ) -> Fetched | Unavailable:
        """Download a tool into ``stage`` and verify it.

        Raises:
            errors.ToolError: The checksum is not the published one, or the archive is not sound.
        """
        if tool.download is None:
            return Unavailable(tool.by_hand or "its project publishes no binaries", known=True)
        url, checksum, member = (
            catalogue.fill(template, tool, system=shop.target.system, machine=shop.target.machine)
            for template in (tool.download.url, tool.download.checksum, tool.download.member)
        )
        url, checksum = mirrored(url, shop.mirror), mirrored(checksum, shop.mirror)
        for address in (checksum, url):
            if why := self._unreachable.get(_host(address)):
                return Unavailable(why, known=True)

        # Imported here: it takes longer than a whole listing.
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=TOTAL_TIMEOUT, connect=CONNECT_TIMEOUT, sock_read=READ_TIMEOUT)
        async with aiohttp.ClientSession(trust_env=True, timeout=timeout) as session:
            try:
                expected = await _fetch_checksum(session, checksum, file=url.rsplit("/", 1)[-1])
                if isinstance(expected, Unavailable):
                    return expected
                target = stage / "download"
                actual = await _fetch_file(session, url, to=target, name=tool.name, report=report)
            except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
                host = _host(checksum)
                self._unreachable[host] = f"{host} cannot be reached ({_reason(error)})"
                return Unavailable(self._unreachable[host])
            except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError) as error:
                return Unavailable(f"{_host(url)}: {_reason(error)}")
        if isinstance(actual, Unavailable):
            return actual
        if actual != expected:
            raise errors.ToolError(
                f"{url} is refused: its SHA-256 is {actual}, and {checksum} says {expected}",
                hint="Try again later, and if it stays so, tell the project. "
                "FIRSTLIGHT_ACQUIRE=build builds it from its sources instead.",
            )
        binary = stage / tool.name
        if member:
            archive.extract(target, member, to=binary)
        else:
            target.rename(binary)
        binary.chmod(0o755)
        return Fetched(binary, actual, url)


def mirrored(url: str, mirror: str) -> str:
    """The URL below a mirror: its base instead of scheme and host."""
    if not mirror:
        return url
    return mirror + urllib.parse.urlsplit(url)._replace(scheme="", netloc="").geturl()


def find_checksum(text: str, *, file: str) -> str:
    """The SHA-256 of a file in what a project published, or nothing.

    Some publish lines of ``<hash>  <file>`` or ``<hash> *<file>``, some the hash alone.
    """
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and len(lines[0]) == 1 and _is_hash(lines[0][0]):
        return lines[0][0].lower()
    for fields in lines:
        if len(fields) == 2 and _is_hash(fields[0]) and fields[1].removeprefix("*").rsplit("/", 1)[-1] == file:
            return fields[0].lower()
    return ""


async def _fetch_checksum(session: "aiohttp.ClientSession", url: str, *, file: str) -> str | Unavailable:
    async with session.get(url) as response:
        if problem := _problem(url, response):
            return Unavailable(f"there is no published checksum: {problem}")
        body = await response.content.read(CHECKSUM_LIMIT)
        while len(body) < CHECKSUM_LIMIT and (more := await response.content.read(CHECKSUM_LIMIT - len(body))):
            body += more
    checksum = find_checksum(body.decode(errors="replace"), file=urllib.parse.unquote(file))
    return checksum or Unavailable(f"there is no published checksum: {url} has none for {file}")


async def _fetch_file(
    session: "aiohttp.ClientSession", url: str, *, to: Path, name: str, report: events.Report
) -> str | Unavailable:
    digest = hashlib.sha256()
    received = reported = 0
    async with session.get(url) as response:
        if problem := _problem(url, response):
            return Unavailable(problem)
        size = response.content_length or 0
        if size > SIZE_LIMIT:
            return Unavailable(f"{url} has {size} bytes, more than the limit of {SIZE_LIMIT}")
        report(events.Downloading(name, url, 0, size))
        with to.open("xb") as out:
            async for chunk in response.content.iter_any():
                received += len(chunk)
                if received > SIZE_LIMIT:
                    return Unavailable(f"{url} sends more than the limit of {SIZE_LIMIT} bytes")
                digest.update(chunk)
                out.write(chunk)
                if received - reported >= _REPORT_EVERY:
                    reported = received
                    report(events.Downloading(name, url, received, size))
    report(events.Downloading(name, url, received, size or received))
    return digest.hexdigest()


def _problem(url: str, response: "aiohttp.ClientResponse") -> str:
    if response.status != 200:
        return f"{url} answers {response.status} {response.reason or ''}".rstrip()
    if url.startswith("https://") and response.url.scheme != "https":
        return f"{url} redirects to plain http"
    return ""


def _is_hash(text: str) -> bool:
    return re.fullmatch(r"[0-9A-Fa-f]{64}", text) is not None


def _host(url: str) -> str:
    return urllib.parse.urlsplit(url).netloc


def _reason(error: BaseException) -> str:
    # aiohttp wraps what the system said into words that say the host's name again.
    cause = getattr(error, "os_error", None)
    return (getattr(cause, "strerror", None) or str(error) or type(error).__name__).lower()
