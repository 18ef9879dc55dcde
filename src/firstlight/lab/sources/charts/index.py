"""The index of a Helm repository: made from the archives that are there, again whenever they change."""

import dataclasses
import datetime
import hashlib
import os
from pathlib import Path
from typing import Any

import yaml

from firstlight.lab.sources import serving
from firstlight.lab.sources.charts import archive

_Stamp = tuple[str, int, int]


@dataclasses.dataclass
class _Folder:
    stamps: tuple[_Stamp, ...] = ()
    entries: dict[_Stamp, dict[str, Any] | None] = dataclasses.field(default_factory=dict)
    content: bytes = b""


class Indexes:
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
        found = archive.metadata(path)
    except (OSError, archive.NotAChartError) as error:
        serving.LOG.warning("charts: %s is not in the index: %s", serving.shown(name), serving.shown(str(error)))
        return None
    created = datetime.datetime.fromtimestamp(changed / 1e9, datetime.UTC).isoformat(timespec="microseconds")
    return {**found, "created": created.replace("+00:00", "Z"), "digest": digest, "urls": [name]}


def _render(entries: list[dict[str, Any]]) -> bytes:
    by_name: dict[str, list[dict[str, Any]]] = {}
    for entry in sorted(entries, key=lambda each: precedence(each["version"]), reverse=True):
        by_name.setdefault(entry["name"], []).append(entry)
    now = datetime.datetime.now(datetime.UTC).isoformat().replace("+00:00", "Z")
    content = {"apiVersion": "v1", "entries": by_name, "generated": now}
    return yaml.dump(content, Dumper=_Dumper, allow_unicode=True, sort_keys=True, encoding="utf-8")


class _Dumper(yaml.CSafeDumper):
    """Without anchors: helm reads them, but nobody expects them."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def precedence(version: str) -> tuple[Any, ...]:
    """Orders semantic versions; what comes after a plus does not count."""
    core, _, pre = version.removeprefix("v").partition("+")[0].partition("-")
    numbers = [*(int(number) for number in core.split(".")), 0, 0][:3]
    parts = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in pre.split(".")) if pre else ()
    return (*numbers, not pre, parts)
