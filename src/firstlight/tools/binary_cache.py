"""Binaries that were downloaded or built, shared by all clones of a user.

    <root>/bin/<name>/<version>-<key>/<name>            the binary
    <root>/bin/<name>/<version>-<key>/provenance.json   how it came about
    <root>/content/                                     charts and manifests, see content_cache
    <root>/locks/ <root>/tmp/ <root>/logs/ <root>/versions/ <root>/go/

A directory below ``bin`` appears whole, by a rename, or not at all. Whoever changes something below
``bin/<name>`` holds ``locks/<name>``; readers need no lock.
"""

import asyncio
import contextlib
import dataclasses
import datetime
import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from pathlib import Path

import msgspec

PROVENANCE = "provenance.json"

_UNUSED_AFTER = 30 * 86400
"""Seconds after which a binary that nobody used goes: each lab of old is half a gigabyte."""


@dataclasses.dataclass(frozen=True)
class BinaryProvenance:
    """How a binary came about, and how to tell that it is still the same."""

    name: str
    version: str
    recipe: str
    key: str
    how: str
    origin: str
    go: str
    system: str
    machine: str
    when: str
    seconds: float
    size: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class CachedBinary:
    """A binary in the cache."""

    path: Path
    provenance: BinaryProvenance


@dataclasses.dataclass(frozen=True)
class DamagedEntry:
    """A directory of the cache whose binary is not what its provenance says."""

    path: Path
    why: str


