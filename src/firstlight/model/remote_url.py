"""Where a repository is, as a URL that may be put on a command line.

URLs come from repositories, that is from strangers. What is not plainly a URL of an allowed scheme is refused here:
an option, a helper of Git (``ext::``), a host that ssh would read as an option, a password in the middle.
"""

import dataclasses
import ipaddress
import re
from collections.abc import Collection
from typing import Self

from firstlight import errors

_LONGEST = 2048
_URL = re.compile(r"(?P<scheme>[a-z]+)://(?P<authority>[^/]*)(?P<path>/.*)?")
_SCP = re.compile(r"(?P<user>[A-Za-z0-9_][A-Za-z0-9._-]*)@(?P<host>[A-Za-z0-9.-]+):(?P<path>[^/:-][^:]*|/[^:]*)")
_HOST_AND_PORT = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]@]+)(?::(?P<port>[0-9]{1,5}))?")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_PATH = re.compile(r"(?:/[A-Za-z0-9._~+@:,=&!$()'*;%\u00a1-\uffff-]*)*")
_USERINFO = re.compile(r"(?<=[A-Za-z0-9+.-])://(?P<userinfo>[^/\s]*)@")
"""Looked for from its middle: a scheme could begin at each letter of a long line."""
_PARAMETER = re.compile(r"(?P<before>[?&](?P<name>[\w.-]{1,60})=)[^&#\s\"'<>\\]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*\Z")
_LONGEST_SCHEME = 32

_LOGIN = re.compile(rb"""(?<![A-Za-z0-9+.-])(?!ssh://[^/\s"':@]+@)[A-Za-z][A-Za-z0-9+.-]*://[^/\s"'\\<>@]+@""")


@dataclasses.dataclass(frozen=True)
class RemoteUrl:
    """A URL without a password, a query or a fragment; ``str`` gives it as it was written."""

    text: str
    scheme: str
    host: str
    """With brackets if it is an IPv6 address; empty for a file."""
    port: int
    """0 if none is given."""
    path: str
    user: str = ""
    """The account that ssh logs in to, which is no secret."""

    @classmethod
    def parse(cls, text: str, *, schemes: Collection[str]) -> Self:
        """A URL of one of the schemes; ``git@host:path`` is one of ssh.

        Raises:
            errors.UsageError: It is something else.
        """
        if len(text) > _LONGEST or not text.isprintable() or any(c in text for c in ' \\"`<>|^{}?#'):
            raise _refused(text, "has letters that do not belong into a URL")
        scp = _SCP.fullmatch(text)
        match = _URL.fullmatch(text)
        scheme = "ssh" if scp else match["scheme"] if match else ""
        if not scheme:
            raise _refused(text, "is not a URL", schemes)
        if scheme not in schemes:
            raise _refused(text, f"is a URL of {scheme}, which is not allowed here", schemes)
        if scp:
            if not _is_host(scp["host"]):
                raise _refused(text, "has no proper host")
            return cls(text, scheme, scp["host"], 0, scp["path"], scp["user"])
        assert match is not None
        path = match["path"] or ""
        if scheme == "file":
            if match["authority"] or not path.strip("/"):
                raise _refused(text, "is not file:///path")
            return cls(text, scheme, "", 0, path)
        user, at, address = match["authority"].rpartition("@")
        if at and (scheme != "ssh" or not _USER.fullmatch(user)):
            raise _refused(text, "has a user or a password in it", hint="give credentials apart from the URL")
        found = _HOST_AND_PORT.fullmatch(address)
        if found is None or not _is_host(found["host"]):
            raise _refused(text, "has no proper host")
        port = int(found["port"] or 0)
        if port > 65535 or found["port"] == "0":
            raise _refused(text, "has a port that does not exist")
        if not _PATH.fullmatch(path):
            raise _refused(text, "has letters that do not belong into a path")
        return cls(text, scheme, found["host"], port, path, user)

    @property
    def address(self) -> str:
        """The host, and the port if one is given."""
        return f"{self.host}:{self.port}" if self.port else self.host

    @property
    def origin(self) -> str:
        """The scheme and the address: what credentials are for."""
        return f"{self.scheme}://{self.address}"

    def __str__(self) -> str:
        return self.text


def without_credentials(text: str) -> str:
    """A text in which no URL has a user, a password or a secret parameter any more; accounts of ssh stay."""

    def bare(match: re.Match[str]) -> str:
        scheme = _SCHEME.search(text[max(0, match.start() - _LONGEST_SCHEME) : match.start()])
        is_account = scheme is not None and scheme[0] == "ssh" and _USER.fullmatch(match["userinfo"])
        return match[0] if is_account else "://"

    def masked(match: re.Match[str]) -> str:
        # Whoever only asks for help has no URL with parameters, and needs none of these expressions.
        from firstlight.model import secret_words

        return f"{match['before']}***" if secret_words.is_secret_setting(match["name"]) else match[0]

    return _PARAMETER.sub(masked, _USERINFO.sub(bare, text)) if "://" in text else text


def has_credentials(content: bytes) -> bool:
    """Whether something encoded, such as JSON, has a URL with a user, a password or a token; ssh has accounts."""
    return _LOGIN.search(content) is not None


def _is_host(text: str) -> bool:
    if text.startswith("["):
        try:
            ipaddress.IPv6Address(text[1:-1])
        except ValueError:
            return False
        return True
    return len(text) <= 253 and _NAME.fullmatch(text) is not None


def _refused(text: str, problem: str, schemes: Collection[str] = (), *, hint: str = "") -> errors.UsageError:
    shown = without_credentials(text if len(text) <= 80 else text[:80] + "…")
    if schemes:
        hint = f"write a URL of {' or '.join(sorted(schemes))}"
    return errors.UsageError(f"{shown!r} {problem}", hint=hint)
