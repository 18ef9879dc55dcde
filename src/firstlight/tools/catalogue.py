"""The catalogue of external programs and content: ``catalogue.toml`` read, checked, and given types.

Everything else in this package takes a ``Tool`` or a ``Content`` from here.
"""

import dataclasses
import difflib
import enum
import functools
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.tools import content_entry, tool_version

SOURCE = "source"
"""The version of programs whose sources are in this repository: whatever those sources are."""

ALL = "all"
"""The set of everything that can be installed."""

_PLACEHOLDERS = {"version": "1", "major": "1", "minor": "1", "os": "linux", "arch": "amd64"}


class ToolKind(enum.Enum):
    """What a tool is to firstlight."""

    PROGRAM = "program"
    COMPONENT = "component"
    PEER = "peer"


@dataclasses.dataclass(frozen=True)
class ToolCopy:
    """A module that cannot be built as it is published: a copy of it, with files of the pin instead of its own.

    The pin's go.mod replaces the module by the directory ``to``, where files of the pin are that it lacks.
    """

    path: str
    version: str
    sum: str
    to: str

    @property
    def module(self) -> content_entry.ContentModule:
        """What is to be fetched."""
        return content_entry.ContentModule(self.path, self.version, self.sum)


@dataclasses.dataclass(frozen=True)
class GoBuild:
    """How a tool is built from Go sources."""

    package: str
    seconds: int
    pin: str = ""
    source: str = ""
    stamps: str = ""
    copy: ToolCopy | None = None

    @property
    def directory(self) -> str:
        """Where its go.mod is, below ``lab``."""
        return f"pins/{self.pin}" if self.pin else self.source


@dataclasses.dataclass(frozen=True)
class ReleaseDownload:
    """Where the project itself publishes a binary, and the hash that the file has for each system and machine."""

    url: str
    sha256: Mapping[str, str]
    member: str = ""

    def pinned(self, system: str, machine: str) -> str:
        """Return the hash of the file for a system and a machine; empty if none is pinned."""
        return self.sha256.get(f"{system}-{machine}", "")


@dataclasses.dataclass(frozen=True)
class CatalogueTool:
    """One external program."""

    name: str
    kind: ToolKind
    summary: str
    version: str
    used_by: tuple[str, ...]
    needs: str = ""
    file: str = ""
    assets: bool = False
    ask: tuple[str, ...] = ()
    answer: str = ""
    by_hand: str = ""
    build: GoBuild | None = None
    download: ReleaseDownload | None = None

    @property
    def variable(self) -> str:
        """The environment variable with which a user gives a path."""
        return "FIRSTLIGHT_" + self.name.upper().replace("-", "_")

    @property
    def file_name(self) -> str:
        """What the file is called."""
        return self.file or self.name

    @property
    def requirement(self) -> tool_version.VersionRequirement | None:
        """What its version must be; nothing for programs of this repository."""
        if self.version == SOURCE:
            return None
        return tool_version.parse_requirement(self.needs or f"=={self.version}")

    @property
    def needed(self) -> str:
        """What its version must be, for people."""
        return (self.needs or self.version).replace(",", " ")


