"""Which sources of a rehearsed repository lead to the lab's servers instead: a part of the settings file."""

import dataclasses
import ipaddress
import re
from collections.abc import Callable
from typing import Literal, NamedTuple, Self

import msgspec

from firstlight import errors
from firstlight.model import remote_url

DroppedField = Literal["secretRef", "verify", "proxySecretRef", "certSecretRef"]
SCHEMES = ("http", "https", "oci")
FROM_HINT = "Write https://github.com/me/home-ops, or the beginning of such an address; ssh and .git are the same."


class SourceRewrite(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """One address, and everything below it, that leads elsewhere."""

    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    drop: tuple[DroppedField, ...] = ()
    """What a Flux source loses on the way: credentials or signatures that make no sense with the lab's copy."""


class RewrittenUrl(NamedTuple):
    """Where an address leads."""

    url: str
    rule: SourceRewrite


def rewrite_url(rules: tuple[SourceRewrite, ...], url: str) -> RewrittenUrl | None:
    """Where an address leads by the rule with the longest match; None if none matches."""
    place = source_address(url)
    if place is None:
        return None
    best: tuple[int, RewrittenUrl] | None = None
    for rule in rules:
        start = source_address(rule.source)
        rest = start.rest_of(place) if start is not None else None
        if start is None or rest is None or (best is not None and best[0] >= len(start.steps)):
            continue
        target = rule.target if not rest else f"{rule.target.rstrip('/')}/{'/'.join(rest)}{place.suffix}"
        # Where a registry is named without a scheme, as Argo CD does it, its replacement has none either.
        best = len(start.steps), RewrittenUrl(target if place.has_scheme else target.removeprefix("oci://"), rule)
    return best[1] if best else None


def is_plain_registry(url: str) -> bool:
    """Whether an address is of a registry of a lab, which speaks HTTP without TLS."""
    place = source_address(url)
    if place is None or place.protocol != "oci":
        return False
    try:
        return ipaddress.ip_address(place.host.strip("[]")).is_loopback
    except ValueError:
        return False


def rewrite_notes(rules: tuple[SourceRewrite, ...]) -> tuple[str, ...]:
    """What the status says of them."""
    return (f"source URLs: {len(rules)} rewritten to the lab's servers",) if rules else ()


def check_rewrites(rules: tuple[SourceRewrite, ...], fail: Callable[..., None]) -> None:
    """Refuse what cannot be meant.

    Args:
        rules: As declared.
        fail: Called with a message, the steps to the place, and a hint.
    """
    seen = set()
    for index, rule in enumerate(rules):
        place = source_address(rule.source)
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
        if rewrite_url(rules, rule.target) is not None:
            fail(f"{rule.target} would be rewritten again", "rewrites", index, "to")


# The address of a repository or registry in its many spellings: which of them mean the same place.
#
# ``https://host/me/repo``, ``https://host/me/repo.git/``, ``ssh://git@host/me/repo`` and ``git@host:me/repo.git`` do.
# So do ``oci://host/charts`` and ``host/charts``, as Argo CD has it.


DEFAULT_PORTS = {"http": "80", "https": "443"}
_URL = re.compile(
    r"(?P<scheme>https?|ssh|oci)://(?:[^/@]*@)?(?P<host>[^/@:\[\]]+|\[[^\]]+\])(?::(?P<port>[0-9]*))?(?P<path>/.*)?"
)
_SCP = re.compile(r"[^/@:]+@(?P<host>[^/@:]+):(?P<path>.+)")
_REGISTRY = re.compile(r"(?P<host>[^/@:\[\]]+|\[[^\]]+\])(?::(?P<port>[0-9]+))?(?P<path>/.+)")
_FOREIGN = re.compile(r"[\s{}]")


@dataclasses.dataclass(frozen=True)
class SourceAddress:
    """Where something is, however it is spelled."""

    protocol: Literal["git", "oci"]
    """HTTP and ssh are one: the large hosts serve a repository by both. Helm repositories over HTTP count here too."""
    host: str
    port: str
    """Empty if it is the usual one, or one of ssh."""
    steps: tuple[str, ...]
    """The path."""
    suffix: str = dataclasses.field(default="", compare=False)
    """``.git``, if it was written."""
    has_scheme: bool = dataclasses.field(default=True, compare=False)

    def rest_of(self, other: Self) -> tuple[str, ...] | None:
        """The rest of another's path below this one; None if it is elsewhere."""
        here, there = (self.protocol, self.host, self.port), (other.protocol, other.host, other.port)
        if here != there or other.steps[: len(self.steps)] != self.steps:
            return None
        return other.steps[len(self.steps) :]


def source_address(url: str) -> SourceAddress | None:
    """The place of an address; None if it is none, such as a template that is yet to be filled in."""
    text = url.strip()
    if _FOREIGN.search(text):
        return None
    if match := _URL.fullmatch(text):
        scheme = match["scheme"]
        port = match["port"] or ""
        if scheme == "ssh" or port == DEFAULT_PORTS.get(scheme):
            port = ""
        return _place("oci" if scheme == "oci" else "git", match["host"], port, match["path"] or "")
    if "://" in text:
        return None
    if match := _SCP.fullmatch(text):
        return _place("git", match["host"], "", match["path"])
    match = _REGISTRY.fullmatch(text)
    if match is None or not (match["port"] or "." in match["host"] or match["host"] == "localhost"):
        return None
    return _place("oci", match["host"], match["port"] or "", match["path"], has_scheme=False)


def _place(
    protocol: Literal["git", "oci"], host: str, port: str, path: str, *, has_scheme: bool = True
) -> SourceAddress:
    steps = tuple(step for step in path.split("/") if step)
    suffix = ".git" if protocol == "git" and steps and steps[-1].endswith(".git") else ""
    if suffix:
        steps = (*steps[:-1], steps[-1].removesuffix(suffix))
    return SourceAddress(protocol, host.lower(), port, steps, suffix, has_scheme)
