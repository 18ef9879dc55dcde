"""How to reach an API server and as whom: out of a kubeconfig (``load``) or out of a pod (``in_cluster``).

A ``Config`` holds what the files say, checked, with certificates already read; keys, tokens and passwords are
secrets, so that no repr shows them. A token file stays a path, because it is renewed under way.
"""

import base64
import binascii
import dataclasses
import os
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients.kube import kubeconfig
from firstlight.model.secret import Secret

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


@dataclasses.dataclass(frozen=True)
class Proxy:
    """An HTTP proxy on the way to the server."""

    url: str
    """Without credentials."""
    username: str = ""
    password: Secret | None = None


@dataclasses.dataclass(frozen=True)
class Impersonation:
    """Whom the user of the kubeconfig acts as."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclasses.dataclass(frozen=True)
class ExecPlugin:
    """A program that prints a credential."""

    api_version: str
    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, Secret], ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False
    cluster_config: Any = None
    """What the cluster's extension holds for plugins."""


@dataclasses.dataclass(frozen=True)
class ClientConfig:
    """One context: a server, an identity and a namespace."""

    server: str
    namespace: str = "default"
    context: str = ""
    source: str = ""
    """The file it came from, for messages."""
    certificate_authority: bytes = b""
    """PEM; the system's authorities if it is empty."""
    insecure: bool = False
    server_name: str = ""
    """The name that the server's certificate must have, if it is not the one in ``server``."""
    proxy: Proxy | None = None
    compression: bool = True
    client_certificate: bytes = b""
    client_key: Secret | None = None
    token: Secret | None = None
    token_file: Path | None = None
    username: str = ""
    password: Secret | None = None
    impersonation: Impersonation | None = None
    exec_plugin: ExecPlugin | None = None


