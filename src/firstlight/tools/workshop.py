"""All that decides what is found and how it is acquired: catalogue, environment, cache, sources, target.

Made once by ``here``, and passed in everywhere; tests make their own.

Environment variables that are read, all optional:

    FIRSTLIGHT_<NAME>      path of a tool, for example FIRSTLIGHT_KUBE_APISERVER; used instead of any other
    FIRSTLIGHT_GO          path of a go program
    FIRSTLIGHT_CACHE       where binaries and Go's caches are kept (XDG_CACHE_HOME/firstlight)
    FIRSTLIGHT_GOCACHE     Go's build cache alone, ten gigabytes when everything was built (<cache>/go/build)
    FIRSTLIGHT_ACQUIRE     which ways may be tried, in this order: download,build
    FIRSTLIGHT_MIRROR      base URL that replaces scheme and host of every release download, for sites without
                           internet: with https://mirror.example/files, the API server is fetched from
                           https://mirror.example/files/release/v1.36.4/bin/linux/amd64/kube-apiserver
    KUBEBUILDER_ASSETS     a directory with etcd, kube-apiserver and kubectl, as setup-envtest makes it
"""

import dataclasses
import hashlib
import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.tools import binary_cache, content_entry, go_sources
from firstlight.tools import catalogue as tools_catalogue

# The machine that binaries are for: this one, in the words of Go and of release downloads.


_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "riscv64": "riscv64"}


@dataclasses.dataclass(frozen=True)
class BuildTarget:
    """An operating system and a processor, as GOOS and GOARCH name them."""

    system: str
    machine: str


def this_machine() -> BuildTarget:
    """This machine.

    Raises:
        errors.ToolError: firstlight does not know this kind of machine.
    """
    machine = _MACHINES.get(platform.machine().lower())
    if machine is None or sys.platform not in {"linux", "darwin"}:
        raise errors.ToolError(f"firstlight does not run on {sys.platform} on {platform.machine()}")
    return BuildTarget(sys.platform, machine)


WAYS = ("download", "build")


@dataclasses.dataclass(frozen=True)
class Workshop:
    """Everything that the parts of this package need to know about where they run."""

    catalogue: tools_catalogue.Catalogue
    environ: Mapping[str, str]
    cache: binary_cache.BinaryCache
    lab: Path
    target: BuildTarget
    ways: tuple[str, ...]

    @property
    def mirror(self) -> str:
        """The base URL that replaces scheme and host of downloads, or nothing."""
        return self.environ.get("FIRSTLIGHT_MIRROR", "").rstrip("/")

    def module(self, build: tools_catalogue.GoBuild) -> go_sources.GoModule:
        """The Go module that a tool is built from, as it is now."""
        return go_sources.read(self.lab / build.directory)

    def flags(self, tool: tools_catalogue.CatalogueTool) -> tuple[str, ...]:
        """The flags with which a tool is built."""
        return build_flags(tool, self.catalogue.stamps)

    def build_recipe(self, tool: tools_catalogue.CatalogueTool, module: go_sources.GoModule) -> str:
        """What a build from this module would be called in the cache."""
        assert tool.build is not None
        return build_recipe(module, tool.build, flags=self.flags(tool), machine=self.target)

    def recipes(self, tool: tools_catalogue.CatalogueTool) -> frozenset[str]:
        """By what a binary in the cache is recognised as the one that is needed now."""
        recipes = set()
        if tool.download is not None and tool.download.pinned(self.target.system, self.target.machine):
            recipes.add(download_recipe(tool, machine=self.target))
        if tool.build is not None and (self.lab / tool.build.directory / "go.mod").is_file():
            recipes.add(self.build_recipe(tool, self.module(tool.build)))
        return frozenset(recipes)

    def content_files(self, content: content_entry.CatalogueContent) -> tuple[tuple[str, bytes], ...]:
        """The files of the recipe by which content is finished."""
        return go_sources.read_files(self.lab / "content" / content.recipe) if content.recipe else ()

    def content_recipe(self, content: content_entry.CatalogueContent) -> str:
        """By what content in the cache is recognised as the one that is needed now."""
        return content_recipe(content, files=self.content_files(content))


