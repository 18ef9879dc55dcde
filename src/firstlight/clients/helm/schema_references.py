"""References out of a chart's ``values.schema.json``, found before Helm follows them.

Helm resolves ``$ref`` and ``$schema`` by itself: it fetches ``http:`` and ``https:``, and opens any file for ``file:``
and for a path. Only references within the document are local; the drafts of JSON Schema are built into Helm.
"""

import dataclasses
import gzip
import io
import json
import os
import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urldefrag, urljoin

from firstlight import errors

NAME = "values.schema.json"
_KEYWORDS = frozenset({"$ref", "$schema", "$dynamicRef", "$recursiveRef"})
_IDS = frozenset({"$id", "id"})
_DRAFT = re.compile(
    r"https?://json-schema\.org/(?:draft-0[4-7]/schema|draft/20(?:19-09|20-12)/(?:schema|meta/[a-z-]+))"
)
_WEB = re.compile(r"https?://", re.IGNORECASE)
_SIZE = 16 << 20
"""Bytes of one schema; the largest in use have one hundredth of that."""
_UNPACKED = 256 << 20
"""Bytes of all archives of a chart together."""
_NESTED = 8
"""Archives in archives."""


@dataclasses.dataclass(frozen=True)
class SchemaReference:
    """One that leads out of its document."""

    file: str
    """The schema, by its path in the chart."""
    target: str

    @property
    def is_web(self) -> bool:
        """Whether it would be fetched, rather than read from this computer."""
        return _WEB.match(self.target) is not None

    def __str__(self) -> str:
        return f"{self.file} refers to {self.target[:200]!r}"


def outside(chart: Path) -> tuple[SchemaReference, ...]:
    """Every reference of a chart's schemas that leads out of them; those of the charts in it, packed or not, too.

    Args:
        chart: A directory that was looked through before, or an archive.

    Raises:
        errors.Refused: A schema or an archive cannot be read.
    """
    return tuple(
        dict.fromkeys(reference for file, content in _schemas(chart) for reference in _references(file, content))
    )


def _schemas(chart: Path) -> Iterator[tuple[str, bytes]]:
    budget = [_UNPACKED]
    if chart.is_file():
        yield from _packed(chart.name, chart.read_bytes(), budget, 0)
        return
    seen: set[tuple[int, int]] = set()
    for base, directories, names in os.walk(chart, followlinks=True):
        here = os.stat(base)
        if (here.st_dev, here.st_ino) in seen:  # a link may lead back
            directories.clear()
            continue
        seen.add((here.st_dev, here.st_ino))
        for name in sorted(names):
            place = Path(base, name)
            file = place.relative_to(chart).as_posix()
            if name == NAME and place.is_file():
                if place.stat().st_size > _SIZE:
                    raise errors.Refused(f"{file} has more than {_SIZE >> 20} MiB")
                yield file, place.read_bytes()
            elif _is_packed(file) and place.is_file():
                yield from _packed(file, place.read_bytes(), budget, 0)


def _is_packed(path: str) -> bool:
    """Whether Helm takes a file for a chart in a chart."""
    return PurePosixPath(path).parent.name == "charts" and path.endswith((".tgz", ".tar.gz"))


def _packed(name: str, data: bytes, budget: list[int], depth: int) -> Iterator[tuple[str, bytes]]:
    if depth > _NESTED:
        raise errors.Refused(f"{name}: charts are packed more than {_NESTED} times into each other")
    try:
        with gzip.open(io.BytesIO(data)) as raw, tarfile.open(fileobj=raw, mode="r|") as archive:
            for entry in archive:
                budget[0] -= entry.size
                if budget[0] < 0:
                    raise errors.Refused(f"{name}: there are more than {_UNPACKED >> 20} MiB in it")
                is_schema = PurePosixPath(entry.name).name == NAME
                if not entry.isreg() or not (is_schema or _is_packed(entry.name)):
                    continue
                if is_schema and entry.size > _SIZE:
                    raise errors.Refused(f"{name}/{entry.name[:200]} has more than {_SIZE >> 20} MiB")
                file = archive.extractfile(entry)
                assert file is not None
                content, inner = file.read(), f"{name}/{entry.name}"
                if is_schema:
                    yield inner, content
                else:
                    yield from _packed(inner, content, budget, depth + 1)
    except (tarfile.TarError, OSError, EOFError, zlib.error, ValueError) as error:
        raise errors.Refused(f"{name}: the archive of a chart cannot be read: {error}") from error


def _references(file: str, content: bytes) -> Iterator[SchemaReference]:
    pairs: list[tuple[str, Any]] = []

    def noted(found: list[tuple[str, Any]]) -> dict[str, Any]:
        pairs.extend(found)  # all of them, also where a key stands twice
        return {}

    try:
        json.loads(content.decode("utf-8-sig"), object_pairs_hook=noted)
    except RecursionError as error:
        raise errors.Refused(f"{file} is nested too deeply") from error
    except ValueError:
        return  # Helm says so itself, before it follows anything
    ids = {urldefrag(value)[0] for key, value in pairs if key in _IDS and isinstance(value, str)}
    for key, value in pairs:
        if key in _KEYWORDS and isinstance(value, str) and not _is_local(value, ids):
            yield SchemaReference(file, value)


def _is_local(target: str, ids: set[str]) -> bool:
    whole, _ = urldefrag(target)
    if not whole or _DRAFT.fullmatch(whole):
        return True
    # A document, or a part of it, may have a name of its own by which it is referred to.
    return whole in ids or any(urljoin(each, whole) in ids for each in ids if _WEB.match(each))
