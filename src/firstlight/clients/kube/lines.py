"""Lines out of a stream of byte chunks, however long they are.

aiohttp's own line reader fails above 512 KiB, and an event of a watch may be several MB.
"""


class Splitter:
    """Collects chunks until a line is complete; each byte is looked at once."""

    def __init__(self, *, keep_empty: bool = False) -> None:
        self._keep_empty = keep_empty
        self._pending: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that are complete with this chunk, without their ends."""
        first, *rest = chunk.split(b"\n")
        self._pending.append(first)
        if not rest:
            return []
        lines = [b"".join(self._pending), *rest[:-1]]
        self._pending = [rest[-1]]
        return lines if self._keep_empty else [line for line in lines if line.strip()]

    def rest(self) -> bytes:
        """What came after the last line end: a line without an end, or a cut event."""
        return b"".join(self._pending)
