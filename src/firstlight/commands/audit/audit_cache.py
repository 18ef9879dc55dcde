"""Answers of audits that were made before, kept in the user's cache by everything that went into them.

    <cache>/audits/<repo>/index.json     what was known of each file: its stamp, and the digest of what is in it
    <cache>/audits/<repo>/<key>.json     an answer

A file whose stamp is the same is not read again, as Git does it; one that was written at the time of the last look may
have been written again since, so that it is. Answers have no secrets in them; they are for the user's eyes alone all
the same. What depends on clusters or on renditions is never kept.
"""

import asyncio
import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

import firstlight
from firstlight import errors
from firstlight.clients.git import repository
from firstlight.commands.audit.audit import AuditResult
from firstlight.commands.audit.audit_request import AuditRequest
from firstlight.model import remote_url
from firstlight.model.finding import Audit
from firstlight.render import cache_files
from firstlight.repo.secrecy import clear_secrets
from firstlight.repo.work_tree import WorkTree
from firstlight.tools import binary_cache

FORMAT = 2
_RACY = 2_000_000_000
"""Nanoseconds within which a file could change and keep its time: the coarsest file systems count in two seconds."""
_ANSWERS = 20
"""Answers that are kept of a repo."""
_INDEX = "index.json"
_CODE = ("commands/audit", "document", "engines", "model", "ownership", "plan", "repo")
_ENTRY_POINTS = "firstlight.audit"
"""As in ``rulebook``, which is not for those who only look an answer up."""


class FileStamp(msgspec.Struct, frozen=True, array_like=True):
    """A file as it was."""

    mode: int
    mtime: int
    ctime: int
    size: int
    inode: int
    digest: str


class FileIndex(msgspec.Struct, frozen=True):
    """Files as they were, and when that was written down."""

    format: int
    when: int
    files: dict[str, FileStamp]


class CachedAudit(msgspec.Struct, frozen=True):
    """An answer."""

    audit: Audit
    is_broken: bool = False
    """Whether something was not looked at that was asked for."""


def locate(environ: Mapping[str, str], root: Path) -> Path:
    """Where the answers of a repo are."""
    return binary_cache.locate(environ).root / "audits" / hashlib.sha256(os.fsencode(root)).hexdigest()[:32]


async def key(
    tree: WorkTree, wishes: AuditRequest, baseline: Path | None, *, place: Path, git: Path | None
) -> str | None:
    """What tells an answer from all others: a digest of all that goes into it; None where that cannot be known."""
    try:
        excuses = hashlib.sha256(baseline.read_bytes()).hexdigest() if baseline is not None else ""
        # Git is asked twice, and one need not wait for the other.
        ignored, _ = await asyncio.gather(
            clear_secrets.ignored_files(tree.root, git=git), asyncio.to_thread(lambda: tree.files)
        )  # fmt: skip
        packages = _packages()
    except (errors.FirstlightError, OSError):
        return None  # whoever makes the audit says it better
    if packages is None:
        return None
    parts: list[object] = [
        FORMAT, firstlight.__version__, _code(), packages, excuses, git is not None,
        wishes.today.isoformat(), wishes.rules, wishes.clusters, wishes.with_matrix, wishes.incidents,
        sorted(tree.links.items()), _commit(tree.root), _digests(tree, place),
        [f"{each} {_stamp(tree.root / each)}" for each in ignored],
    ]  # fmt: skip
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def find(place: Path, name: str) -> CachedAudit | None:
    """An answer that was kept."""
    content = cache_files.read_kept(place / f"{name}.json")
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=CachedAudit)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None


def keep(place: Path, name: str, judged: AuditResult) -> None:
    """Keep an answer; the oldest go. A cache that cannot be written is none, and nothing else."""
    content = msgspec.json.encode(CachedAudit(judged.audit, not judged.is_whole))
    if remote_url.has_credentials(content):
        return
    try:
        cache_files.write_kept(place / f"{name}.json", content)
        answers = [each for each in place.iterdir() if each.suffix == ".json" and each.name != _INDEX]
        for old in sorted(answers, key=lambda each: each.stat().st_mtime_ns, reverse=True)[_ANSWERS:]:
            cache_files.remove_kept(old)
    except OSError:
        return


