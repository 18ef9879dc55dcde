"""Which sources of a rehearsed repository lead to the lab's servers instead: a part of the settings file."""

import ipaddress
from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

from firstlight import errors
from firstlight.lab import source_url
from firstlight.model import remote_url

Part = Literal["secretRef", "verify", "proxySecretRef", "certSecretRef"]
SCHEMES = ("http", "https", "oci")
FROM_HINT = "Write https://github.com/me/home-ops, or the beginning of such an address; ssh and .git are the same."


class Rewrite(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """One address, and everything below it, that leads elsewhere."""

    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    drop: tuple[Part, ...] = ()
    """What a Flux source loses on the way: credentials or signatures that make no sense with the lab's copy."""


class Led(NamedTuple):
    """Where an address leads."""

    url: str
    rule: Rewrite


def lead(rules: tuple[Rewrite, ...], url: str) -> Led | None:
    """Where an address leads by the rule with the longest match; None if none matches."""
    place = source_url.place_of(url)
    if place is None:
        return None
    best: tuple[int, Led] | None = None
    for rule in rules:
        start = source_url.place_of(rule.source)
        rest = start.rest_of(place) if start is not None else None
        if start is None or rest is None or (best is not None and best[0] >= len(start.steps)):
            continue
        target = rule.target if not rest else f"{rule.target.rstrip('/')}/{'/'.join(rest)}{place.suffix}"
        # Where a registry is named without a scheme, as Argo CD does it, its replacement has none either.
        best = len(start.steps), Led(target if place.has_scheme else target.removeprefix("oci://"), rule)
    return best[1] if best else None


def is_plain_registry(url: str) -> bool:
    """Whether an address is of a registry of a lab, which speaks HTTP without TLS."""
    place = source_url.place_of(url)
    if place is None or place.protocol != "oci":
        return False
    try:
        return ipaddress.ip_address(place.host.strip("[]")).is_loopback
    except ValueError:
        return False


def notes(rules: tuple[Rewrite, ...]) -> tuple[str, ...]:
    """What the status says of them."""
    return (f"source URLs: {len(rules)} rewritten to the lab's servers",) if rules else ()


def check(rules: tuple[Rewrite, ...], fail: Callable[..., None]) -> None:
    """Refuse what cannot be meant.

    Args:
        rules: As declared.
        fail: Called with a message, the steps to the place, and a hint.
    """
    seen = set()
    for index, rule in enumerate(rules):
        place = source_url.place_of(rule.source)
        if place is None:
            fail(f"{remote_url.without_credentials(rule.source)!r} is no address of a source", "rewrites", index,
                 "from", hint=FROM_HINT)  # fmt: skip
        try:
            remote_url.RemoteUrl.parse(rule.target, schemes=SCHEMES)
        except errors.UsageError as error:
            fail(f"to: {error.message}", "rewrites", index, "to", hint=error.hint)
        if place in seen:
            fail(f"{rule.source} is rewritten twice", "rewrites", index, "from")
        seen.add(place)
        if lead(rules, rule.target) is not None:
            fail(f"{rule.target} would be rewritten again", "rewrites", index, "to")
