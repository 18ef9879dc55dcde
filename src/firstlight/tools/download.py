"""Official release downloads, compared with the hash that the catalogue pins.

A checksum that is published beside a file says nothing: whoever replaces the one replaces the other. A file without a
pinned hash is not fetched; one with another hash stops everything, because somebody should look at it. Everything else
that can go wrong (no network, no such release) is an answer, and the next way is tried.
"""

import asyncio
import dataclasses
import hashlib
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING

from firstlight import errors
from firstlight.tools import archive, catalogue, events, workshop

if TYPE_CHECKING:
    import aiohttp

SIZE_LIMIT = 512 << 20
"""Bytes of a download; the largest release in the catalogue has a third of it."""

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
            errors.ToolError: The hash is not the pinned one, or the archive is not sound.
        """
        if tool.download is None:
            return Unavailable(tool.by_hand or "no hash of its release is pinned", known=True)
        system, machine = shop.target.system, shop.target.machine
        expected = tool.download.pinned(system, machine)
        if not expected:
            return Unavailable(f"no hash of its release for {system}-{machine} is pinned", known=True)
        url, member = (
            catalogue.fill(template, tool, system=system, machine=machine)
            for template in (tool.download.url, tool.download.member)
        )
        url = mirrored(url, shop.mirror)
        if why := self._unreachable.get(_host(url)):
            return Unavailable(why, known=True)

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
                return Unavailable(self._unreachable[host])
            except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError) as error:
                return Unavailable(f"{_host(url)}: {_reason(error)}")
        if isinstance(actual, Unavailable):
            return actual
        if actual != expected:
            raise errors.ToolError(
                f"{url} is refused: its SHA-256 is {actual}, and {expected} is pinned",
                hint="Tell the project: what it published has changed. "
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


def _host(url: str) -> str:
    return urllib.parse.urlsplit(url).netloc


def _reason(error: BaseException) -> str:
    # aiohttp wraps what the system said into words that say the host's name again.
    cause = getattr(error, "os_error", None)
    return (getattr(cause, "strerror", None) or str(error) or type(error).__name__).lower()
