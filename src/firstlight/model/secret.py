"""A value that must not be seen: it masks itself wherever it is printed, logged or formatted."""

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
