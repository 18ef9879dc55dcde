"""Helm repositories over HTTP: an index and the archives it names, to be read only."""

import asyncio
import dataclasses
import datetime
import hashlib
import io
import os
import re
import secrets
import shutil
import tarfile
import zlib
from pathlib import Path
from typing import IO, Any

import yaml
from aiohttp import web

from firstlight import errors
from firstlight.lab import http_serving, lab_directory
from firstlight.lab.sources import declarations, source_names
from firstlight.lab.sources.declarations import DeclaredSources, SealedAccess, SourcesHome
from firstlight.lab.sources.source_faults import ServerName
from firstlight.model import versions

# The folders of Helm repositories.


class ChartRepositories:
    """All of them."""

    def __init__(self, home: SourcesHome, declared: DeclaredSources) -> None:
        self._home = home
        self._declared = declared

    def path(self, name: str) -> Path:
        """Where the archives of a repository are."""
        return self._home.charts / name

    def make(self, name: str, access: SealedAccess | None) -> None:
        """Make one if it is not there, and say who may use it if that is given."""
        known = self._declared.charts.get(source_names.charts_name(name), SealedAccess())
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
            found = chart_metadata(content)
        except NotAChartError as error:
            raise errors.UsageError(f"this is no chart: {error}") from error
        path = self.path(name) / f"{found['name']}-{found['version']}.tgz"
        if path.exists() and path.read_bytes() == content:
            return found["name"], found["version"]
        if path.exists() and not force:
            raise errors.UsageError(f"{name} has {path.stem} already, with other content")
        self.path(name).mkdir(mode=0o700, exist_ok=True)
        lab_directory.write_whole(path, content)
        return found["name"], found["version"]

    def charts(self, name: str) -> tuple[str, ...]:
        """The files of a repository."""
        return tuple(sorted(path.name for path in self.path(name).glob("*.tgz"))) if self.path(name).is_dir() else ()

    def _known(self, name: str) -> None:
        if name not in self._declared.charts:
            raise errors.UsageError(f"no Helm repository {name!r}", hint=", ".join(sorted(self._declared.charts)))


# The index of a Helm repository: made from the archives that are there, again whenever they change.


_Stamp = tuple[str, int, int]


@dataclasses.dataclass
class _Folder:
    stamps: tuple[_Stamp, ...] = ()
    entries: dict[_Stamp, dict[str, Any] | None] = dataclasses.field(default_factory=dict)
    content: bytes = b""


class ChartIndexes:
    """Those of all repositories; what has not changed is not read again."""

    def __init__(self) -> None:
        self._folders: dict[Path, _Folder] = {}

    def index(self, folder: Path) -> bytes:
        """The index of a repository, now. Reads archives: not for the event loop."""
        known = self._folders.setdefault(folder, _Folder())
        stamps = _stamps(folder)
        if known.content and stamps == known.stamps:
            return known.content
        entries = {stamp: known.entries.get(stamp) or _entry(folder, stamp) for stamp in stamps}
        fresh = _Folder(stamps, entries, _render([each for each in entries.values() if each is not None]))
        self._folders[folder] = fresh
        return fresh.content

    def forget(self, folder: Path) -> None:
        """Of a repository that is gone."""
        self._folders.pop(folder, None)


def _stamps(folder: Path) -> tuple[_Stamp, ...]:
    found = []
    for entry in os.scandir(folder) if folder.is_dir() else ():
        if entry.name.endswith(".tgz") and not entry.name.startswith(".") and entry.is_file(follow_symlinks=False):
            status = entry.stat(follow_symlinks=False)
            found.append((entry.name, status.st_mtime_ns, status.st_size))
    return tuple(sorted(found))


def _entry(folder: Path, stamp: _Stamp) -> dict[str, Any] | None:
    name, changed, _ = stamp
    path = folder / name
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found = chart_metadata(path)
    except (OSError, NotAChartError) as error:
        http_serving.LOG.warning(
            "charts: %s is not in the index: %s", http_serving.shown(name), http_serving.shown(str(error))
        )
        return None
    created = datetime.datetime.fromtimestamp(changed / 1e9, datetime.UTC).isoformat(timespec="microseconds")
    return {**found, "created": created.replace("+00:00", "Z"), "digest": digest, "urls": [name]}


def _render(entries: list[dict[str, Any]]) -> bytes:
    by_name: dict[str, list[dict[str, Any]]] = {}
    for entry in sorted(entries, key=lambda each: version_precedence(each["version"]), reverse=True):
        by_name.setdefault(entry["name"], []).append(entry)
    now = datetime.datetime.now(datetime.UTC).isoformat().replace("+00:00", "Z")
    content = {"apiVersion": "v1", "entries": by_name, "generated": now}
    return yaml.dump(content, Dumper=_Dumper, allow_unicode=True, sort_keys=True, encoding="utf-8")