def here(environ: Mapping[str, str] | None = None) -> Workshop:
    """The workshop of this process.

    Raises:
        errors.UsageError: ``FIRSTLIGHT_ACQUIRE`` names a way that there is not.
    """
    variables = dict(os.environ if environ is None else environ)
    return Workshop(
        catalogue=tools_catalogue.load(),
        environ=variables,
        cache=binary_cache.locate(variables),
        lab=go_sources.lab_directory(),
        target=this_machine(),
        ways=_ways(variables.get("FIRSTLIGHT_ACQUIRE", "")),
    )


def _ways(text: str) -> tuple[str, ...]:
    ways = tuple(way.strip() for way in text.split(",") if way.strip())
    for way in ways:
        if way not in WAYS:
            raise errors.UsageError(
                f"FIRSTLIGHT_ACQUIRE has the unknown way {way!r}", hint="it is a list of: download, build"
            )
    return ways or WAYS


# What determines a binary, as a hash.
#
# A *recipe* is everything that firstlight decides: sources, package, flags, target. A *key* adds what else made
# the binary, the version of Go or the checksum of a download, and names the directory in the cache. A cached
# binary serves if its recipe is the present one: a newer Go on PATH is no reason to compile for ten minutes.


_LENGTH = 16
"""Hexadecimal digits: enough against accidents, and short enough for a path that people read."""

_FINISH = "1"
"""Another number for a change in how charts and manifests are finished that changes what comes out."""


def build_recipe(
    module: go_sources.GoModule, build: tools_catalogue.GoBuild, *, flags: Sequence[str], machine: BuildTarget
) -> str:
    """The recipe of a binary built from a module."""
    parts: list[bytes | str] = ["build", build.package, machine.system, machine.machine, *flags]
    for name, content in module.files:
        parts += [name, content]
    if build.copy is not None:
        parts += ["copy", build.copy.to, build.copy.sum]
    return _digest(parts)


def download_recipe(tool: tools_catalogue.CatalogueTool, *, machine: BuildTarget) -> str:
    """The recipe of a binary that its project published; the host it came from does not matter, its hash does."""
    pinned = tool.download.pinned(machine.system, machine.machine) if tool.download is not None else ""
    return _digest(["download", tool.name, tool.version, machine.system, machine.machine, pinned])


def content_recipe(content: content_entry.CatalogueContent, *, files: Sequence[tuple[str, bytes]]) -> str:
    """The recipe of content: its modules, what is taken and how it is finished; ``files`` are those of its recipe."""
    said = dataclasses.replace(content, summary="", used_by=(), sets=())
    parts: list[bytes | str] = ["content", _FINISH, msgspec.json.encode(said, order="deterministic")]
    for name, text in files:
        parts += [name, text]
    return _digest(parts)


def key_of(recipe: str, contribution: str) -> str:
    """The key of a binary: its recipe and what the machine contributed."""
    return _digest([recipe, contribution])


def _digest(parts: Iterable[bytes | str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        # With lengths, or ("ab", "c") and ("a", "bc") would be the same.
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()[:_LENGTH]


# How ``go build`` is called, apart from where: part of what determines a binary, so part of its key.


BUILD_ENVIRONMENT = {
    "CGO_ENABLED": "0",
    "GOFLAGS": "-modcacherw -buildvcs=false",
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
    "GOENV": "off",
}
"""Settings of every build. GOENV: what the user once set with ``go env -w`` has no say here."""


def build_flags(tool: tools_catalogue.CatalogueTool, stamps: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The flags of ``go build`` for a tool."""
    assert tool.build is not None
    chosen = stamps[tool.build.stamps] if tool.build.stamps else ()
    linker = ["-s", "-w", *(f"-X {tools_catalogue.fill(stamp, tool)}" for stamp in chosen)]
    return ("-mod=readonly", "-trimpath", "-ldflags", " ".join(linker))
