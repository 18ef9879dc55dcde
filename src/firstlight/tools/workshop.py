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
                           https://mirror.example/files/release/v1.36.3/bin/linux/amd64/kube-apiserver
    KUBEBUILDER_ASSETS     a directory with etcd, kube-apiserver and kubectl, as setup-envtest makes it
"""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

from firstlight import errors
from firstlight.tools import build_flags, cache, content_entry, key, sources, target
from firstlight.tools import catalogue as catalogues

WAYS = ("download", "build")


@dataclasses.dataclass(frozen=True)
class Workshop:
    """Everything that the parts of this package need to know about where they run."""

    catalogue: catalogues.Catalogue
    environ: Mapping[str, str]
    cache: cache.Cache
    lab: Path
    target: target.Target
    ways: tuple[str, ...]

    @property
    def mirror(self) -> str:
        """The base URL that replaces scheme and host of downloads, or nothing."""
        return self.environ.get("FIRSTLIGHT_MIRROR", "").rstrip("/")

    def module(self, build: catalogues.Build) -> sources.Module:
        """The Go module that a tool is built from, as it is now."""
        return sources.read(self.lab / build.directory)

    def flags(self, tool: catalogues.Tool) -> tuple[str, ...]:
        """The flags with which a tool is built."""
        return build_flags.flags(tool, self.catalogue.stamps)

    def build_recipe(self, tool: catalogues.Tool, module: sources.Module) -> str:
        """What a build from this module would be called in the cache."""
        assert tool.build is not None
        return key.build_recipe(module, tool.build, flags=self.flags(tool), machine=self.target)

    def recipes(self, tool: catalogues.Tool) -> frozenset[str]:
        """By what a binary in the cache is recognised as the one that is needed now."""
        recipes = set()
        if tool.download is not None and tool.download.pinned(self.target.system, self.target.machine):
            recipes.add(key.download_recipe(tool, machine=self.target))
        if tool.build is not None and (self.lab / tool.build.directory / "go.mod").is_file():
            recipes.add(self.build_recipe(tool, self.module(tool.build)))
        return frozenset(recipes)

    def content_files(self, content: content_entry.Content) -> tuple[tuple[str, bytes], ...]:
        """The files of the recipe by which content is finished."""
        return sources.read_files(self.lab / "content" / content.recipe) if content.recipe else ()

    def content_recipe(self, content: content_entry.Content) -> str:
        """By what content in the cache is recognised as the one that is needed now."""
        return key.content_recipe(content, files=self.content_files(content))


def here(environ: Mapping[str, str] | None = None) -> Workshop:
    """The workshop of this process.

    Raises:
        errors.UsageError: ``FIRSTLIGHT_ACQUIRE`` names a way that there is not.
    """
    variables = dict(os.environ if environ is None else environ)
    return Workshop(
        catalogue=catalogues.load(),
        environ=variables,
        cache=cache.locate(variables),
        lab=sources.lab_directory(),
        target=target.here(),
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
