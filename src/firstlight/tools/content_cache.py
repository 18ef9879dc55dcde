"""Content that was taken out of Go modules, kept beside the binaries of the cache.

    <root>/content/<name>/<version>-<key>/…                 its files
    <root>/content/<name>/<version>-<key>/licences/…        the licences of the modules that it comes from
    <root>/content/<name>/<version>-<key>/provenance.json   how it came about, with a checksum for each file

A directory appears whole, by a rename, or not at all; whoever changes something holds the lock of the name. All of
it is small, so every byte is compared at every use.
"""

import dataclasses
import datetime
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from firstlight.tools import binary_cache, content_entry


@dataclasses.dataclass(frozen=True)
class ContentFile:
    """One file of a content, as it was when it was installed."""

    size: int
    sha256: str
    executable: bool


@dataclasses.dataclass(frozen=True)
class ContentProvenance:
    """How a content came about, and how to tell that it is still the same."""

    name: str
    version: str
    recipe: str
    modules: tuple[str, ...]
    when: str
    seconds: float
    files: Mapping[str, ContentFile]


@dataclasses.dataclass(frozen=True)
class CachedContent:
    """A content in the cache; ``path`` is its directory."""

    path: Path
    provenance: ContentProvenance

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(file.size for file in self.provenance.files.values())


@dataclasses.dataclass(frozen=True)
class ContentCache:
    """The part of a user's cache that has content."""

    root: Path

    def look_up(self, name: str, recipe: str) -> tuple[CachedContent | None, tuple[binary_cache.DamagedEntry, ...]]:
        """The content made by this recipe, and what is damaged of this name; sizes only, ``verify`` reads."""
        chosen: CachedContent | None = None
        damaged: list[binary_cache.DamagedEntry] = []
        for entry in self.entries(name):
            if isinstance(entry, binary_cache.DamagedEntry):
                damaged.append(entry)
            elif entry.provenance.recipe == recipe:
                chosen = entry
        if chosen is not None:
            binary_cache.touch(chosen.path / binary_cache.PROVENANCE)
        return chosen, tuple(damaged)

    def entries(self, name: str) -> Iterator[CachedContent | binary_cache.DamagedEntry]:
        """Everything of this name, of whatever version and recipe."""
        try:
            directories = sorted((self.root / name).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return
        for directory in directories:
            yield _read(directory)

    def names(self) -> tuple[str, ...]:
        """The names of which there is content."""
        return tuple(sorted(path.name for path in self.root.iterdir())) if self.root.is_dir() else ()

    def publish(
        self, directory: Path, content: content_entry.CatalogueContent, *, recipe: str, seconds: float, aside: Path
    ) -> CachedContent:
        """Move a staged directory to its place, whole or not at all; its name is locked.

        What was there before goes to ``aside``. Nothing is forced to the disk: what a power cut damages is noticed
        at the next use.
        """
        now = datetime.datetime.now(datetime.UTC)
        provenance = ContentProvenance(
            content.name, content.version, recipe, tuple(f"{module} {module.sum}" for module in content.module),
            now.isoformat(timespec="microseconds"), round(seconds, 1), _describe(directory),
        )  # fmt: skip
        encoded = msgspec.json.format(msgspec.json.encode(provenance), indent=2)
        (directory / binary_cache.PROVENANCE).write_bytes(encoded)
        place = self.root / content.name / f"{content.version}-{recipe}"
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists():
            place.rename(aside)
        directory.rename(place)
        binary_cache.forget_unused(place)
        return CachedContent(place, provenance)


def of(store: binary_cache.BinaryCache) -> ContentCache:
    """The content of a cache."""
    return ContentCache(store.root / "content")


def verify(entry: CachedContent) -> binary_cache.DamagedEntry | None:
    """Compare every byte with the provenance."""
    for path, file in entry.provenance.files.items():
        try:
            actual = binary_cache.hash_file(entry.path / path)
        except OSError as error:
            return binary_cache.DamagedEntry(entry.path, f"{path} cannot be read: {error.strerror}")
        if actual != file.sha256:
            return binary_cache.DamagedEntry(entry.path, f"{path} has changed since it was installed")
    return None


def _read(directory: Path) -> CachedContent | binary_cache.DamagedEntry:
    try:
        provenance = msgspec.json.decode((directory / binary_cache.PROVENANCE).read_bytes(), type=ContentProvenance)
        there = {path: (size, executable) for path, size, executable in _walk(directory)}
    except (OSError, msgspec.DecodeError) as error:
        return binary_cache.DamagedEntry(directory, f"it cannot be read: {error}")
    expected = {path: (file.size, file.executable) for path, file in provenance.files.items()}
    if there != expected:
        different = min(path for path in there.keys() | expected.keys() if there.get(path) != expected.get(path))
        return binary_cache.DamagedEntry(directory, f"{different} is not as it was when it was installed")
    return CachedContent(directory, provenance)


def _describe(directory: Path) -> dict[str, ContentFile]:
    return {
        path: ContentFile(size, binary_cache.hash_file(directory / path), executable)
        for path, size, executable in sorted(_walk(directory))
    }


def _walk(directory: Path) -> Iterator[tuple[str, int, bool]]:
    """Every file with its size and whether it is executable; links and pipes are files of no size."""
    for parent, _, names in os.walk(directory, onerror=_raise):
        for name in names:
            path = Path(parent) / name
            relative = path.relative_to(directory).as_posix()
            if relative == binary_cache.PROVENANCE:
                continue
            status = path.lstat()
            regular = path.is_file() and not path.is_symlink()
            yield relative, status.st_size if regular else -1, bool(status.st_mode & 0o100)


def _raise(error: OSError) -> None:
    raise error
