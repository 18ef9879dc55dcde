"""One request over HTTP: adds who asks, and says what came of it in terms that ``retry`` can judge.

The only module that knows aiohttp's exceptions. It repeats nothing; ``client`` does.
"""

import contextlib
import dataclasses
import os
import ssl
import string
import urllib.parse
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from typing import Any

import aiohttp
import msgspec
import multidict
import yarl

import firstlight
from firstlight import errors
from firstlight.clients.kube import client_config, credentials, kube_errors, retry, server_connection
from firstlight.model.secret import Secret

USER_AGENT = f"firstlight/{firstlight.__version__}"

_KEEP_ALIVE = 60.0
"""Shorter than the 90 s after which an API server closes idle connections: few requests meet a dead one."""

_READ_BUFFER = 1 << 18

_HEADER_TOKEN = frozenset(string.ascii_letters + string.digits + "!#$&'*+-.^_`|~")


@dataclasses.dataclass(frozen=True)
class HttpCall:
    """A request, with all that is needed to send it, repeat it and speak of it."""

    method: str
    path: str
    target: kube_errors.ApiTarget
    repeat: retry.Repeat
    params: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    body: bytes | None = dataclasses.field(default=None, repr=False)
    expected: frozenset[int] = frozenset()
    """Codes of 400 and more that are answers here, and no errors."""


@dataclasses.dataclass(frozen=True)
class HttpResponse:
    """What the server said."""

    status: int
    headers: Mapping[str, str]
    body: bytes = dataclasses.field(repr=False)
    document: Any = dataclasses.field(default=None, repr=False)
    """The body, decoded if it is JSON."""

    @property
    def retry_after(self) -> float | None:
        """Seconds from the header; its other form, a date, no API server uses."""
        text = self.headers.get("Retry-After", "")
        return float(text) if text.isdecimal() else None


class AttemptFailed(Exception):
    """There is no answer; ``happened`` says how far the request came."""

    def __init__(self, happened: retry.AttemptEnd, error: errors.ClientError) -> None:
        super().__init__(error.message)
        self.happened = happened
        self.error = error


