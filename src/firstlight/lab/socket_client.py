"""JSON over HTTP over a unix socket: how the supervisor and the fault proxy are spoken to."""

import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import msgspec

from firstlight import errors


class SocketClient:
    """Speaks to one socket."""

    def __init__(self, socket: Path, *, what: str) -> None:
        self._socket = socket
        self._what = what

    async def call(self, method: str, path: str, *, body: bytes = b"", timeout: float = 60) -> bytes:
        """The body of the answer.

        Raises:
            errors.Unreachable: Nobody listens, or not for long.
            errors.UsageError: The wish is refused; the text says why.
            errors.LabError: It was tried and failed.
        """
        try:
            async with self._session() as session, session.request(
                method, f"http://lab{path}", data=body or None, timeout=aiohttp.ClientTimeout(total=timeout)
            ) as response:  # fmt: skip
                answer = await response.read()
                if response.status < 400:
                    return answer
                text = _text(answer)
                if response.status == 503:
                    raise errors.Unreachable(text, target=self._what)
                raise errors.LabError(text) if response.status >= 500 else errors.UsageError(text)
        except TimeoutError as error:
            raise errors.TimedOut(f"{self._what} did not answer within {timeout:g} s", target=self._what) from error
        except (aiohttp.ClientError, OSError) as error:
            raise errors.Unreachable(f"{self._what} does not answer", target=self._what) from error

    @contextlib.asynccontextmanager
    async def _session(self) -> AsyncIterator[aiohttp.ClientSession]:
        # A socket's path may have 108 bytes at most: through the open directory it is always short.
        folder = os.open(self._socket.parent, os.O_PATH | os.O_DIRECTORY)
        try:
            connector = aiohttp.UnixConnector(f"/proc/self/fd/{folder}/{self._socket.name}")
            async with aiohttp.ClientSession(connector=connector) as session:
                yield session
        finally:
            os.close(folder)


def _text(answer: bytes) -> str:
    """What a refusal says: plain text, or ``{"error": …}``."""
    with contextlib.suppress(msgspec.DecodeError, KeyError, TypeError):
        return str(msgspec.json.decode(answer)["error"])
    return answer.decode(errors="replace").strip()