@dataclasses.dataclass(frozen=True)
class BinaryCache:
    """The cache of one user."""

    root: Path

    @property
    def logs(self) -> Path:
        """Where builds write what Go says."""
        return self.root / "logs"

    @property
    def versions(self) -> Path:
        """What programs elsewhere answered when they were asked for their version."""
        return self.root / "versions"

    @property
    def go(self) -> Path:
        """Go's build cache, module cache and toolchains."""
        return self.root / "go"

    def look_up(self, name: str, recipes: Collection[str]) -> tuple[CachedBinary | None, tuple[DamagedEntry, ...]]:
        """The newest sound binary made by one of these recipes, and those that are damaged.

        Sound means here: the right size. Hashing a hundred megabytes on every use would cost more than it
        finds; ``verify`` does it.
        """
        sound: list[CachedBinary] = []
        damaged: list[DamagedEntry] = []
        for entry in self.entries(name):
            if isinstance(entry, DamagedEntry):
                damaged.append(entry)
            elif entry.provenance.recipe in recipes:
                sound.append(entry)
        if not sound:
            return None, tuple(damaged)
        chosen = max(sound, key=lambda entry: entry.provenance.when)
        touch(chosen.path.with_name(PROVENANCE))
        return chosen, tuple(damaged)

    def entries(self, name: str) -> Iterator[CachedBinary | DamagedEntry]:
        """Every binary of this name, of whatever version and recipe."""
        try:
            directories = sorted((self.root / "bin" / name).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return
        for directory in directories:
            yield _read(directory, name)

    def names(self) -> tuple[str, ...]:
        """The names of which there are binaries."""
        directory = self.root / "bin"
        return tuple(sorted(path.name for path in directory.iterdir())) if directory.is_dir() else ()

    @contextlib.asynccontextmanager
    async def locked(self, name: str, *, on_wait: Callable[[str], None]) -> AsyncIterator[None]:
        """Hold the right to change ``bin/<name>`` or ``content/<name>``; what a killed process left behind is swept."""
        async with hold_lock(self.root / "locks" / name, f"which installs {name}", on_wait=on_wait):
            # Only the holder of this lock stages this name, so all that is there now was left by the dead.
            for stale in (self.root / "tmp").glob(f"{name}@*"):
                shutil.rmtree(stale, ignore_errors=True)
            yield

    @contextlib.asynccontextmanager
    async def building(self, name: str, *, on_wait: Callable[[str], None]) -> AsyncIterator[None]:
        """Hold the right to build: one build already uses every core."""
        async with hold_lock(self.root / "locks" / "build", f"which builds {name}", on_wait=on_wait):
            yield

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[Path]:
        """A private directory on the cache's file system, gone afterwards; ``name`` is locked."""
        parent = self.root / "tmp"
        parent.mkdir(parents=True, exist_ok=True)
        directory = Path(tempfile.mkdtemp(prefix=f"{name}@", dir=parent))
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def publish(self, binary: Path, provenance: BinaryProvenance) -> CachedBinary:
        """Move a staged binary to its place, whole and on the disk, or not at all; its name is locked."""
        name = provenance.name
        staged = binary.parent / "publish"
        staged.mkdir()
        binary.chmod(0o755)
        binary.rename(staged / name)
        (staged / PROVENANCE).write_bytes(msgspec.json.format(msgspec.json.encode(provenance), indent=2))
        for path in (staged / name, staged / PROVENANCE, staged):
            _sync(path)

        place = self.root / "bin" / name / f"{provenance.version}-{provenance.key}"
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists():
            # Damaged, or installed again on demand. Readers in between find nothing and wait for the lock.
            place.rename(binary.parent / "replaced")
        staged.rename(place)
        _sync(place.parent)
        forget_unused(place)
        return CachedBinary(place / name, provenance)

    def remove(self, damaged: DamagedEntry) -> None:
        """Take a damaged binary away; its name is locked."""
        shutil.rmtree(damaged.path, ignore_errors=True)

    def remove_all(self, name: str) -> bool:
        """Take everything of a name away, which is locked; whether there was something."""
        places = [place for place in (self.root / "bin" / name, self.root / "content" / name) if place.exists()]
        for place in places:
            shutil.rmtree(place, ignore_errors=True)
        return bool(places)


def locate(environ: Mapping[str, str]) -> BinaryCache:
    """The cache of this user: ``FIRSTLIGHT_CACHE``, else as the XDG base directories say."""
    if given := environ.get("FIRSTLIGHT_CACHE"):
        return BinaryCache(Path(given).absolute())
    base = environ.get("XDG_CACHE_HOME", "")
    # The specification says that relative paths are to be ignored.
    parent = Path(base) if base.startswith("/") else Path(environ.get("HOME") or Path.home()) / ".cache"
    return BinaryCache(parent / "firstlight")


def describe(
    binary: Path, *, name: str, version: str, recipe: str, key: str, how: str, origin: str, go: str,
    system: str, machine: str, seconds: float,
) -> BinaryProvenance:  # fmt: skip
    """The provenance of a staged binary."""
    now = datetime.datetime.now(datetime.UTC)
    return BinaryProvenance(
        name=name, version=version, recipe=recipe, key=key, how=how, origin=origin, go=go, system=system,
        machine=machine, when=now.isoformat(timespec="microseconds"), seconds=round(seconds, 1),
        size=binary.stat().st_size, sha256=hash_file(binary),
    )  # fmt: skip


def verify(entry: CachedBinary) -> DamagedEntry | None:
    """Compare every byte of a binary with its provenance."""
    if hash_file(entry.path) == entry.provenance.sha256:
        return None
    return DamagedEntry(entry.path.parent, "its content has changed since it was installed")


def hash_file(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(directory: Path, name: str) -> CachedBinary | DamagedEntry:
    try:
        provenance = msgspec.json.decode((directory / PROVENANCE).read_bytes(), type=BinaryProvenance)
        status = (directory / name).stat()
    except (OSError, msgspec.DecodeError) as error:
        return DamagedEntry(directory, f"it cannot be read: {error}")
    if not stat.S_ISREG(status.st_mode) or status.st_size != provenance.size:
        return DamagedEntry(directory, f"it has {status.st_size} bytes instead of {provenance.size}")
    if not status.st_mode & stat.S_IXUSR:
        return DamagedEntry(directory, "it is not executable")
    return CachedBinary(directory / name, provenance)


def touch(path: Path) -> None:
    """Note that the owner of a provenance is in use, once a day: a read must not become a write each time."""
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > 86400:
            os.utime(path)


def forget_unused(keep: Path) -> None:
    """Take away what lies beside ``keep`` and was not used for long."""
    for directory in keep.parent.iterdir():
        with contextlib.suppress(FileNotFoundError):
            used = (directory / PROVENANCE).stat().st_mtime
            if directory != keep and time.time() - used > _UNUSED_AFTER:
                shutil.rmtree(directory, ignore_errors=True)


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


# One at a time across processes: an flock on a file of the cache, with the name of its holder in it.
#
# The kernel gives the lock up when its holder dies, however it dies, so there are no stale locks.


_POLL = 0.1
"""Seconds between two tries. A blocking flock needs a thread, and Ctrl-C does not reach a thread."""


@contextlib.asynccontextmanager
async def hold_lock(path: Path, what: str, *, on_wait: Callable[[str], None]) -> AsyncIterator[None]:
    """Hold a lock.

    Args:
        path: The file that stands for it.
        what: What it is held for, told to those who wait.
        on_wait: Called with a new holder as long as it is somebody else.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        told = ""
        while not _try_lock(fd):
            holder = os.pread(fd, 200, 0).decode(errors="replace").strip() or "another process"
            if holder != told:
                on_wait(holder)
                told = holder
            await asyncio.sleep(_POLL)
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"process {os.getpid()}, {what}\n".encode(), 0)
        yield
    finally:
        # The file stays: removing it would let two processes lock two different files of the same name.
        os.close(fd)


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