def load(
    path: Path | Sequence[Path] | None = None,
    *,
    context: str = "",
    allow_exec: bool = False,
    is_kept: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> ClientConfig:
    """Read a context out of a kubeconfig.

    Args:
        path: The file, or several to be merged; what KUBECONFIG says if it is not given.
        context: Its name; the current one if it is not given.
        allow_exec: Whether a credential plugin may be run: only for the user's own kubeconfig, never for
            one that came with a repository.
        is_kept: Whether firstlight keeps the file in the directory of a repo: then everything must be in it.
        environ: Where KUBECONFIG and HOME are looked up.

    Raises:
        errors.ConfigError: A file is missing or says something that it must not say.
        errors.Refused: The user needs a credential plugin, and ``allow_exec`` is not set; or a kept file
            names other files, programs or proxies.
    """
    paths = kubeconfig.locate(environ) if path is None else (path,) if isinstance(path, Path) else tuple(path)
    for each in paths if is_kept else ():
        kubeconfig.check_inline(each)
    files = kubeconfig.read(paths)
    name = context or files.current_context
    if not name:
        raise errors.ConfigError(
            "current-context is not set", path=files.source, hint=f"choose one of: {_names(files.contexts)}"
        )
    chosen = files.contexts.get(name)
    if chosen is None:
        raise errors.ConfigError(
            f"there is no context {name!r}", path=files.source, hint=f"there are: {_names(files.contexts)}"
        )
    cluster = _referred(chosen, "cluster", files.clusters)
    user = _referred(chosen, "user", files.users) if chosen.text("user") else None
    settings = _cluster_settings(cluster)
    if user is not None:
        settings |= _user_settings(user, cluster=cluster, allow_exec=allow_exec)
    return ClientConfig(
        **settings,
        namespace=chosen.text("namespace") or "default",
        context=name,
        source=str(chosen.path),
    )


def in_cluster(*, directory: Path = SERVICE_ACCOUNT, environ: Mapping[str, str] = os.environ) -> ClientConfig:
    """The identity of the pod that this runs in.

    Raises:
        errors.ConfigError: This is no pod, or it has no service account.
    """
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise errors.ConfigError("KUBERNETES_SERVICE_HOST is not set: this is no pod", path=str(directory))
    token = directory / "token"
    if not token.is_file():
        raise errors.ConfigError(
            "there is no service account token",
            path=str(token),
            hint="set automountServiceAccountToken: true",
        )
    namespace = directory / "namespace"
    return ClientConfig(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
        source=str(directory),
        certificate_authority=(directory / "ca.crt").read_bytes() if (directory / "ca.crt").is_file() else b"",
        token_file=token,
    )


def parse_proxy(url: str) -> Proxy:
    """A proxy's address, with its credentials taken out.

    Raises:
        ValueError: It is none that can be used; the message says why and repeats no credentials.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("is no address; write http://host:port") from None
    if parts.scheme in {"socks5", "socks5h", "socks4"}:
        raise ValueError(f"is a {parts.scheme} proxy, which firstlight cannot use; write an http:// or https:// one")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be an http:// or https:// address")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return Proxy(
        url=f"{parts.scheme}://{host}" + (f":{port}" if port else ""),
        username=urllib.parse.unquote(parts.username or ""),
        password=Secret(urllib.parse.unquote(parts.password)) if parts.password is not None else None,
    )


def _cluster_settings(cluster: kubeconfig.KubeconfigEntry) -> dict[str, Any]:
    server = cluster.text("server").rstrip("/")
    try:
        parts = urllib.parse.urlsplit(server)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or parts.username is not None:
        what = "must be the address of the API server" if server else "is missing"
        raise cluster.error("server", what, hint="write server: https://host:6443")
    authority = _content(cluster, "certificate-authority")
    insecure = cluster.flag("insecure-skip-tls-verify")
    if insecure and authority:
        raise cluster.error(
            "insecure-skip-tls-verify",
            "is true, and there is a certificate authority: one of them is wrong",
            hint="leave insecure-skip-tls-verify out",
        )
    if authority and b"-----BEGIN" not in authority:
        raise cluster.error("certificate-authority-data", "holds no PEM certificate")
    proxy = None
    if cluster.text("proxy-url"):
        try:
            proxy = parse_proxy(cluster.text("proxy-url"))
        except ValueError as error:
            raise cluster.error("proxy-url", str(error)) from None
    return {
        "server": server,
        "certificate_authority": authority,
        "insecure": insecure,
        "server_name": cluster.text("tls-server-name"),
        "proxy": proxy,
        "compression": not cluster.flag("disable-compression"),
    }


def _user_settings(
    user: kubeconfig.KubeconfigEntry, *, cluster: kubeconfig.KubeconfigEntry, allow_exec: bool
) -> dict[str, Any]:
    if user.entry("auth-provider") is not None:
        raise user.error(
            "auth-provider", "is no longer part of Kubernetes", hint="use exec: with your provider's plugin"
        )
    certificate, key = _content(user, "client-certificate"), _content(user, "client-key")
    if bool(certificate) != bool(key):
        missing = "client-key-data" if certificate else "client-certificate-data"
        raise user.error("", f"has only half of a client certificate: {missing} is missing")
    token, token_file = user.text("token"), user.file("tokenFile")
    username, password = user.text("username"), user.text("password")
    if (token or token_file) and (username or password):
        raise user.error("", "has a token and a password", hint="leave one of them out")
    if token_file is not None and not token_file.is_file():
        raise user.error("tokenFile", f"names {token_file}, which does not exist")
    plugin = user.entry("exec")
    # As in kubectl, a plugin is asked only if there is no other way to say who one is.
    is_plugin_used = plugin is not None and not (token or token_file or username or certificate)
    return {
        "client_certificate": certificate,
        "client_key": Secret(key) if key else None,
        "token": Secret(token) if token and token_file is None else None,
        "token_file": token_file,
        "username": username,
        "password": Secret(password) if username or password else None,
        "impersonation": _impersonation(user),
        "exec_plugin": _exec_plugin(plugin, cluster=cluster, allow_exec=allow_exec)
        if plugin is not None and is_plugin_used
        else None,
    }


def _impersonation(user: kubeconfig.KubeconfigEntry) -> Impersonation | None:
    name = user.text("as")
    uid, groups, extra = user.text("as-uid"), user.texts("as-groups"), user.lists("as-user-extra")
    if not name:
        if uid or groups or extra:
            raise user.error("", "impersonates a uid, groups or extra without a user", hint="write as: <user>")
        return None
    return Impersonation(user=name, uid=uid, groups=groups, extra=tuple(extra.items()))


def _exec_plugin(
    plugin: kubeconfig.KubeconfigEntry, *, cluster: kubeconfig.KubeconfigEntry, allow_exec: bool
) -> ExecPlugin:
    command = plugin.text("command")
    if not command:
        raise plugin.error("command", "is missing", hint="write the program that prints the credential")
    if not allow_exec:
        raise errors.Refused(
            f"{plugin.path}:{plugin.line}: {plugin.label} wants to run {command}, which is not allowed here",
            hint="credential plugins run only from your own kubeconfig (KUBECONFIG or ~/.kube/config)",
        )
    api_version = plugin.text("apiVersion")
    if api_version not in _EXEC_VERSIONS:
        raise plugin.error(
            "apiVersion",
            f"must be one of {', '.join(_EXEC_VERSIONS)}",
            hint=f"write apiVersion: {_EXEC_VERSIONS[0]}",
        )
    if plugin.text("interactiveMode") == "Always":
        raise plugin.error(
            "interactiveMode",
            "is Always, and firstlight gives plugins no terminal",
            hint="log in with the plugin first and write IfAvailable",
        )
    extensions = [
        entry.plain("extension") for entry in cluster.entries("extensions") if entry.text("name") == _EXEC_EXTENSION
    ]
    return ExecPlugin(
        api_version=api_version,
        # A name is looked up in PATH; a path is relative to the kubeconfig, as documented for kubectl.
        command=str(plugin.path.parent / command) if "/" in command else command,
        args=plugin.texts("args"),
        env=tuple((item.text("name"), Secret(item.text("value"))) for item in plugin.entries("env")),
        install_hint=plugin.text("installHint").strip(),
        provide_cluster_info=plugin.flag("provideClusterInfo"),
        cluster_config=extensions[0] if extensions else None,
    )


def _content(entry: kubeconfig.KubeconfigEntry, key: str) -> bytes:
    """The content of ``<key>-data``, else of the file that ``<key>`` names."""
    data = entry.text(f"{key}-data")
    if data:
        try:
            return base64.b64decode("".join(data.split()), validate=True)
        except (binascii.Error, ValueError):
            # From None: the original may quote what it could not decode.
            raise entry.error(
                f"{key}-data", "is not base64", hint=f"write the output of: base64 -w0 <{key} file>"
            ) from None
    path = entry.file(key)
    if path is None:
        return b""
    try:
        return path.read_bytes()
    except OSError as error:
        raise entry.error(key, f"names {path}, which cannot be read: {error.strerror}") from error


def _referred(
    context: kubeconfig.KubeconfigEntry, key: str, entries: Mapping[str, kubeconfig.KubeconfigEntry]
) -> kubeconfig.KubeconfigEntry:
    name = context.text(key)
    if name not in entries:
        what = f"names {name!r}, which does not exist" if name else "is missing"
        raise context.error(key, what, hint=f"there are: {_names(entries)}")
    return entries[name]


def _names(entries: Mapping[str, kubeconfig.KubeconfigEntry]) -> str:
    return ", ".join(sorted(entries)) or "none"
