"""Where backups are, one directory each, put there whole and taken away whole; and which of them stay."""

import contextlib
import dataclasses
import datetime
import errno
import os
import shutil
import stat
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from firstlight import errors
from firstlight.commands.backup import backup_manifest
from firstlight.commands.backup.backup_manifest import BackupManifest, BackupVerification, Pruning, StoredBackup
from firstlight.journal import state_files
from firstlight.render import private_directory
from firstlight.secrets import ssh_signature

MANIFEST = "manifest.json"
SIGNATURE = "manifest.json.sig"
LARGEST = 1 << 20
"""Bytes of a manifest: it names files."""


def home(state: Path, cluster: str) -> Path:
    """Where backups of a cluster are, if nobody says where."""
    return state / cluster / "backups"


@contextlib.contextmanager
def begun(place: Path, stamp: str) -> Iterator[Path]:
    """A directory to fill. It gets its name at the end, or is gone; one of a run that was killed goes at the next.

    Args:
        place: Where backups are.
        stamp: The name that it is to have.

    Raises:
        errors.Refused: There is one of that name, or a link is on the way.
        errors.FirstlightError: It cannot be written: no room, no right.
    """
    whole = place / stamp
    try:
        if state_files.is_kept(whole / MANIFEST):
            state_files.enter(whole)
        else:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if whole.exists() or whole.is_symlink():
            raise errors.Refused(f"{whole} is there already", hint="Run again: a second later it has another name.")
        if not os.access(place, os.W_OK | os.X_OK):
            raise PermissionError(0, "Permission denied")
        with private_directory.create("backup", memory=place) as partial:
            yield partial
            for each in partial.iterdir():
                _sync(each)
            _sync(partial)
            partial.rename(whole)
            _sync(place)
    except OSError as error:
        raise errors.FirstlightError(
            f"the backup cannot be written to {place}: {error.strerror or error}; nothing is left of it",
            hint="Make room, or write it elsewhere: --to DIR",
        ) from error


def kept(place: Path) -> tuple[StoredBackup, ...]:
    """The backups that are there, newest first; one without a manifest is among them, and says so."""
    if state_files.is_kept(place):
        state_files.check(place)
    try:
        names = [each.name for each in place.iterdir() if each.is_dir() and not each.is_symlink()]
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return tuple(_kept(place / each) for each in sorted(names, reverse=True) if _is_stamp(each))


def find(place: Path, stamp: str) -> StoredBackup:
    """One of them; the newest if none is named.

    Raises:
        errors.Refused: It is not there.
    """
    found = kept(place)
    if not found:
        raise errors.Refused(f"there is no backup in {place}", hint="Make one: firstlight backup create")
    chosen = [each for each in found if stamp in ("", each.stamp)]
    if not chosen:
        names = ", ".join(each.stamp for each in found[:3])
        raise errors.Refused(f"there is no backup {stamp} in {place}", hint=f"There is {names}.")
    return chosen[0]


def written(manifest: BackupManifest) -> bytes:
    """What a backup is, for people and programs: what is signed."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def write_manifest(content: bytes, signature: str, into: Path) -> None:
    """Write the manifest, and the signature beside it."""
    (into / MANIFEST).write_bytes(content)
    (into / SIGNATURE).write_text(signature)


def open_regular(path: Path) -> BinaryIO:
    """Open a file that somebody else may have put there: never through a link, and never one that blocks.

    Raises:
        OSError: It is not there, or is something else.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return os.fdopen(fd, "rb")


def remove(one: StoredBackup) -> None:
    """Let a backup go: first its manifest, without which what is left of it is none.

    Raises:
        errors.FirstlightError: It cannot be deleted.
    """
    path = Path(one.path)
    try:
        (path / MANIFEST).unlink(missing_ok=True)
        shutil.rmtree(path)
    except OSError as error:
        raise errors.FirstlightError(f"{path} cannot be deleted: {error.strerror or error}") from error


def _kept(path: Path) -> StoredBackup:
    try:
        with open_regular(path / MANIFEST) as file:
            content = file.read(LARGEST + 1)
        found = msgspec.json.decode(content, type=BackupManifest)
        signature = _signature(path / SIGNATURE)
    except OSError as error:
        return StoredBackup(stamp=path.name, path=str(path), problem=f"its manifest cannot be read: {error.strerror}")
    except msgspec.MsgspecError as error:
        return StoredBackup(stamp=path.name, path=str(path), problem=f"its manifest is wrong: {error}")
    if found.version not in (backup_manifest.UNSIGNED, backup_manifest.VERSION):
        return StoredBackup(stamp=path.name, path=str(path), problem=f"its manifest has version {found.version}")
    strange = [each.file for each in found.parts if Path(each.file).name != each.file]
    if strange:
        return StoredBackup(
            stamp=path.name, path=str(path), problem=f"its manifest names a file elsewhere: {strange[0]}"
        )
    return StoredBackup(stamp=path.name, path=str(path), manifest=found, content=content, signature=signature)


