"""Which proxy leads to a server: the kubeconfig's, else the environment's, as kubectl has it."""

import ipaddress
import urllib.parse
from collections.abc import Mapping

from firstlight import errors
from firstlight.clients.kube import config as configs


def choose(config: configs.Config, environ: Mapping[str, str]) -> configs.Proxy | None:
    """The proxy for ``config.server``, or none.

    Raises:
        errors.ConfigError: The environment names one that cannot be used; going around it would be no answer.
    """
    if config.proxy is not None:
        return config.proxy
    parts = urllib.parse.urlsplit(config.server)
    name = "HTTPS_PROXY" if parts.scheme == "https" else "HTTP_PROXY"
    url = environ.get(name) or environ.get(name.lower()) or ""
    host = parts.hostname or ""
    excluded = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    if not url or _is_local(host) or _is_excluded(host, parts.port, excluded):
        return None
    try:
        return configs.parse_proxy(url if "://" in url else f"http://{url}")
    except ValueError as error:
        raise errors.ConfigError(
            f"{name} {error}", path="environment", hint=f"or except the server from it: NO_PROXY={host}"
        ) from None


def _is_local(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _is_excluded(host: str, port: int | None, excluded: str) -> bool:
    address = _address(host)
    for part in (raw.strip().lower() for raw in excluded.split(",")):
        if not part:
            continue
        if part == "*":
            return True
        name, _, number = part.rpartition(":") if part.count(":") == 1 else (part, "", "")
        if number.isdecimal() and int(number) != port:
            continue
        name = name.strip("[]")
        if address is not None:
            try:
                if address in ipaddress.ip_network(name, strict=False):
                    return True
            except (ValueError, TypeError):
                continue
        elif name.startswith((".", "*.")):
            # A leading dot means subdomains only.
            if host.endswith(name.lstrip("*")):
                return True
        elif host == name or host.endswith(f".{name}"):
            return True
    return False


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
