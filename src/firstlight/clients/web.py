"""Files on the web, fetched without telling anybody who asks: no credentials, no cookies, and only by https.

URLs come from repositories, that is from strangers. So neither they nor a redirect may lead to this computer itself or
to addresses that only the machines of a cloud can see.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import urllib.parse
import urllib.request
from collections.abc import Collection
from typing import TYPE_CHECKING

from firstlight import errors
from firstlight.model import remote_url

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.abc import AbstractResolver, ResolveResult

SIZE = 32 << 20
"""Bytes of the largest file that is read, as of files in a repo."""
TIMEOUT = 60.0
_CONNECT = 15.0
_REDIRECTS = 5


class WebNotFound(errors.ClientError):
    """There is no such file."""


async def fetch(url: str, *, limit: int = SIZE, plain_http: Collection[str] = (), timeout: float = TIMEOUT) -> bytes:
    """The content of a URL.

    Args:
        url: Where it is; a query is allowed, a user or a password is not.
        limit: Bytes that are read at most.
        plain_http: Addresses that may be spoken to without TLS, and may be on this computer.
        timeout: Seconds in all.

    Raises:
        errors.UsageError: It is not a URL that may be fetched.
        errors.Refused: It leads to somewhere where nothing may be fetched, or there is too much.
        errors.Unreachable: Nothing answers.
        NotFound: There is no such file.
    """
    import aiohttp  # it takes longer than a whole listing

    limits = aiohttp.ClientTimeout(total=timeout, connect=_CONNECT)
    connector = aiohttp.TCPConnector(resolver=_resolver(plain_http))
    try:
        async with aiohttp.ClientSession(
            connector=connector, timeout=limits, cookie_jar=aiohttp.DummyCookieJar()
        ) as session:
            for _ in range(_REDIRECTS + 1):
                checked(url, plain_http=plain_http)
                async with session.get(url, allow_redirects=False, proxy=_proxy(url)) as answer:
                    if answer.status in (301, 302, 303, 307, 308):
                        url = urllib.parse.urljoin(url, answer.headers.get("Location", ""))
                        continue
                    return await _content(answer, url, limit)
    except TimeoutError as error:
        raise errors.TimedOut(f"{_shown(url)} did not answer within {timeout:g} s", target=_shown(url)) from error
    except aiohttp.ClientError as error:
        raise errors.Unreachable(f"{_shown(url)} cannot be fetched: {error}", target=_shown(url)) from error
    raise errors.Refused(f"{_shown(url)} leads from one place to the next more than {_REDIRECTS} times")


async def status(url: str, *, timeout: float = TIMEOUT, plain_http: Collection[str] = ()) -> int:
    """With which code a URL answers; redirects are answers too, and also plain HTTP may be asked.

    Args:
        url: What to ask.
        timeout: Seconds in all.
        plain_http: Addresses that may be on this computer.

    Raises:
        errors.UsageError: It is not a URL that may be asked.
        errors.Refused: It leads to somewhere where nothing may be asked.
        errors.Unreachable: Nothing answers.
    """
    import aiohttp

    parsed = remote_url.RemoteUrl.parse(url.partition("?")[0], schemes=["https", "http"])
    if parsed.address not in plain_http:
        _refuse_inner(parsed.host.strip("[]"))
    limits = aiohttp.ClientTimeout(total=timeout, connect=_CONNECT)
    connector = aiohttp.TCPConnector(resolver=_resolver(plain_http))
    try:
        async with (
            aiohttp.ClientSession(connector=connector, timeout=limits, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.get(url, allow_redirects=False, proxy=_proxy(url)) as answer,
        ):
            return answer.status
    except TimeoutError as error:
        raise errors.TimedOut(f"{_shown(url)} did not answer within {timeout:g} s", target=_shown(url)) from error
    except aiohttp.ClientError as error:
        raise errors.Unreachable(f"{_shown(url)} cannot be reached: {error}", target=_shown(url)) from error


def checked(url: str, *, plain_http: Collection[str] = ()) -> None:
    """See whether a URL may be fetched.

    Raises:
        errors.UsageError: It may not.
        errors.Refused: It names an address where nothing may be fetched.
    """
    bare, _, _ = url.partition("?")
    parsed = remote_url.RemoteUrl.parse(bare, schemes=["https", "http"])
    if parsed.address in plain_http:
        return
    if parsed.scheme == "http":
        raise errors.UsageError(f"{_shown(url)} is not https", hint="write https://")
    _refuse_inner(parsed.host.strip("[]"))


async def refuse_near(address: str, *, allowed: Collection[str] = ()) -> None:
    """See that a name or address in a stranger's URL does not stand for this computer, or for what only it can see.

    Args:
        address: The host, with a port or without.
        allowed: Addresses that whoever runs the command has named.

    Raises:
        errors.Refused: It does.
    """
    if address in allowed:
        return
    host = urllib.parse.urlsplit(f"//{address}").hostname or ""
    _refuse_inner(host)
    try:
        # As programs read it: 127.1 and 2130706433 are addresses, too.
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return  # nobody gets there, or only a proxy knows it
    for each in found:
        _refuse_inner(str(each[4][0]), named=host)


async def _content(answer: aiohttp.ClientResponse, url: str, limit: int) -> bytes:
    if answer.status in (404, 410):
        raise WebNotFound(f"there is no {_shown(url)}", target=_shown(url))
    if answer.status != 200:
        raise errors.ClientError(f"{_shown(url)} answers {answer.status} {answer.reason}", target=_shown(url))
    chunks: list[bytes] = []
    size = 0
    async for chunk in answer.content.iter_any():
        size += len(chunk)
        if size > limit:
            raise errors.Refused(f"{_shown(url)} has more than {limit >> 20} MiB")
        chunks.append(chunk)
    return b"".join(chunks)


def _proxy(url: str) -> str | None:
    """The user's proxy. aiohttp would find it, too, and with it the passwords of ~/.netrc."""
    parsed = urllib.parse.urlsplit(url)
    if urllib.request.proxy_bypass(parsed.netloc):
        return None
    return urllib.request.getproxies().get(parsed.scheme)


def _resolver(plain_http: Collection[str]) -> AbstractResolver:
    from aiohttp.abc import AbstractResolver
    from aiohttp.resolver import ThreadedResolver

    allowed = {urllib.parse.urlsplit(f"//{address}").hostname for address in plain_http}

    class Resolver(AbstractResolver):
        """Names of hosts, but for those that stand for this computer."""

        def __init__(self) -> None:
            self._inner = ThreadedResolver(loop=asyncio.get_running_loop())

        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
        ) -> list[ResolveResult]:
            found = await self._inner.resolve(host, port, family)
            if host not in allowed:
                for each in found:
                    _refuse_inner(each["host"])
            return found

        async def close(self) -> None:
            await self._inner.close()

    return Resolver()


def _refuse_inner(host: str, *, named: str = "") -> None:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if address.is_loopback or address.is_link_local or address.is_unspecified or address.is_multicast:
        by = f"{named} is {host}, " if named not in ("", host) else f"{host} is "
        raise errors.Refused(
            f"{by}an address at which nothing is fetched for a repo: this computer's own, or of its link alone",
            hint=f"If it is meant: FIRSTLIGHT_PLAIN_HTTP={named or host}:PORT",
        )


def _shown(url: str) -> str:
    return remote_url.without_credentials(url if len(url) <= 200 else f"{url[:200]}…")
