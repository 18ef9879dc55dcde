"""What the catalogue says of content: charts and manifests that come out of Go modules at install time.

An entry names modules with their hashes, which of their paths to take, and how to finish what was taken. Everything
here is data; ``content`` acts on it.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import msgspec

SCRATCH = "scratch"
"""What is taken to below this directory is there while the content is finished, and not kept."""

LICENCES = "licences"
"""Where the licence files of each module are kept."""

_RESERVED = (LICENCES, "provenance.json")


@dataclasses.dataclass(frozen=True)
class ContentModule:
    """A Go module, pinned by the hash that go.sum would have for it, and which of its files are taken to where.

    ``take`` maps a file or directory of the module to its place in the content; ``omit`` has patterns of paths below
    a taken directory that stay behind.
    """

    path: str
    version: str
    sum: str
    take: Mapping[str, str] = dataclasses.field(default_factory=dict)
    omit: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.path}@{self.version}"


@dataclasses.dataclass(frozen=True)
class ContentChart:
    """The directory that is a Helm chart; it is packed beside itself.

    Charts in a source tree are not what their projects publish: ``version`` and ``app_version`` are set at the
    release, and keys in ``drop``, such as dependencies that would have to be fetched, are removed from Chart.yaml.
    """

    directory: str
    version: str = ""
    app_version: str = ""
    drop: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class ContentCrds:
    """CustomResourceDefinitions that become templates of a chart, as its project's release makes them.

    Each document of ``bundle`` gets a file in ``directory``, inside an ``if`` with the condition ``guard``, where
    ``{kind}`` is the kind that it defines; ``annotations`` names the value with more annotations.
    """

    bundle: str
    directory: str
    guard: str
    annotations: str = ""


@dataclasses.dataclass(frozen=True)
class CatalogueContent:
    """One piece of content, and the sets of tools that it belongs to.

    ``manifests`` maps a file of the content to the kustomization that it is built from; ``recipe`` names a directory
    below ``lab/content`` whose files are put to ``scratch`` before.
    """

    name: str
    summary: str
    version: str
    used_by: tuple[str, ...]
    module: tuple[ContentModule, ...]
    sets: tuple[str, ...] = ()
    recipe: str = ""
    manifests: Mapping[str, str] = dataclasses.field(default_factory=dict)
    crds: ContentCrds | None = None
    chart: ContentChart | None = None

    @property
    def programs(self) -> tuple[str, ...]:
        """The tools that are needed to finish it."""
        return ("kustomize",) if self.manifests else ()


def parse(entry: dict[str, Any]) -> CatalogueContent:
    """Read and check an entry.

    Raises:
        ValueError: It says something that it must not.
    """
    # Imported here: listing commands must not pay for it.

    name = entry.get("name", "content without a name")
    tables = [(entry, CatalogueContent), (entry.get("chart", {}), ContentChart), (entry.get("crds", {}), ContentCrds)]
    for table, shape in [*tables, *((module, ContentModule) for module in entry.get("module", []))]:
        # msgspec accepts unknown keys of dataclasses; here they are spelling mistakes.
        if unknown := set(table) - {field.name for field in dataclasses.fields(shape)}:
            raise ValueError(f"{name}: unknown key {min(unknown)!r}")
    try:
        content = msgspec.convert(entry, CatalogueContent)
    except msgspec.ValidationError as error:
        raise ValueError(f"{name}: {error}") from error
    for complaint in _complaints(content):
        raise ValueError(f"{name}: {complaint}")
    return content


def _complaints(content: CatalogueContent) -> Iterator[str]:
    if not re.fullmatch(r"[a-z][a-z0-9-]*", content.name):
        yield "a name is lower case, with digits and dashes"
    if not content.module:
        yield "content comes from at least one module"
    for module in content.module:
        if not is_hash(module.sum):
            yield f"the sum of {module} is not a hash as in go.sum, h1:…="
        if not module.take:
            yield f"nothing is taken from {module}"
        for source in module.take:
            if not _is_plain(source):
                yield f"{source!r} is not a path inside {module}"
        for target in module.take.values():
            if not _is_plain(target) or PurePosixPath(target).parts[0] in _RESERVED:
                yield f"{target!r} is not a place for content"
    if content.recipe and not content.manifests:
        yield "a recipe belongs to manifests"
    for target in content.manifests:
        if not _is_plain(target) or PurePosixPath(target).parts[0] in (*_RESERVED, SCRATCH):
            yield f"{target!r} is not a place for manifests"


def is_hash(text: str) -> bool:
    """Whether it is what go.sum has for a module."""
    return re.fullmatch(r"h1:[0-9A-Za-z+/]{43}=", text) is not None


def _is_plain(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and PurePosixPath(path).as_posix() == path and not path.startswith("/") and ".." not in parts
