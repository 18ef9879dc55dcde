"""The folders of Helm repositories."""

import secrets
import shutil
from pathlib import Path

from firstlight import errors
from firstlight.lab import directory
from firstlight.lab.sources import names
from firstlight.lab.sources.access import Sealed
from firstlight.lab.sources.charts import archive
from firstlight.lab.sources.declared import Declared
from firstlight.lab.sources.home import Home


class ChartRepositories:
    """All of them."""

    def __init__(self, home: Home, declared: Declared) -> None:
        self._home = home
        self._declared = declared

    def path(self, name: str) -> Path:
        """Where the archives of a repository are."""
        return self._home.charts / name

    def make(self, name: str, access: Sealed | None) -> None:
        """Make one if it is not there, and say who may use it if that is given."""
        known = self._declared.charts.get(names.charts(name), Sealed())
        self._declared.charts[name] = known if access is None else access
        self._declared.save()
        self.path(name).mkdir(mode=0o700, exist_ok=True)

    def delete(self, name: str) -> None:
        """Take it away, with its charts."""
        self._known(name)
        gone = self._home.scratch / f"charts-{secrets.token_hex(8)}"
        if self.path(name).is_dir():
            self.path(name).rename(gone)
        del self._declared.charts[name]
        self._declared.save()
        shutil.rmtree(gone, ignore_errors=True)

    def add(self, name: str, content: bytes, *, force: bool) -> tuple[str, str]:
        """Add a chart; its name and version.

        Raises:
            errors.UsageError: It is none, or that version is there with other content and ``force`` is not set.
        """
        self._known(name)
        try:
            found = archive.metadata(content)
        except archive.NotAChartError as error:
            raise errors.UsageError(f"this is no chart: {error}") from error
        path = self.path(name) / f"{found['name']}-{found['version']}.tgz"
        if path.exists() and path.read_bytes() == content:
            return found["name"], found["version"]
        if path.exists() and not force:
            raise errors.UsageError(f"{name} has {path.stem} already, with other content")
        self.path(name).mkdir(mode=0o700, exist_ok=True)
        directory.write_whole(path, content)
        return found["name"], found["version"]

    def charts(self, name: str) -> tuple[str, ...]:
        """The files of a repository."""
        return tuple(sorted(path.name for path in self.path(name).glob("*.tgz"))) if self.path(name).is_dir() else ()

    def _known(self, name: str) -> None:
        if name not in self._declared.charts:
            raise errors.UsageError(f"no Helm repository {name!r}", hint=", ".join(sorted(self._declared.charts)))
