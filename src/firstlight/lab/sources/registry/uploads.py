"""Blobs on their way in. A part counts whole or not at all, so that after a broken connection it can be sent again.

Uploads live as long as the process: after a restart clients begin anew, and nothing of the old ones is visible.
"""

import asyncio
import dataclasses
import hashlib
import os
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO

from firstlight.lab.sources.home import Home

MOST = 256
"""Uploads at a time."""
IDLE = 3600
"""Seconds after which an upload that nobody goes on with is forgotten."""
LIMIT = 8 << 30
"""Bytes of a blob."""


class TooLargeError(Exception):
    """A blob is larger than the registry takes."""


class WrongDigestError(Exception):
    """What came is not what was announced; says what came."""


@dataclasses.dataclass
class Upload:
    """One blob."""

    id: str
    repository: str
    path: Path
    file: IO[bytes]
    size: int = 0
    seen: "hashlib._Hash" = dataclasses.field(default_factory=hashlib.sha256)
    touched: float = dataclasses.field(default_factory=time.monotonic)
    is_busy: bool = False

    async def append(self, chunks: AsyncIterator[bytes]) -> None:
        """Add a part; if it breaks off, it is as if it had never begun."""
        assert not self.is_busy
        self.is_busy = True
        size, seen = self.size, self.seen.copy()
        try:
            async for chunk in chunks:
                if self.size + len(chunk) > LIMIT:
                    raise TooLargeError(f"more than {LIMIT >> 30} GiB")
                self.file.write(chunk)
                self.seen.update(chunk)
                self.size += len(chunk)
        except BaseException:
            self.size, self.seen = size, seen
            if not self.file.closed:
                self.file.seek(size)
                self.file.truncate()
            raise
        finally:
            self.is_busy = False
            self.touched = time.monotonic()

    @property
    def digest(self) -> str:
        """That of what came until now."""
        return f"sha256:{self.seen.hexdigest()}"


class Uploads:
    """All that are under way."""

    def __init__(self, home: Home) -> None:
        self._folder = home.scratch
        self._open: dict[str, Upload] = {}

    def start(self, repository: str) -> Upload | None:
        """Begin one; None if there are too many."""
        for each in [each for each in self._open.values() if self._is_stale(each)]:
            self.drop(each)
        if len(self._open) >= MOST:
            return None
        identity = str(uuid.uuid4())
        path = self._folder / f"upload-{identity}"
        upload = Upload(identity, repository, path, path.open("xb"))
        self._open[identity] = upload
        return upload

    def get(self, repository: str, identity: str) -> Upload | None:
        """One that was begun in a repository."""
        upload = self._open.get(identity)
        return upload if upload is not None and upload.repository == repository else None

    async def complete(self, upload: Upload, digest: str) -> Path:
        """End one; the file with its content, which is safe on disk.

        Raises:
            WrongDigestError: It is something else than what was announced. The upload is over all the same.
        """
        if upload.digest != digest:
            self.drop(upload)
            raise WrongDigestError(f"{upload.size} bytes with digest {upload.digest} came")
        upload.is_busy = True
        self._open.pop(upload.id, None)
        upload.file.flush()
        await asyncio.to_thread(os.fsync, upload.file.fileno())
        upload.file.close()
        return upload.path

    def drop(self, upload: Upload) -> None:
        """Forget one."""
        self._open.pop(upload.id, None)
        upload.file.close()
        upload.path.unlink(missing_ok=True)

    @staticmethod
    def _is_stale(upload: Upload) -> bool:
        return not upload.is_busy and time.monotonic() - upload.touched > IDLE
