"""Which machines a command is about, and through which endpoints.

Addresses come from repositories and from discovery, that is from strangers. What is not an address or a host name is
refused here, so that nothing else ever reaches the command line; talosctl also splits lists at commas.
"""

import dataclasses
import ipaddress
import re
from collections.abc import Iterable

from firstlight import errors

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_ZONE = re.compile(r"[A-Za-z0-9._-]{1,15}")
_WITH_PORT = re.compile(r"(?P<host>\[[^\]\[]+\]|[^:\[\]]+):(?P<port>[0-9]{1,5})")
_SCHEME = "https://"


@dataclasses.dataclass(frozen=True)
class MachineTarget:
    """Machines by address or name, and the endpoints that forward to them.

    Without endpoints those of the talosconfig are used. In maintenance mode there is no forwarding: the one node is
    the endpoint.
    """

    nodes: tuple[str, ...]
    endpoints: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.nodes:
            raise errors.UsageError("a machine is needed to talk to")
        for node in self.nodes:
            if not is_host(node):
                raise errors.UsageError(
                    f"{_shown(node)} is not the address or name of a machine", hint="write an IP address or a host name"
                )
        for endpoint in self.endpoints:
            if not is_host(endpoint.removeprefix(_SCHEME)):
                raise errors.UsageError(
                    f"{_shown(endpoint)} is not an endpoint",
                    hint="write an IP address or a host name, with a port if it is not 50000",
                )

    @classmethod
    def of(cls, *nodes: str, endpoints: Iterable[str] = ()) -> "MachineTarget":
        """A target of some machines: ``Target.of("10.5.0.2", endpoints=["10.5.0.10"])``."""
        return cls(nodes, tuple(endpoints))

    @property
    def node(self) -> str:
        """The only machine, for what is asked of one at a time."""
        if len(self.nodes) > 1:
            raise ValueError(f"this is for one machine, not for {self}")
        return self.nodes[0]

    def __str__(self) -> str:
        return ", ".join(self.nodes)


def is_host(text: str) -> bool:
    """Whether a text is an IP address or a host name, with a port or without."""
    match = _WITH_PORT.fullmatch(text)
    if match is None:
        return _is_address(text) or _is_name(text)
    host = match["host"]
    if int(match["port"]) not in range(1, 65536):
        return False
    return _is_address(host[1:-1]) and ":" in host if host.startswith("[") else _is_address(host) or _is_name(host)


def _is_address(text: str) -> bool:
    bare, percent, zone = text.partition("%")
    if percent and not _ZONE.fullmatch(zone):
        return False  # the standard library accepts anything there
    try:
        ipaddress.ip_address(bare)
    except ValueError:
        return False
    return not percent or ":" in bare


def _is_name(text: str) -> bool:
    return len(text) <= 253 and _NAME.fullmatch(text) is not None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:80] + "…")
