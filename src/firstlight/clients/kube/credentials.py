"""Who a client says it is, as it changes under way: fixed, from a file that is renewed, or from a plugin.

The client asks ``current`` before every request and ``renew`` after a 401. What a plugin prints is a
credential, so it never becomes part of a message.
"""

import asyncio
import base64
import dataclasses
import datetime
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from firstlight import errors
from firstlight.clients import command
from firstlight.clients.kube import client_config
from firstlight.clients.sandbox import program_limits
from firstlight.model.secret import Secret

PLUGIN_TIMEOUT = 60.0


@dataclasses.dataclass(frozen=True)
class ApiCredential:
    """What is shown to the server."""

    token: Secret | None = None
    certificate: bytes = b""
    key: Secret | None = None
    username: str = ""
    password: Secret | None = None
    expires: float | None = None
    """Seconds since the epoch."""

    def header(self) -> Secret | None:
        """The Authorization header, if there is one."""
        if self.token is not None:
            return Secret(b"Bearer " + self.token.reveal())
        if self.password is not None:
            pair = self.username.encode() + b":" + self.password.reveal()
            return Secret(b"Basic " + base64.b64encode(pair))
        return None


class CredentialSource(Protocol):
    """Where a credential comes from."""

    async def current(self) -> ApiCredential:
        """The one to use now."""

    async def renew(self, refused: ApiCredential) -> bool:
        """Whether there is another one than the refused."""


def source(config: client_config.ClientConfig, *, now: Callable[[], float] = time.time) -> CredentialSource:
    """The source that a config asks for; ``now`` is the wall clock that expiry is compared with."""
    fixed = ApiCredential(
        token=config.token,
        certificate=config.client_certificate,
        key=config.client_key,
        username=config.username,
        password=config.password,
    )
    if config.exec_plugin is not None:
        return PluginCredential(config, config.exec_plugin, now=now)
    if config.token_file is not None:
        return TokenFile(config.token_file, fixed)
    return FixedCredential(fixed)


class FixedCredential:
    """A credential that never changes."""

    def __init__(self, credential: ApiCredential) -> None:
        self._credential = credential

    async def current(self) -> ApiCredential:
        """The one there is."""
        return self._credential

    async def renew(self, refused: ApiCredential) -> bool:
        """There is no other."""
        return False


class TokenFile:
    """A token in a file that somebody renews, such as a service account's."""

    def __init__(self, path: Path, base: ApiCredential) -> None:
        self._path = path
        self._credential = base
        self._seen: tuple[int, int, int] | None = None

    async def current(self) -> ApiCredential:
        """The token as the file has it now, or as it last had it."""
        try:
            stat = self._path.stat()
            seen = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            if seen != self._seen:
                self._credential = dataclasses.replace(self._credential, token=self._read())
                self._seen = seen
        except OSError as error:
            # While it is being replaced the old one is still good.
            if self._credential.token is None:
                raise errors.ConfigError(
                    f"the token file cannot be read: {error.strerror}", path=str(self._path)
                ) from error
        return self._credential

    async def renew(self, refused: ApiCredential) -> bool:
        """Look again, whatever the file's date says."""
        self._seen = None
        return (await self.current()).token != refused.token

    def _read(self) -> Secret:
        token = self._path.read_text().strip()
        if not token:
            raise errors.ConfigError("the token file is empty", path=str(self._path))
        return Secret(token)


class PluginCredential:
    """A program that prints an ``ExecCredential``."""

    def __init__(
        self,
        config: client_config.ClientConfig,
        plugin: client_config.ExecPlugin,
        *,
        now: Callable[[], float],
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._config = config
        self._plugin = plugin
        self._now = now
        self._environ = environ
        self._credential: ApiCredential | None = None
        self._lock = asyncio.Lock()

    async def current(self) -> ApiCredential:
        """The last one until it expires, then a new one."""
        async with self._lock:
            if self._credential is None or self._is_expired(self._credential):
                self._credential = await self._ask()
            return self._credential

    async def renew(self, refused: ApiCredential) -> bool:
        """Ask again, unless somebody else already did."""
        async with self._lock:
            if self._credential is not refused:
                return True
            self._credential = await self._ask()
            return True

    def _is_expired(self, credential: ApiCredential) -> bool:
        return credential.expires is not None and credential.expires <= self._now()

    async def _ask(self) -> ApiCredential:
        plugin = self._plugin
        env = {name: value.reveal().decode() for name, value in plugin.env}
        info = msgspec.json.encode(exec_info(self._config, plugin)).decode()
        try:
            completed = await command.run(
                [plugin.command, *plugin.args],
                timeout=PLUGIN_TIMEOUT,
                env={**self._environ, **env, "KUBERNETES_EXEC_INFO": info},
                within=program_limits.FREE,
            )
        except errors.ClientError as error:
            error.hint = plugin.install_hint or f"it is named as exec plugin in {self._config.source}"
            raise
        return parse_answer(completed.stdout, plugin=plugin)


def exec_info(config: client_config.ClientConfig, plugin: client_config.ExecPlugin) -> dict[str, Any]:
    """What a plugin is told in KUBERNETES_EXEC_INFO."""
    spec: dict[str, Any] = {"interactive": False}
    if plugin.provide_cluster_info:
        cluster: dict[str, Any] = {"server": config.server}
        if config.server_name:
            cluster["tls-server-name"] = config.server_name
        if config.insecure:
            cluster["insecure-skip-tls-verify"] = True
        if config.certificate_authority:
            cluster["certificate-authority-data"] = base64.b64encode(config.certificate_authority).decode()
        if config.proxy is not None:
            cluster["proxy-url"] = config.proxy.url
        if not config.compression:
            cluster["disable-compression"] = True
        if plugin.cluster_config is not None:
            cluster["config"] = plugin.cluster_config
        spec["cluster"] = cluster
    return {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}


def parse_answer(stdout: bytes, *, plugin: client_config.ExecPlugin) -> ApiCredential:
    """The credential that a plugin printed.

    Raises:
        errors.ClientError: It printed something else; the message does not repeat it.
    """

    def wrong(what: str) -> errors.ClientError:
        return errors.ClientError(
            f"credential plugin {plugin.command} {what}", target=plugin.command, hint=plugin.install_hint
        )

    try:
        answer = msgspec.json.decode(stdout, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # From None: the original may quote the output.
        raise wrong("printed no ExecCredential") from None
    if answer.kind != "ExecCredential" or answer.api_version != plugin.api_version:
        raise wrong(f"printed no ExecCredential of {plugin.api_version}")
    status = answer.status
    if status is None or not (status.token or status.certificate):
        raise wrong("printed an ExecCredential without token and certificate")
    if bool(status.certificate) != bool(status.key):
        raise wrong("printed only half of a client certificate")
    expires = None
    if status.expires:
        try:
            expires = datetime.datetime.fromisoformat(status.expires).timestamp()
        except ValueError:
            raise wrong("printed an expirationTimestamp that is no time") from None
    return ApiCredential(
        token=Secret(status.token) if status.token else None,
        certificate=(status.certificate or "").encode(),
        key=Secret(status.key) if status.key else None,
        expires=expires,
    )


class _Status(msgspec.Struct):
    token: str | None = None
    certificate: str | None = msgspec.field(name="clientCertificateData", default=None)
    key: str | None = msgspec.field(name="clientKeyData", default=None)
    expires: str | None = msgspec.field(name="expirationTimestamp", default=None)


class _Answer(msgspec.Struct):
    kind: str = ""
    api_version: str = msgspec.field(name="apiVersion", default="")
    status: _Status | None = None