def _signature(path: Path) -> str:
    try:
        with open_regular(path) as file:
            return file.read(ssh_signature.LARGEST + 1).decode(errors="replace")
    except FileNotFoundError:
        return ""


def _is_stamp(name: str) -> bool:
    try:
        backup_manifest.moment(name)
    except ValueError:
        return False
    return True


def _sync(path: Path) -> None:
    """Make what was written last; some file systems do not offer that."""
    fd = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(fd)
    finally:
        os.close(fd)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RetentionPolicy:
    """What was asked for; each wish adds to the others."""

    newest: int = 0
    daily: int = 0
    """Days that have a backup, of which the newest stays."""
    weekly: int = 0
    """Weeks, from Monday on, the same."""

    @property
    def is_anything(self) -> bool:
        """Whether anything was asked for; without a wish nothing goes."""
        return bool(self.newest or self.daily or self.weekly)


def stays(moments: Iterable[datetime.datetime], keep: RetentionPolicy) -> frozenset[datetime.datetime]:
    """Those that stay; all of them where nothing was asked for.

    Days and weeks without a backup do not count: who has made none for a month loses none by that.
    """
    known = sorted(set(moments), reverse=True)
    if not keep.is_anything:
        return frozenset(known)
    return frozenset(
        [
            *known[: keep.newest],
            *_newest_of(known, keep.daily, lambda each: each.date()),
            *_newest_of(known, keep.weekly, lambda each: each.isocalendar()[:2]),
        ]
    )


def _newest_of(
    known: list[datetime.datetime], many: int, period: Callable[[datetime.datetime], object]
) -> list[datetime.datetime]:
    """The newest of each of the last periods."""
    found: dict[object, datetime.datetime] = {}
    for each in known:
        found.setdefault(period(each), each)
    return list(found.values())[:many]


# Backups let go by retention; never the newest that verifies, and none where none does.
#
# Those that nobody trusted has signed are counted apart: whoever can write to the place could else push out the others
# with newer names.


async def prune(
    found: Sequence[StoredBackup],
    keep: RetentionPolicy,
    *,
    signed: Collection[str],
    verify: Callable[[StoredBackup], Awaitable[BackupVerification]],
    is_dry_run: bool,
) -> Pruning:
    """Let go what is not to stay.

    Args:
        found: The backups that are there, newest first.
        keep: What is to stay: so many of those that are signed, and so many of the others.
        signed: Those that somebody trusted has signed, by their names.
        verify: Looks a backup through.
        is_dry_run: Only say what would go.

    Raises:
        errors.Refused: None verifies: what is left could be all that there is.
        errors.FirstlightError: One cannot be deleted.
    """
    stays = _stays([each for each in found if each.stamp in signed], keep)
    stays |= _stays([each for each in found if each.stamp not in signed], keep)
    if all(each.stamp in stays for each in found):
        return Pruning(gone=(), stays=tuple(each.stamp for each in found), is_dry_run=is_dry_run)
    sound = await _newest_sound(found, verify)
    stays.add(sound)
    gone = [each for each in found if each.stamp not in stays]
    for each in reversed(gone) if not is_dry_run else ():
        remove(each)
    return Pruning(
        gone=tuple(each.stamp for each in gone), stays=tuple(each.stamp for each in found if each.stamp in stays),
        sound=sound, is_dry_run=is_dry_run,
    )  # fmt: skip


def _stays(found: Sequence[StoredBackup], keep: RetentionPolicy) -> set[str]:
    moments = {backup_manifest.moment(each.stamp): each for each in found}
    return {moments[each].stamp for each in stays(moments, keep)}


async def _newest_sound(
    found: Sequence[StoredBackup], verify: Callable[[StoredBackup], Awaitable[BackupVerification]]
) -> str:
    for each in found:
        if (await verify(each)).is_sound:
            return each.stamp
    raise errors.Refused(
        f"none of the {len(found)} backups verifies: none is deleted",
        hint=f"What is wrong with the newest: firstlight backup verify {found[0].stamp}",
    )
