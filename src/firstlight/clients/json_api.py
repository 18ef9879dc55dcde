"""A JSON API of the user's own, read with a token: Connect and Vault.

Nothing that the server says becomes a message, except its status: it may repeat what was asked for. Tokens go in
headers, redirects are not followed unless the caller does, and neither cookies nor ~/.netrc have a part in it.
"""

from __future__ import annotations

import dataclasses
import ssl
import urllib.parse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from firstlight import errors
from firstlight.clients import secret_errors
from firstlight.clients.kube import client_config, kube_errors, server_connection
from firstlight.model.secret import Secret

if TYPE_CHECKING:
    import aiohttp

TIMEOUT = 30.0
SIZE = 16 << 20


@dataclasses.dataclass(frozen=True)
class JsonResponse:
    """What the server said."""

    status: int
    body: bytes = dataclasses.field(repr=False)
    location: str = dataclasses.field(default="", repr=False)

    @property
    def document(self) -> Any:
        """The body as JSON; None if it is none."""
        try:
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None


class JsonApi:
    """Connections to one server."""

    def __init__(
        self,
        provider: str,
        url: str,
        *,
        headers: Mapping[str, Secret],
        environ: Mapping[str, str],
        authority: bytes = b"",
        server_name: str = "",
        certificate: bytes = b"",
        key: Secret | None = None,
    ) -> None:
        """Prepare; connects nowhere yet.

        Args:
            provider: What it is, for messages.
            url: Where it is.
            headers: What every request carries.
            environ: Where the proxy is read from.
            authority: PEM of whom the certificate must come from; the system's authorities if it is empty.
            server_name: The name in the certificate, if it is not the one in the URL.
            certificate: PEM of the client's own.
            key: Its key.

        Raises:
            errors.UsageError: This is no URL of http or https.
        """
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise errors.UsageError(f"the address of {provider} is no URL of http or https")
        self._provider = provider
        self._config = client_config.ClientConfig(
            server=url.rstrip("/"), source="environment", certificate_authority=authority, server_name=server_name
        )
        self._certificate, self._key = certificate, key
        self._headers = dict(headers)
        self._environ = environ
        self._session: aiohttp.ClientSession | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return self._config.server

    async def get(self, path: str, *, about: str, base: str = "") -> JsonResponse:
        """Ask once, and once more if the connection breaks.

        Args:
            path: What for, quoted.
            about: The reference, for messages.
            base: Another server, to which the first one pointed.

        Raises:
            problems.Unreachable: Nothing answers.
            problems.TimedOut: Nothing came in time.
            problems.Untrusted: The certificate does not verify.
        """
        import aiohttp
        import yarl

        url = yarl.URL((base or self._config.server) + path, encoded=True)
        headers = {name: value.reveal().decode("latin-1") for name, value in self._headers.items()}
        session = self._open()
        chosen = server_connection.choose_proxy(self._config, self._environ)
        for attempt in (1, 2):
            try:
                async with session.get(
                    url, headers=headers, allow_redirects=False, proxy=chosen.url if chosen else None,
                    server_hostname=self._config.server_name or None,
                ) as answer:  # fmt: skip
                    body = await answer.content.read(SIZE + 1)
                    while len(body) <= SIZE and (more := await answer.content.read(SIZE)):
                        body += more
                    if len(body) > SIZE:
                        raise secret_errors.SecretUnreadable(
                            self._provider, about, f"the answer has more than {SIZE >> 20} MiB"
                        )
                    return JsonResponse(answer.status, body, answer.headers.get("Location", ""))
            except aiohttp.ClientConnectorCertificateError as error:
                raise self._untrusted(about, error.certificate_error) from None
            except aiohttp.ClientConnectorError as error:
                what = getattr(error.os_error, "strerror", None) or type(error.os_error).__name__
                raise self._unreachable(about, str(what)) from None
            except TimeoutError:
                what = f"{self._provider} at {self.url} did not answer within {TIMEOUT:g} s"
                raise secret_errors.SecretStoreTimedOut(self._provider, about, what) from None
            except aiohttp.ClientError as error:
                # From None, here and above: some of these hold the request with its headers.
                if attempt == 2:
                    raise self._unreachable(about, f"the connection broke ({type(error).__name__})") from None
        raise AssertionError("not reached")

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp  # it takes longer than a whole listing

        if self._session is None:
            context: ssl.SSLContext | bool = True
            if self._config.server.startswith("https"):
                context = server_connection.tls_context(self._config, certificate=self._certificate, key=self._key)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=context, limit=8),
                timeout=aiohttp.ClientTimeout(total=TIMEOUT, sock_connect=10),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            )
        return self._session

    def _unreachable(self, about: str, what: str) -> secret_errors.SecretStoreUnreachable:
        hint = "is the address right, and may this computer reach it?"
        return secret_errors.SecretStoreUnreachable(
            self._provider, about, f"{self._provider} at {self.url}: {what}", hint=hint
        )

    def _untrusted(self, about: str, error: Exception) -> secret_errors.SecretStoreUntrusted:
        assert isinstance(error, ssl.SSLCertVerificationError)
        explained: kube_errors.KubeUntrusted = server_connection.explain_tls(self.url, error)
        what = f"the certificate of {self._provider} at {self.url} does not verify ({explained.problem.value})"
        return secret_errors.SecretStoreUntrusted(self._provider, about, what)
