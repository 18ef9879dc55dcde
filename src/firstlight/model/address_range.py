"""Stretches of addresses: networks, and ranges from one address to another."""

import dataclasses
import ipaddress
import json
from collections.abc import Iterable, Iterator
from typing import Any

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class AddressRange:
    """All addresses from the first to the last, as somebody has written them."""

    version: int
    first: int
    last: int
    text: str = dataclasses.field(compare=False)

    def __str__(self) -> str:
        return self.text

    @property
    def length(self) -> int:
        """How many addresses it has."""
        return self.last - self.first + 1

    def covers(self, other: "AddressRange") -> bool:
        """Whether all of another one lies in it."""
        return self.version == other.version and self.first <= other.first and other.last <= self.last

    def overlaps(self, other: "AddressRange") -> bool:
        """Whether an address lies in both."""
        return self.version == other.version and self.first <= other.last and other.first <= self.last


def network(text: Any) -> AddressRange | None:
    """``10.0.0.0/8``, or a single address; None where it is neither."""
    try:
        found = ipaddress.ip_network(str(text).strip(), strict=False)
    except ValueError:
        return None
    return AddressRange(found.version, int(found.network_address), int(found.broadcast_address), str(text).strip())


def between(first: Any, last: Any) -> AddressRange | None:
    """From one address to another."""
    low, high = address(first), address(last)
    if low is None or high is None or low.version != high.version or low.first > high.last:
        return None
    return AddressRange(low.version, low.first, high.last, f"{low.text}-{high.text}")


def address(text: Any) -> AddressRange | None:
    """A single address."""
    try:
        found = ipaddress.ip_address(str(text).strip())
    except ValueError:
        return None
    return AddressRange(found.version, int(found), int(found), str(found))


def parse(text: Any) -> AddressRange | None:
    """A network, an address, or ``first-last``."""
    first, dash, last = str(text).partition("-")
    return between(first, last) if dash else network(text)


def listed(value: Any) -> tuple[AddressRange, ...]:
    """The networks of a list, or of a text that holds some, with commas, as JSON, or as ``--set`` has lists."""
    if isinstance(value, str):
        value = _of_text(value)
    if not isinstance(value, (list, tuple)):
        return ()
    return tuple(found for each in value if (found := network(each)) is not None)


def _of_text(text: str) -> list[Any]:
    stripped = text.strip()
    if stripped.startswith("["):
        try:
            found = json.loads(stripped)
        except ValueError:
            return []
        return found if isinstance(found, list) else []
    return stripped.strip("{}").replace(" ", ",").split(",")


def uncovered(spans: Iterable[AddressRange], by: Iterable[AddressRange]) -> list[AddressRange]:
    """Those that no single other one covers, of the families that the others have."""
    over = list(by)
    families = {each.version for each in over}
    return [each for each in spans if each.version in families and not any(one.covers(each) for one in over)]


def overlapping(
    some: Iterable[AddressRange], others: Iterable[AddressRange]
) -> Iterator[tuple[AddressRange, AddressRange]]:
    """Pairs that share an address."""
    right = list(others)
    for one in some:
        yield from ((one, each) for each in right if one.overlaps(each))


def nth(span: AddressRange, number: int) -> str:
    """An address of it, counted from the first."""
    kind = ipaddress.IPv4Address if span.version == 4 else ipaddress.IPv6Address
    return str(kind(span.first + number))


def around(span: AddressRange, bits: int) -> AddressRange:
    """The network of that length that the first address of a span is in."""
    kind = ipaddress.IPv4Network if span.version == 4 else ipaddress.IPv6Network
    found = kind((span.first, bits), strict=False)
    return AddressRange(span.version, int(found.network_address), int(found.broadcast_address), str(found))


def together(all_spans: Iterable[AddressRange]) -> AddressRange | None:
    """The smallest network that covers all of them; None where they are not of one family."""
    given = list(all_spans)
    if not given or len({each.version for each in given}) > 1:
        return None
    longest = 32 if given[0].version == 4 else 128
    for bits in range(longest, -1, -1):
        found = around(min(given), bits)
        if all(found.covers(each) for each in given):
            return found
    return None
