"""Charts that the user gives as files, and empty ones that stand for those that cannot be had."""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.document import yaml_reader
from firstlight.model import versions
from firstlight.render import cache_files, chart_packages
from firstlight.render.chart_fetch import FetchClients
from firstlight.render.chart_packages import FetchedContent, FetchKind, FetchRequest
from firstlight.render.chart_store import ChartStore


@dataclasses.dataclass(frozen=True)
class GivenChart:
    """A chart that need not be fetched."""

    name: str
    version: str
    archive: bytes = dataclasses.field(repr=False)
    is_empty: bool = False
    """It only stands for one that cannot be had."""


class GivenChartStore(ChartStore):
    """The charts at hand first, then what every store has."""

    def __init__(
        self,
        home: Path,
        means: FetchClients,
        *,
        given: Sequence[GivenChart] = (),
        instead: Mapping[FetchRequest, GivenChart] | None = None,
        digests: Mapping[FetchRequest, str] | None = None,
        offline: bool = False,
    ) -> None:
        """Open it.

        Args:
            home: The directory of the store behind it.
            means: What that fetches with.
            given: Charts that the user gives.
            instead: Charts that stand for others.
            digests: Those of the copies that the engine will see: it writes them into versions and labels.
            offline: Fetch nothing.
        """
        super().__init__(home, means, offline=offline)
        self._given = tuple(given)
        self._instead = dict(instead or {})
        self._digests = dict(digests or {})
        self._contents: dict[str, bytes] = {}

    async def get(self, wanted: FetchRequest) -> FetchedContent:
        """What a reference stands for."""
        found = self._instead.get(wanted) or find(self._given, wanted)
        if found is None:
            stored = await super().get(wanted)
        else:
            made = cache_files.bytes_digest(found.archive)
            self._contents[made] = found.archive
            digest = wanted.digest or f"sha256:{made}"
            stored = FetchedContent(wanted=wanted, name=found.name, version=found.version, digest=digest, sum=made)
        return dataclasses.replace(stored, digest=self._digests.get(wanted, stored.digest))

    async def content(self, stored: FetchedContent) -> bytes:
        """The bytes."""
        found = self._contents.get(stored.sum)
        return await super().content(stored) if found is None else found


def find(given: Sequence[GivenChart], wanted: FetchRequest) -> GivenChart | None:
    """The given chart that is meant: by name and version; of several the newest, where no version is asked for."""
    if wanted.kind not in (FetchKind.OCI, FetchKind.REPOSITORY):
        return None
    name = wanted.name or wanted.url.rstrip("/").rpartition("/")[2]
    named = [each for each in given if each.name == name]
    if wanted.version in ("", "*"):
        return max(named, key=lambda each: _sortable(each.version), default=None)
    return next((each for each in named if _bare(each.version) == _bare(wanted.version)), None)


def read(directory: Path) -> tuple[GivenChart, ...]:
    """The charts of a directory: archives, and directories with a Chart.yaml.

    Raises:
        errors.UsageError: There is no such directory, or no chart in it.
        errors.ConfigError: Something in it is no chart.
    """
    hint = "Give a directory with charts in it, as .tgz or unpacked."
    if not directory.is_dir():
        raise errors.UsageError(f"{directory} is no directory", hint=hint)
    found = tuple(_read(directory))
    if not found:
        raise errors.UsageError(f"there is no chart in {directory}", hint=hint)
    return found


def _read(directory: Path) -> Iterator[GivenChart]:
    for path in sorted(directory.iterdir()):
        if path.suffix == ".tgz" and path.is_file():
            try:
                files = chart_packages.unpack_chart(path.read_bytes())
            except errors.Refused as error:
                raise errors.ConfigError(error.message, path=str(path)) from error
            yield of_files(files, str(path))
        elif (path / "Chart.yaml").is_file():
            yield of_files(chart_packages.read_files(path), str(path))


def of_files(files: Mapping[str, bytes], where: str) -> GivenChart:
    """A chart by its files.

    Raises:
        errors.ConfigError: It has no Chart.yaml that says what it is.
    """
    try:
        documents = yaml_reader.load_all(files.get("Chart.yaml", b""))
    except ValueError as error:
        raise errors.ConfigError(f"Chart.yaml cannot be read: {error}", path=where) from error
    about: Any = documents[0] if documents else None
    if not isinstance(about, dict) or not about.get("name") or not about.get("version"):
        raise errors.ConfigError("there is no Chart.yaml with a name and a version", path=where)
    name = str(about["name"])
    return GivenChart(name, str(about["version"]), chart_packages.pack_chart(files, name))


def empty(wanted: FetchRequest) -> GivenChart:
    """A chart without objects, under the name and a version that are asked for."""
    name = wanted.name or wanted.url.rstrip("/").rpartition("/")[2]
    version = version_within(wanted.version)
    text = f"apiVersion: v2\nname: {name}\nversion: {version}\ndescription: Stands for one that could not be had\n"
    return GivenChart(
        name, version, chart_packages.pack_chart({"Chart.yaml": text.encode(), "values.yaml": b""}, name), is_empty=True
    )


def version_within(text: str) -> str:
    """A version that a range most likely includes: the first one that it names, filled up with zeros."""
    return versions.first_within(text) or "1.0.0"


def _bare(version: str) -> str:
    return version.removeprefix("v").partition("+")[0]


def _sortable(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"[0-9]+", version)[:3])
