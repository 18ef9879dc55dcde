"""A value that must not be seen: it masks itself wherever it is printed, logged or formatted."""

import dataclasses
from collections.abc import Awaitable, Callable
from typing import final

MASK = "•••"


@final
class Secret:
    """Wraps bytes that only ``reveal`` gives out.

    It has no equality with plain values and cannot be pickled, so that it does not slip into a journal or a cache.
    """

    __slots__ = ("_value",)

    def __init__(self, value: bytes | str) -> None:
        self._value = value.encode() if isinstance(value, str) else bytes(value)

    def reveal(self) -> bytes:
        """The value itself: call it where it is sent, nowhere earlier."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a Secret is not pickled")


# What is shown to a server of repositories or charts to be let in.


@dataclasses.dataclass(frozen=True)
class Login:
    """A name and a password, or a token in its place."""

    username: str
    password: Secret


@dataclasses.dataclass(frozen=True)
class SshKey:
    """A private key without a passphrase, and the keys of the hosts that may be trusted."""

    key: Secret
    known_hosts: str
    """Lines of a known_hosts file; hosts that are not in it are not trusted."""


@dataclasses.dataclass(frozen=True)
class OwnSsh:
    """Whatever the user's own ssh does: their agent, keys, known hosts and config."""


Resolve = Callable[[str], Awaitable[Secret]]
"""A reference made its value: ``await resolve("op://vault/item/field")``."""
