"""The one directory of the sources: everything they keep."""

import dataclasses
import fcntl
import os
import shutil
from pathlib import Path

from firstlight import errors


@dataclasses.dataclass(frozen=True)
class Home:
    """Its paths."""

    path: Path

    @property
    def git(self) -> Path:
        """Bare repositories, as ``<owner>/<repository>.git``."""
        return self.path / "git"

    @property
    def registry(self) -> Path:
        """Blobs by digest, and the repositories that refer to them."""
        return self.path / "registry"

    @property
    def charts(self) -> Path:
        """A folder of archives for each Helm repository."""
        return self.path / "charts"

    @property
    def declared(self) -> Path:
        """Which repositories there are, and who may do what with them."""
        return self.path / "declared.json"

    @property
    def scratch(self) -> Path:
        """What is not whole yet; emptied at every start. On the same filesystem, so that a rename completes it."""
        return self.path / "scratch"

    def make(self) -> None:
        """Create what is missing, for its owner alone, and throw away what an earlier process left unfinished."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.rmtree(self.scratch, ignore_errors=True)
        for path in (self.git, self.registry, self.charts, self.scratch):
            path.mkdir(mode=0o700, exist_ok=True)

    def hold(self) -> int:
        """Take the directory for this process; the handle must stay open.

        Raises:
            errors.LabError: Another process serves it.
        """
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            raise errors.LabError(f"{self.path} is served by another process") from error
        return handle
