"""Which ports a lab opens, and what each asks of a client; servers.yaml is the list."""

import functools
from pathlib import Path
from typing import Literal

import msgspec
import yaml

from firstlight.lab.network import Network

Asked = Literal["certificate", "password", "user", "silence", "nothing"]
HIGH = 50000
"""Ports from here on cannot be moved as far as the others."""


class Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A port; servers.yaml explains the fields."""

    of: str
    port: int
    asks: Asked
    gives: str = ""
    host: str = ""

    def port_in(self, net: Network) -> int:
        """The port in a lab whose ports were moved; 0 if any will do."""
        return 0 if not self.port else self.port + (net.shift // 10000 if self.port >= HIGH else net.shift)


@functools.cache
def table() -> tuple[Server, ...]:
    """All of them."""
    raw = yaml.load(Path(__file__).with_suffix(".yaml").read_text(), Loader=yaml.CSafeLoader)
    return msgspec.convert(raw, tuple[Server, ...])