class Transport:
    """Connections to one API server."""

    def __init__(
        self,
        config: client_config.ClientConfig,
        *,
        source: credentials.CredentialSource,
        policy: retry.RetryPolicy,
        environ: Mapping[str, str] = os.environ,
        agent: str = "",
    ) -> None:
        self.config = config
        self._source = source
        self._policy = policy
        self._base = yarl.URL(config.server, encoded=True)
        self._proxy = server_connection.choose_proxy(config, environ)
        self._headers = _headers(config, agent)
        self._session: aiohttp.ClientSession | None = None
        self._tls: tuple[bytes, Secret | None, ssl.SSLContext] | None = None

    async def open(self) -> None:
        """Make ready; connects nowhere yet."""
        self._context(await self._source.current())
        self._session = aiohttp.ClientSession(
            # The limit is the client's, which adapts; no cookies, no .netrc, no proxies that were not
            # chosen here.
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            trust_env=False,
            read_bufsize=_READ_BUFFER,
        )
        # aiohttp would repeat a GET or DELETE on a kept connection by itself, unseen; what is repeated is decided
        # in one place. There is no public switch; a test fails if this one goes.
        self._session._retry_connection = False

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def credential(self) -> credentials.ApiCredential:
        """Who a request would be sent as now."""
        return await self._source.current()

    async def renew(self, refused: credentials.ApiCredential) -> bool:
        """After a 401: whether there is another credential to try."""
        return await self._source.renew(refused)

    async def send(self, call: HttpCall, credential: credentials.ApiCredential, *, timeout: float) -> HttpResponse:
        """Send a request and read the whole answer, whatever its status.

        Raises:
            Failed: There is no answer.
            kube_errors.Untrusted: The server's certificate does not verify.
        """
        limits = aiohttp.ClientTimeout(total=timeout, sock_connect=min(timeout, self._policy.connect))
        with self._translated(call, timeout):
            async with self._request(call, credential, limits) as response:
                body = await response.read()
                document = _decode(response, body)
                return HttpResponse(response.status, response.headers, body, document)

    @contextlib.asynccontextmanager
    async def stream(
        self, call: HttpCall, credential: credentials.ApiCredential, *, idle_timeout: float
    ) -> AsyncIterator[tuple[AsyncGenerator[bytes, None], HttpResponse | None]]:
        """Send a request and read its answer as it comes: its chunks, or the whole if it is an error.

        Raises:
            Failed: There is no answer, or it breaks, or nothing comes for ``idle_timeout``.
            kube_errors.Untrusted: The server's certificate does not verify.
        """
        limits = aiohttp.ClientTimeout(total=None, sock_connect=self._policy.connect, sock_read=idle_timeout)
        with self._translated(call, idle_timeout):
            async with self._request(call, credential, limits) as response:
                if response.status >= 300:
                    body = await response.read()
                    answer = HttpResponse(response.status, response.headers, body, _decode(response, body))
                    yield _nothing(), answer
                else:
                    yield self._chunks(response, call, idle_timeout), None

    async def _chunks(
        self, response: aiohttp.ClientResponse, call: HttpCall, idle_timeout: float
    ) -> AsyncGenerator[bytes, None]:
        with self._translated(call, idle_timeout):
            async for chunk in response.content.iter_any():
                yield chunk

    def _request(
        self, call: HttpCall, credential: credentials.ApiCredential, limits: aiohttp.ClientTimeout
    ) -> contextlib.AbstractAsyncContextManager[aiohttp.ClientResponse]:
        if self._session is None:
            raise RuntimeError("the client is not open: use it with 'async with'")
        headers = multidict.CIMultiDict(call.headers)
        authorization = credential.header()
        if authorization is not None:
            headers["Authorization"] = authorization.reveal().decode("latin-1")
        # With TLS the proxy reads its own CONNECT, without TLS it reads the request.
        for_proxy = multidict.CIMultiDict[str]() if self._base.scheme == "https" else headers
        chosen = self._proxy
        if chosen is not None and chosen.username:
            as_proxy_user = credentials.ApiCredential(
                username=chosen.username, password=chosen.password or Secret("")
            ).header()
            assert as_proxy_user is not None
            for_proxy["Proxy-Authorization"] = as_proxy_user.reveal().decode("latin-1")
        return self._session.request(
            call.method,
            self._url(call),
            data=call.body,
            headers=headers,
            # An API server does not redirect, and credentials must not follow one elsewhere.
            allow_redirects=False,
            timeout=limits,
            ssl=self._context(credential) if self._base.scheme == "https" else True,
            server_hostname=self.config.server_name or None,
            proxy=chosen.url if chosen is not None else None,
            proxy_headers=for_proxy if chosen is not None and for_proxy is not headers else None,
        )

    def _url(self, call: HttpCall) -> yarl.URL:
        query = urllib.parse.urlencode(call.params, quote_via=urllib.parse.quote)
        text = f"{self.config.server}{call.path}" + (f"?{query}" if query else "")
        return yarl.URL(text, encoded=True)

    def _context(self, credential: credentials.ApiCredential) -> ssl.SSLContext:
        """One context as long as the certificate stays the same: connections are kept per context."""
        if self._tls is None or self._tls[:2] != (credential.certificate, credential.key):
            made = server_connection.tls_context(self.config, certificate=credential.certificate, key=credential.key)
            self._tls = (credential.certificate, credential.key, made)
        return self._tls[2]

    @contextlib.contextmanager
    def _translated(self, call: HttpCall, timeout: float) -> Iterator[None]:
        def failed(happened: retry.AttemptEnd, what: str, *, hint: str = "") -> AttemptFailed:
            kind = errors.TimedOut if happened is retry.AttemptEnd.SLOW else errors.Unreachable
            return AttemptFailed(happened, kind(f"{call.target}: {what}", target=self.config.server, hint=hint))

        try:
            yield
        except aiohttp.ClientConnectorCertificateError as error:
            cause = error.certificate_error
            assert isinstance(cause, ssl.SSLCertVerificationError)
            raise server_connection.explain_tls(self.config.server, cause) from error
        except aiohttp.ClientConnectorSSLError as error:
            if isinstance(error.os_error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
                raise failed(retry.AttemptEnd.NOT_SENT, "the server closed the connection in the handshake") from error
            reason = getattr(error.os_error, "reason", None) or error.os_error
            raise errors.Unreachable(
                f"{call.target}: no TLS with this server ({reason})",
                target=self.config.server,
                hint="does the address belong to an API server, and does it take this client certificate?",
            ) from error
        except aiohttp.ClientHttpProxyError as error:
            what = f"the proxy answered {error.status} {error.message}"
            if error.status == 407:
                raise errors.Unreachable(
                    f"{call.target}: {what}",
                    target=self.config.server,
                    hint="write proxy-url: http://user:password@…",
                ) from None
            # From None: the original's repr holds the headers of the request.
            raise failed(retry.AttemptEnd.NOT_SENT, what) from None
        except aiohttp.ClientProxyConnectionError as error:
            raise failed(retry.AttemptEnd.NOT_SENT, f"the proxy cannot be reached: {_os_text(error)}") from error
        except aiohttp.ClientConnectorError as error:
            raise failed(retry.AttemptEnd.NOT_SENT, _os_text(error)) from error
        except aiohttp.ConnectionTimeoutError as error:
            raise failed(retry.AttemptEnd.NOT_SENT, "no connection in time") from error
        except TimeoutError as error:
            raise failed(retry.AttemptEnd.SLOW, f"nothing came within {timeout:g} s") from error
        except aiohttp.ClientPayloadError as error:
            raise failed(retry.AttemptEnd.LOST, "the answer was cut off") from error
        except aiohttp.ServerDisconnectedError as error:
            raise failed(retry.AttemptEnd.LOST, "the server closed the connection without an answer") from error
        except (aiohttp.ClientOSError, ConnectionError, ssl.SSLError) as error:
            raise failed(retry.AttemptEnd.LOST, f"the connection broke: {_os_text(error)}") from error
        except aiohttp.ClientError as error:
            # From None: some of these hold the request with its headers.
            raise failed(retry.AttemptEnd.LOST, f"no HTTP answer ({type(error).__name__})") from None
        except _Incomplete:
            raise failed(retry.AttemptEnd.LOST, "the answer is no complete JSON") from None


class _Incomplete(Exception):
    """JSON was promised and did not come."""


def _decode(response: aiohttp.ClientResponse, body: bytes) -> Any:
    if not response.content_type.endswith("json") or not body:
        return None
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        if response.status >= 400:
            return None
        raise _Incomplete from None


async def _nothing() -> AsyncGenerator[bytes, None]:
    empty: tuple[bytes, ...] = ()
    for chunk in empty:
        yield chunk


def _os_text(error: BaseException) -> str:
    inner = getattr(error, "os_error", None) or error
    return str(getattr(inner, "strerror", None) or inner) or type(inner).__name__


def _headers(config: client_config.ClientConfig, agent: str) -> multidict.CIMultiDict[str]:
    said = f"{USER_AGENT} ({agent})" if agent else USER_AGENT
    headers = multidict.CIMultiDict(
        {"User-Agent": said, "Accept-Encoding": "gzip" if config.compression else "identity"}
    )
    acting = config.impersonation
    if acting is not None:
        headers["Impersonate-User"] = acting.user
        if acting.uid:
            headers["Impersonate-Uid"] = acting.uid
        for group in acting.groups:
            headers.add("Impersonate-Group", group)
        for key, values in acting.extra:
            name = "".join(c if c in _HEADER_TOKEN else urllib.parse.quote(c, safe="") for c in key)
            for value in values:
                headers.add(f"Impersonate-Extra-{name}", value)
    return headers