@dataclasses.dataclass(frozen=True)
class Catalogue:
    """All tools and content by name, the sets in which they are installed, and the linker variables."""

    tools: Mapping[str, CatalogueTool]
    content: Mapping[str, content_entry.CatalogueContent]
    sets: Mapping[str, tuple[str, ...]]
    stamps: Mapping[str, tuple[str, ...]]

    def get(self, name: str) -> CatalogueTool:
        """The tool of this name.

        Raises:
            errors.UsageError: There is none.
        """
        if name in self.tools:
            return self.tools[name]
        if name in self.content:
            raise errors.UsageError(f"{name} is content, and no program")
        raise _unknown("tool", name, self.names)

    def get_content(self, name: str) -> content_entry.CatalogueContent:
        """The content of this name.

        Raises:
            errors.UsageError: There is none.
        """
        if name in self.content:
            return self.content[name]
        raise _unknown("content", name, self.content)

    @property
    def names(self) -> tuple[str, ...]:
        """What can be installed or found, tools first."""
        return (*self.tools, *self.content)

    def split(self, names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of tools, and names of content, each once; what is unknown counts as a tool."""
        wanted = tuple(dict.fromkeys(names))
        return (
            tuple(name for name in wanted if name not in self.content),
            tuple(name for name in wanted if name in self.content),
        )

    def members(self, name: str) -> tuple[str, ...]:
        """The tools and content of a set, in the order in which something can start with them.

        Raises:
            errors.UsageError: There is no such set.
        """
        if name in self.sets:
            return self.sets[name]
        raise _unknown("set", name, self.sets)


def fill(template: str, tool: CatalogueTool, *, system: str = "", machine: str = "") -> str:
    """A URL, a path in an archive or a stamp, with version, system and machine filled in."""
    numbers = (0, 0, 0) if tool.version == SOURCE else tool_version.parse(tool.version).numbers
    return template.format(version=tool.version, major=numbers[0], minor=numbers[1], os=system, arch=machine)


@functools.cache
def load() -> Catalogue:
    """The catalogue that comes with firstlight."""
    path = Path(__file__).with_name("catalogue.toml")
    return parse(path.read_text(), path=str(path))


def parse(text: str, *, path: str) -> Catalogue:
    """Read and check a catalogue.

    Raises:
        errors.ConfigError: It says something that it must not.
    """
    # Imported here: listing commands must not pay for it.

    raw = tomllib.loads(text)
    try:
        stamps = msgspec.convert(raw.pop("stamps", {}), dict[str, tuple[str, ...]])
        sets = msgspec.convert(raw.pop("sets", {}), dict[str, tuple[str, ...]])
        tools = [_parse_tool(entry) for entry in raw.pop("tool", [])]
        content = [content_entry.parse(entry) for entry in raw.pop("content", [])]
        if raw:
            raise ValueError(f"unknown table {next(iter(raw))!r}")
        for tool in tools:
            _check(tool, stamps)
        known = [*(tool.name for tool in tools), *(entry.name for entry in content)]
        if len(set(known)) != len(known):
            raise ValueError("a name occurs twice")
        for entry in content:
            for set_name in entry.sets:
                if set_name not in sets:
                    raise ValueError(f"{entry.name}: there is no set {set_name!r}")
                sets[set_name] = (*sets[set_name], entry.name)
        for set_name, names in sets.items():
            if unknown := set(names) - set(known):
                raise ValueError(f"set {set_name!r} has unknown tools: {', '.join(sorted(unknown))}")
        if ALL in sets:
            raise ValueError(f"set {ALL!r} is not for the catalogue to say")
    except (ValueError, KeyError, msgspec.ValidationError) as error:
        raise errors.ConfigError(str(error), path=path) from error
    # Sets first, because something can start with a part of them; what needs release pages last.
    built = [tool.name for tool in tools if tool.build]
    downloaded = [tool.name for tool in tools if tool.download]
    rest = (*built, *(entry.name for entry in content), *downloaded)
    everything = dict.fromkeys(name for names in (*sets.values(), rest) for name in names)
    return Catalogue(
        {tool.name: tool for tool in tools}, {entry.name: entry for entry in content},
        {**sets, ALL: tuple(everything)}, stamps,
    )  # fmt: skip


def _parse_tool(entry: dict[str, Any]) -> CatalogueTool:
    name = entry.get("name", "a tool without a name")
    for table, shape in (
        (entry, CatalogueTool),
        (entry.get("build", {}), GoBuild),
        (entry.get("build", {}).get("copy", {}), ToolCopy),
        (entry.get("download", {}), ReleaseDownload),
    ):
        # msgspec accepts unknown keys of dataclasses; here they are spelling mistakes.
        if unknown := set(table) - {field.name for field in dataclasses.fields(shape)}:
            raise ValueError(f"{name}: unknown key {min(unknown)!r}")
    try:
        return msgspec.convert(entry, CatalogueTool)
    except msgspec.ValidationError as error:
        raise ValueError(f"{name}: {error}") from error


def _check(tool: CatalogueTool, stamps: Mapping[str, Sequence[str]]) -> None:
    def demand(holds: object, message: str) -> None:
        if not holds:
            raise ValueError(f"{tool.name}: {message}")

    demand(re.fullmatch(r"[a-z][a-z0-9-]*", tool.name), "a name is lower case, with digits and dashes")
    demand(bool(tool.ask) == bool(tool.answer), "ask and answer belong together")
    demand(
        tool.build or tool.download or tool.by_hand,
        "there is neither a way to install it nor a sentence on how to",
    )
    if tool.answer:
        demand(re.compile(tool.answer).groups == 1, "answer must have exactly one group: the version")
    if tool.requirement is not None:
        demand(tool.requirement.accepts(tool_version.parse(tool.version)), "what is installed is not what is needed")
    if tool.build is not None:
        demand(bool(tool.build.pin) != bool(tool.build.source), "a build has either a pin or a source")
        demand(not tool.build.stamps or tool.build.stamps in stamps, f"there are no stamps {tool.build.stamps!r}")
        demand(tool.version != SOURCE or tool.build.source, "only programs with a source have that version")
    if tool.build is not None and tool.build.copy is not None:
        demand(tool.build.pin, "a copy belongs to a pin")
        demand(content_entry.is_hash(tool.build.copy.sum), "the sum of a copy is a hash as in go.sum, h1:…=")
        demand(re.fullmatch(r"[a-z][a-z0-9-]*", tool.build.copy.to), "a copy is in a directory of the pin")
    if tool.download is not None:
        demand(tool.download.url.startswith("https://"), "a download is by https")
        demand(tool.download.sha256, "a download needs the hash of its file: sha256")
        for place, digest in tool.download.sha256.items():
            demand(
                re.fullmatch(r"(linux|darwin)-(amd64|arm64|riscv64)", place), f"{place!r} is not a system and a machine"
            )
            demand(re.fullmatch(r"[0-9a-f]{64}", digest), f"the hash for {place} is not a SHA-256")
        archive = tool.download.url.endswith((".tar.gz", ".zip"))
        demand(archive == bool(tool.download.member), "a member belongs to an archive, and to nothing else")
    for template in _templates(tool, stamps):
        template.format(**_PLACEHOLDERS)


def _templates(tool: CatalogueTool, stamps: Mapping[str, Sequence[str]]) -> Iterable[str]:
    if tool.download is not None:
        yield from (tool.download.url, tool.download.member)
    if tool.build is not None and tool.build.stamps:
        yield from stamps[tool.build.stamps]


def _unknown(what: str, name: str, known: Iterable[str]) -> errors.UsageError:
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(names)}"
    return errors.UsageError(f"there is no {what} {name!r}", hint=hint)
