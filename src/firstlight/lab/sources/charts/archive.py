"""What a chart's archive says of the chart, read without trusting it: one small file, no aliases, nothing unpacked."""

import datetime
import io
import re
import tarfile
import zlib
from pathlib import Path
from typing import IO, Any

import yaml

from firstlight.lab.sources import names

LIMIT = 1 << 20
"""Bytes of a Chart.yaml."""
DEPTH = 64 << 20
"""Unpacked bytes before it; helm puts it first."""
_KEYS = (
    "apiVersion", "name", "version", "kubeVersion", "description", "type", "keywords", "home", "sources",
    "dependencies", "maintainers", "icon", "appVersion", "deprecated", "annotations", "condition", "tags",
)  # fmt: skip
_FILE = re.compile(r"[^/]+/Chart\.yaml")


class NotAChartError(Exception):
    """An archive is no chart; says why."""


class _Bounded(io.RawIOBase):
    """The unpacked bytes of a gzip stream, up to a limit."""

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed = packed
        self._unpack = zlib.decompressobj(31)
        self._left = DEPTH

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._unpack.eof:
            given = self._unpack.unconsumed_tail or self._packed.read(1 << 16)
            part = self._unpack.decompress(given, len(buffer))
            if part:
                self._left -= len(part)
                if self._left < 0:
                    raise NotAChartError(f"there is no Chart.yaml in its first {DEPTH >> 20} MiB")
                buffer[: len(part)] = part
                return len(part)
            if not given:
                raise NotAChartError("it ends too early")
        return 0


def metadata(archive: bytes | Path) -> dict[str, Any]:
    """Chart.yaml, as far as helm knows its keys.

    Raises:
        NotAChartError: There is none, or it names no chart.
    """
    try:
        with io.BytesIO(archive) if isinstance(archive, bytes) else archive.open("rb") as packed:
            content = _chart_yaml(packed)
        found = _plain(_load(content))
    except (OSError, EOFError, zlib.error, tarfile.TarError, yaml.YAMLError, RecursionError, ValueError) as error:
        raise NotAChartError(str(error).splitlines()[0] if str(error) else type(error).__name__) from error
    if not isinstance(found, dict):
        raise NotAChartError("its Chart.yaml is no mapping")
    name, version = found.get("name"), found.get("version")
    if not isinstance(name, str) or not names.CHART.fullmatch(name):
        raise NotAChartError("its Chart.yaml has no proper name")
    if not isinstance(version, str) or not names.VERSION.fullmatch(version):
        raise NotAChartError(f"the version of {name} is no semantic version")
    return {key: found[key] for key in _KEYS if found.get(key) not in (None, "")}


def _chart_yaml(packed: IO[bytes]) -> bytes:
    with tarfile.open(fileobj=io.BufferedReader(_Bounded(packed)), mode="r|") as tar:
        for member in tar:
            if _FILE.fullmatch(member.name.removeprefix("./")) and member.isreg():
                if member.size > LIMIT:
                    raise NotAChartError("its Chart.yaml is too large")
                file = tar.extractfile(member)
                assert file is not None
                return file.read()
    raise NotAChartError("it has no Chart.yaml")


def _load(content: bytes) -> object:
    # An alias of an alias of … is small in the file and fills the memory when it is written out again.
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(content, Loader=yaml.CSafeLoader)):
        raise NotAChartError("its Chart.yaml has aliases")
    return yaml.load(content, Loader=yaml.CSafeLoader)


def _plain(value: object) -> object:
    """As JSON has it: a version that looks like a date stays text."""
    match value:
        case dict():
            return {str(key): _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case datetime.date():
            return value.isoformat()
        case bytes():
            return value.decode(errors="replace")
    return value
