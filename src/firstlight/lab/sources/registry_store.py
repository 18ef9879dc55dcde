"""What the registry has on disk.

    blobs/sha256/ab/abcd…                     content, once, whoever has it
    repositories/NAME/_blobs/abcd…            the repository has this blob
    repositories/NAME/_manifests/abcd…        … this manifest; the file says of which type
    repositories/NAME/_tags/TAG               … this tag; the file says of which manifest
    repositories/NAME/_referrers/abcd…/ef01…  … this manifest about that one; the file is its descriptor

Every file appears whole, content before the links to it, so a process that is killed leaves nothing half visible.
No part of a name begins with an underscore. Nothing here waits, so a request sees and changes it in one piece.
"""

import asyncio
import dataclasses
import hashlib
import os
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import IO

import msgspec

from firstlight.lab import lab_directory
from firstlight.lab.sources import oci_artifacts, source_names
from firstlight.lab.sources.declarations import SourcesHome
from firstlight.lab.sources.oci_artifacts import OciDescriptor, OciManifest


@dataclasses.dataclass(frozen=True)
class StoredManifest:
    """A manifest of a repository."""

    digest: str
    media_type: str
    content: bytes


class RegistryStore:
    """All repositories."""

    def __init__(self, home: SourcesHome) -> None:
        self._blobs = home.registry / "blobs" / "sha256"
        self._repositories = home.registry / "repositories"
        for path in (self._blobs, self._repositories):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def sweep(self) -> int:
        """Delete content that no repository has; how many pieces. Only while nobody uploads."""
        linked = {
            link.name
            for name in self._all()
            for kind in ("_blobs", "_manifests")
            for link in _files(self._at(name, kind))
        }
        gone = [path for path in self._blobs.glob("*/*") if path.name not in linked]
        for path in gone:
            path.unlink()
        return len(gone)

    def blob(self, repository: str, digest: str) -> Path | None:
        """The content of a blob, or manifest, that a repository has."""
        is_there = any(self._at(repository, kind, _hex(digest)).exists() for kind in ("_blobs", "_manifests"))
        path = self._content(digest)
        return path if is_there and path.exists() else None

    def adopt(self, repository: str, digest: str, content: Path) -> None:
        """Take a file whose content has this digest, and give it to a repository; the file is gone afterwards."""
        path = self._content(digest)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        content.rename(path)
        self.link(repository, digest)

    def link(self, repository: str, digest: str) -> None:
        """Give content that is there to a repository."""
        _write(self._at(repository, "_blobs", _hex(digest)), b"")

    def add_blob(self, repository: str, content: bytes) -> str:
        """Store content at once; its digest."""
        digest = oci_artifacts.content_digest(content)
        self._keep(digest, content)
        self.link(repository, digest)
        return digest

    def missing(self, repository: str, manifest: OciManifest) -> str:
        """Which piece a manifest needs that the repository does not have, or not of that size; empty if none."""
        for wanted in manifest.blobs:
            path = self.blob(repository, wanted.digest) if _is_digest(wanted.digest) else None
            if path is None or path.stat().st_size != wanted.size:
                return wanted.digest
        for wanted in manifest.manifests:
            if not _is_digest(wanted.digest) or self.manifest(repository, wanted.digest) is None:
                return wanted.digest
        return ""

    def put_manifest(self, repository: str, content: bytes, media_type: str, *, tag: str = "") -> str:
        """Store a manifest, under a tag if one is given; its digest."""
        parsed = oci_artifacts.parse_manifest(content, media_type)
        digest = oci_artifacts.content_digest(content)
        self._keep(digest, content)
        if parsed.subject is not None and _is_digest(parsed.subject.digest):
            link = self._at(repository, "_referrers", _hex(parsed.subject.digest), _hex(digest))
            _write(link, msgspec.json.encode(oci_artifacts.referrer_descriptor(parsed, content, media_type)))
        _write(self._at(repository, "_manifests", _hex(digest)), media_type.encode())
        if tag:
            _write(self._at(repository, "_tags", tag), digest.encode())
        return digest

    def manifest(self, repository: str, reference: str) -> StoredManifest | None:
        """A manifest by its tag or digest."""
        digest = reference
        try:
            if not _is_digest(reference):
                digest = self._at(repository, "_tags", reference).read_text()
            media_type = self._at(repository, "_manifests", _hex(digest)).read_text()
            return StoredManifest(digest, media_type, self._content(digest).read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None

    def referrers(self, repository: str, digest: str) -> tuple[OciDescriptor, ...]:
        """The manifests about a manifest, whether that is there or not."""
        links = _files(self._at(repository, "_referrers", _hex(digest)))
        there = [link for link in links if self._at(repository, "_manifests", link.name).exists()]
        return tuple(msgspec.json.decode(link.read_bytes(), type=OciDescriptor) for link in there)

    def tags(self, repository: str) -> tuple[str, ...]:
        """In the order of their bytes."""
        return tuple(link.name for link in _files(self._at(repository, "_tags")))

    def exists(self, repository: str) -> bool:
        """Whether a repository has any manifest."""
        return any(True for _ in _files(self._at(repository, "_manifests")))

    def repositories(self) -> tuple[str, ...]:
        """Those that have a manifest, in the order of their bytes."""
        return tuple(sorted(name for name in self._all() if self.exists(name)))

    def delete_tag(self, repository: str, tag: str) -> bool:
        """Remove a tag; whether it was there."""
        return _remove(self._at(repository, "_tags", tag))

    def delete_manifest(self, repository: str, digest: str) -> bool:
        """Remove a manifest with its tags; whether it was there."""
        stored = self.manifest(repository, digest)
        if stored is None:
            return False
        for link in _files(self._at(repository, "_tags")):
            if link.read_text() == digest:
                link.unlink()
        subject = oci_artifacts.parse_manifest(stored.content, stored.media_type).subject
        if subject is not None and _is_digest(subject.digest):
            _remove(self._at(repository, "_referrers", _hex(subject.digest), _hex(digest)))
        return _remove(self._at(repository, "_manifests", _hex(digest)))

    def delete_blob(self, repository: str, digest: str) -> bool:
        """Take a blob from a repository; whether it had it."""
        return _remove(self._at(repository, "_blobs", _hex(digest)))

    def delete_repository(self, repository: str) -> bool:
        """Take everything from a repository, but not those whose names begin with its own; whether there was any."""
        was_there = self._at(repository, "_manifests").exists()
        # Tags first: a name that is gone before its manifest is no lie, the other way round it is.
        for kind in ("_tags", "_referrers", "_manifests", "_blobs"):
            shutil.rmtree(self._at(repository, kind), ignore_errors=True)
        return was_there

    def _all(self) -> Iterator[str]:
        for folder, below, _ in os.walk(self._repositories):
            if any(name.startswith("_") for name in below):
                yield os.path.relpath(folder, self._repositories)
            below[:] = [name for name in below if not name.startswith("_")]

    def _keep(self, digest: str, content: bytes) -> None:
        path = self._content(digest)
        if not path.exists():
            path.parent.mkdir(mode=0o700, exist_ok=True)
            lab_directory.write_whole(path, content)

    def _content(self, digest: str) -> Path:
        return self._blobs / _hex(digest)[:2] / _hex(digest)

    def _at(self, repository: str, *parts: str) -> Path:
        return self._repositories.joinpath(repository, *parts)


def _is_digest(text: str) -> bool:
    return bool(source_names.DIGEST.fullmatch(text))


def _hex(digest: str) -> str:
    return digest.removeprefix("sha256:")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lab_directory.write_whole(path, content)


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder by name; what is being written has a name with a dot before it."""
    try:
        entries = sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return
    yield from (folder / name for name in entries)


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


# Blobs on their way in. A part counts whole or not at all, so that after a broken connection it can be sent again.
#
# Uploads live as long as the process: after a restart clients begin anew, and nothing of the old ones is visible.


MOST_UPLOADS = 256
"""Uploads at a time."""
UPLOAD_IDLE = 3600
"""Seconds after which an upload that nobody goes on with is forgotten."""
BLOB_LIMIT = 8 << 30
"""Bytes of a blob."""


class TooLargeError(Exception):
    """A blob is larger than the registry takes."""


class WrongDigestError(Exception):
    """What came is not what was announced; says what came."""


@dataclasses.dataclass
class BlobUpload:
    """One blob."""

    id: str
    repository: str
    path: Path
    file: IO[bytes]
    size: int = 0
    seen: "hashlib._Hash" = dataclasses.field(default_factory=hashlib.sha256)
    touched: float = dataclasses.field(default_factory=time.monotonic)
    is_busy: bool = False

    async def append(self, chunks: AsyncIterator[bytes]) -> None:
        """Add a part; if it breaks off, it is as if it had never begun."""
        assert not self.is_busy
        self.is_busy = True
        size, seen = self.size, self.seen.copy()
        try:
            async for chunk in chunks:
                if self.size + len(chunk) > BLOB_LIMIT:
                    raise TooLargeError(f"more than {BLOB_LIMIT >> 30} GiB")
                self.file.write(chunk)
                self.seen.update(chunk)
                self.size += len(chunk)
        except BaseException:
            self.size, self.seen = size, seen
            if not self.file.closed:
                self.file.seek(size)
                self.file.truncate()
            raise
        finally:
            self.is_busy = False
            self.touched = time.monotonic()

    @property
    def digest(self) -> str:
        """That of what came until now."""
        return f"sha256:{self.seen.hexdigest()}"


class BlobUploads:
    """All that are under way."""

    def __init__(self, home: SourcesHome) -> None:
        self._folder = home.scratch
        self._open: dict[str, BlobUpload] = {}

    def start(self, repository: str) -> BlobUpload | None:
        """Begin one; None if there are too many."""
        for each in [each for each in self._open.values() if self._is_stale(each)]:
            self.drop(each)
        if len(self._open) >= MOST_UPLOADS:
            return None
        identity = str(uuid.uuid4())
        path = self._folder / f"upload-{identity}"
        upload = BlobUpload(identity, repository, path, path.open("xb"))
        self._open[identity] = upload
        return upload

    def get(self, repository: str, identity: str) -> BlobUpload | None:
        """One that was begun in a repository."""
        upload = self._open.get(identity)
        return upload if upload is not None and upload.repository == repository else None

    async def complete(self, upload: BlobUpload, digest: str) -> Path:
        """End one; the file with its content, which is safe on disk.

        Raises:
            WrongDigestError: It is something else than what was announced. The upload is over all the same.
        """
        if upload.digest != digest:
            self.drop(upload)
            raise WrongDigestError(f"{upload.size} bytes with digest {upload.digest} came")
        upload.is_busy = True
        self._open.pop(upload.id, None)
        upload.file.flush()
        await asyncio.to_thread(os.fsync, upload.file.fileno())
        upload.file.close()
        return upload.path

    def drop(self, upload: BlobUpload) -> None:
        """Forget one."""
        self._open.pop(upload.id, None)
        upload.file.close()
        upload.path.unlink(missing_ok=True)

    @staticmethod
    def _is_stale(upload: BlobUpload) -> bool:
        return not upload.is_busy and time.monotonic() - upload.touched > UPLOAD_IDLE