def _digests(tree: WorkTree, place: Path) -> list[tuple[str, int, str]]:
    """The permissions and digests of all files; only those are read whose stamps are not known."""
    index = _index(place)
    found: dict[str, FileStamp] = {}
    root = os.fspath(tree.root)
    when = time.time_ns()
    is_new = False
    for path in tree.files:
        try:
            status = os.lstat(f"{root}/{path}")
        except OSError:
            continue
        stamp = (status.st_mode, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        old = index.files.get(path)
        if (
            old is not None
            and stamp == (old.mode, old.mtime, old.ctime, old.size, old.inode)
            and _is_settled(old, index.when)
        ):
            found[path] = old
            continue
        is_new = True
        content = tree.bytes(path)
        digest = hashlib.sha256(content).hexdigest() if content is not None else "unread"
        found[path] = FileStamp(*stamp, digest)
    if is_new or found.keys() != index.files.keys():
        with contextlib.suppress(OSError):
            cache_files.write_kept(place / _INDEX, msgspec.json.encode(FileIndex(FORMAT, when, found)))
    return [(path, each.mode, each.digest) for path, each in found.items()]


def _is_settled(seen: FileStamp, when: int) -> bool:
    return max(seen.mtime, seen.ctime) + _RACY < when


def _index(place: Path) -> FileIndex:
    content = cache_files.read_kept(place / _INDEX)
    try:
        found = msgspec.json.decode(content, type=FileIndex) if content is not None else None
    except (msgspec.DecodeError, msgspec.ValidationError):
        found = None
    return found if found is not None and found.format == FORMAT else FileIndex(FORMAT, 0, {})


def _commit(root: Path) -> list[str]:
    """What tells whether Git tracks other files, or has other commits."""
    try:
        found = repository.locate(root)
    except errors.FirstlightError:
        return []
    marks = [found.git_dir / "index", found.git_dir / "HEAD", found.common_dir / "packed-refs"]
    said = [f"{each.name} {_stamp(each)}" for each in marks]
    try:
        head = (found.git_dir / "HEAD").read_text().strip()
        if head.startswith("ref: refs/") and ".." not in head:
            said.append((found.common_dir / head.removeprefix("ref: ")).read_text().strip())
    except (OSError, UnicodeDecodeError):
        pass
    return said


def _stamp(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return ""
    return f"{status.st_mtime_ns} {status.st_size} {status.st_ino} {status.st_mode}"


def _code() -> int:
    """When our own rules and functions were written last: while they are worked on, the version stays the same."""
    home = os.fspath(Path(firstlight.__file__).parent)
    return max(_newest(f"{home}/{each}") for each in _CODE)


def _newest(directory: str) -> int:
    newest = 0
    with os.scandir(directory) as entries:
        for each in entries:
            if each.is_dir():
                newest = max(newest, _newest(each.path) if each.name != "__pycache__" else 0)
            elif each.name.endswith((".py", ".yaml")):
                newest = max(newest, each.stat().st_mtime_ns)
    return newest


def _packages() -> list[str] | None:
    """The packages that bring rules, and when they were written last; None where that cannot be told."""
    found: list[str] = []
    for point in importlib.metadata.entry_points(group=_ENTRY_POINTS):
        try:
            spec = importlib.util.find_spec(point.module.partition(".")[0])
        except (ImportError, ValueError):
            return None
        places = list(spec.submodule_search_locations or ()) if spec is not None else []
        file = spec.origin if spec is not None and not places else None
        if not places and (file is None or not os.path.isfile(file)):
            return None
        newest = max([_newest(each) for each in places] or [os.stat(file).st_mtime_ns if file else 0])
        found.append(f"{point.value} {point.dist.version if point.dist else ''} {newest}")
    return sorted(found)