class _Dumper(yaml.CSafeDumper):
    """Without anchors: helm reads them, but nobody expects them."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def version_precedence(version: str) -> tuple[Any, ...]:
    """Orders semantic versions; what comes after a plus does not count."""
    core, _, pre = version.removeprefix("v").partition("+")[0].partition("-")
    numbers = [*(int(number) for number in core.split(".")), 0, 0][:3]
    parts = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in pre.split(".")) if pre else ()
    return (*numbers, not pre, parts)


_PATH = re.compile(r"/charts/(?P<name>[^/%]+)/(?P<file>[A-Za-z0-9][A-Za-z0-9._+-]*)")
_ANY_PATH = re.compile(r"/charts/(?P<name>[^/%]+)(?:/.*)?")


class ChartServer:
    """Serves the declared repositories."""

    name: ServerName = "charts"

    def __init__(self, declared: DeclaredSources, repositories: ChartRepositories, indexes: ChartIndexes) -> None:
        self._declared = declared
        self._repositories = repositories
        self._indexes = indexes
        self._indexing = asyncio.Lock()

    def repository(self, path: str) -> str:
        """The repository of a path."""
        match = _ANY_PATH.fullmatch(path)
        return match["name"] if match else ""

    def refusal(self, status: int, message: str) -> web.Response:
        """Plain text."""
        headers = {"WWW-Authenticate": 'Basic realm="firstlight lab charts", charset="UTF-8"'} if status == 401 else {}
        return web.Response(status=status, text=f"{message}\n", headers=headers)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """The index, or an archive."""
        # A version may have a plus, which some clients escape.
        match = _PATH.fullmatch(request.rel_url.raw_path.replace("%2B", "+").replace("%2b", "+"))
        if not match or not source_names.CHARTS.fullmatch(match["name"]) or match["name"] not in self._declared.charts:
            return self.refusal(404, "not found")
        if request.method not in ("GET", "HEAD"):
            return self.refusal(405, "charts come in through the lab, not here")
        name, file = match["name"], match["file"]
        header = request.headers.get("Authorization", "")
        verdict = declarations.judge(header, "read", self._declared.charts[name], self._declared.charts.values())
        request[http_serving.USER] = verdict.user
        if verdict.status != 200:
            problem = {
                401: "wrong credentials" if header else "credentials are needed",
                403: "not for these credentials",
            }
            return self.refusal(verdict.status, problem[verdict.status])
        folder = self._repositories.path(name)
        if file == "index.yaml":
            async with self._indexing:
                content = await asyncio.to_thread(self._indexes.index, folder)
            return web.Response(body=content, content_type="application/yaml", headers={"Cache-Control": "no-cache"})
        path = folder / file
        if not file.endswith((".tgz", ".tgz.prov")) or path.is_symlink() or not path.is_file():
            return self.refusal(404, f"{name} has no {file}")
        kind = "application/gzip" if file.endswith(".tgz") else "text/plain"
        return web.FileResponse(path, headers={"Content-Type": kind})


# What a chart's archive says of the chart, read without trusting it: one small file, no aliases, nothing unpacked.


ARCHIVE_LIMIT = 1 << 20
"""Bytes of a Chart.yaml."""
METADATA_DEPTH = 64 << 20
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
        self._left = METADATA_DEPTH

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._unpack.eof:
            given = self._unpack.unconsumed_tail or self._packed.read(1 << 16)
            part = self._unpack.decompress(given, len(buffer))
            if part:
                self._left -= len(part)
                if self._left < 0:
                    raise NotAChartError(f"there is no Chart.yaml in its first {METADATA_DEPTH >> 20} MiB")
                buffer[: len(part)] = part
                return len(part)
            if not given:
                raise NotAChartError("it ends too early")
        return 0


def chart_metadata(archive: bytes | Path) -> dict[str, Any]:
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
    if not isinstance(name, str) or not source_names.CHART.fullmatch(name):
        raise NotAChartError("its Chart.yaml has no proper name")
    if not isinstance(version, str) or not versions.is_chart(version):
        raise NotAChartError(f"the version of {name} is no semantic version")
    return {key: found[key] for key in _KEYS if found.get(key) not in (None, "")}


def _chart_yaml(packed: IO[bytes]) -> bytes:
    with tarfile.open(fileobj=io.BufferedReader(_Bounded(packed)), mode="r|") as tar:
        for member in tar:
            if _FILE.fullmatch(member.name.removeprefix("./")) and member.isreg():
                if member.size > ARCHIVE_LIMIT:
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
