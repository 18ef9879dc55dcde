"""The framing of Git's protocol, as far as a server must understand a push to tell others of it.

A push begins with its commands, one for each ref, and is answered with a report, one line for each ref; both are
read as they pass by. Everything else is git's own business.
"""

import dataclasses

FLUSH = b"0000"
_LONGEST = 65520
_MOST = 10_000
"""Refs of one push that are told of."""
_DATA = 1
"""The band of the report, where the client asked for bands."""


@dataclasses.dataclass(frozen=True)
class RefUpdate:
    """A ref that a push moves; an absent side is forty zeros."""

    ref: str
    before: str
    after: str


def encode(line: bytes) -> bytes:
    """One line, framed."""
    return f"{len(line) + 4:04x}".encode() + line


class PktLines:
    """Takes bytes as they come, gives lines as they are complete; None for a flush."""

    def __init__(self) -> None:
        self._pending = b""
        self.is_broken = False
        """Whether something came that is no line; then there are no more."""

    def feed(self, data: bytes) -> list[bytes | None]:
        """The lines that are complete now."""
        self._pending += data
        lines: list[bytes | None] = []
        while len(self._pending) >= 4 and not self.is_broken:
            try:
                length = int(self._pending[:4], 16)
            except ValueError:
                length = -1
            if length == 0:
                lines.append(None)
                self._pending = self._pending[4:]
            elif not 4 <= length <= _LONGEST:
                self.is_broken = True
            elif len(self._pending) < length:
                break
            else:
                lines.append(self._pending[4:length])
                self._pending = self._pending[length:]
        if self.is_broken:
            self._pending = b""
        return lines


class PushCommands:
    """What a push asks for: the lines before its first flush; the pack that follows is not looked at."""

    def __init__(self) -> None:
        self.updates: list[RefUpdate] = []
        self._lines = PktLines()
        self._is_over = False

    def feed(self, data: bytes) -> None:
        """Take a part of the request."""
        if self._is_over:
            return
        for line in self._lines.feed(data):
            if line is None:
                self._is_over = True
                return
            words = line.partition(b"\0")[0].decode(errors="replace").rstrip("\n").split(" ", 2)
            if len(words) == 3 and len(words[0]) == len(words[1]) >= 40:
                self.updates.append(RefUpdate(words[2], words[0], words[1]))
        self._is_over = self._lines.is_broken or len(self.updates) > _MOST


class PushReport:
    """What git answered: which refs were really moved. In bands, or plain, as the client wanted it."""

    def __init__(self) -> None:
        self.moved: set[str] = set()
        self._outer = PktLines()
        self._inner = PktLines()

    def feed(self, data: bytes) -> None:
        """Take a part of the answer."""
        for line in self._outer.feed(data):
            if not line:
                continue
            if line[0] == _DATA:
                for inner in self._inner.feed(line[1:]):
                    self._take(inner or b"")
            else:
                self._take(line)

    def _take(self, line: bytes) -> None:
        if line.startswith(b"ok ") and len(self.moved) <= _MOST:
            self.moved.add(line[3:].decode(errors="replace").rstrip("\n"))
