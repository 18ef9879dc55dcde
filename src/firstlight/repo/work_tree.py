"""The files of a work tree: listed once, read once, never outside of it.

Readers ask for paths relative to the root, with forward slashes. What cannot be read is a diagnostic, not an exception.
"""

import builtins
import codecs
import contextlib
import hashlib
import os
import posixpath
import stat
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from firstlight import errors
from firstlight.document import yaml_reader
from firstlight.document.yaml_reader import YamlDialect, YamlDocument
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo import file_listing, put_aside

YAML = (".yaml", ".yml")
DECLARED = "firstlight.yaml"
"""What says that a directory is a repo of its own."""

SIZE = 32 << 20
"""Bytes of the largest file that is read: rendered CRDs of a whole platform have a few."""

_KEPT = 256 << 20
"""Bytes that are kept in memory in all; what comes later is read again when it is asked for again."""


class WorkTree:
    """A directory of files, read lazily."""

    def __init__(self, root: Path) -> None:
        """Look at a directory.

        Raises:
            errors.UsageError: It is none.
        """
        if not root.is_dir():
            what = "is a file" if root.exists() else "does not exist"
            raise errors.UsageError(f"{root} {what}", hint="give the directory of a GitOps repo")
        self.root = root.resolve()
        self._contents: dict[tuple[str, YamlDialect], yaml_reader.YamlContents] = {}
        self._bytes: dict[str, builtins.bytes | None] = {}
        self._kept = 0
        self._diagnostics: dict[Diagnostic, None] = {}
        self._opened = _Directory(self.root)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the files that were read so far, each said once."""
        return tuple(self._diagnostics)

    @cached_property
    def _listing(self) -> file_listing.FileListing:
        found = file_listing.listed(self.root)
        self._say(found.diagnostics)
        return found

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Every file, sorted; Git's own files, ignored ones and links are not among them."""
        return self._listing.files

    @cached_property
    def current_files(self) -> tuple[str, ...]:
        """The files without those that were put aside: where readers look for something that is deployed."""
        return tuple(path for path in self.files if not put_aside.directory(path, self.is_dir))

    @property
    def links(self) -> Mapping[str, str]:
        """The symbolic links that stay inside, each with where it leads."""
        return self._listing.links

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.files)

    @cached_property
    def _directories(self) -> dict[str, list[str]]:
        """Directories with the names of what is directly in them; a directory's name ends with a slash."""
        found: dict[str, list[str]] = {".": []}
        for path in self.files:
            _file_under(found, path, "")
        for link, target in self._listing.links.items():
            _file_under(found, link, "" if target in self._names else "/")
        return {path: sorted(names) for path, names in found.items()}

    def real(self, path: str) -> str:
        """A path with the links on its way followed; it need not exist."""
        links = self._listing.links
        if not links:
            return path
        for _ in range(file_listing.DEPTH):
            at = path
            while at and at not in links:
                at = posixpath.dirname(at)
            if not at:
                break
            path = posixpath.normpath(links[at] + path[len(at) :])
        return path

    def is_file(self, path: str) -> bool:
        """Whether the tree has such a file; links are followed."""
        return path in self._names or self.real(path) in self._names

    def is_dir(self, path: str) -> bool:
        """Whether the tree has files below such a directory; links are followed."""
        return path in self._directories or self.real(path) in self._directories

    def listing(self, path: str) -> tuple[str, ...]:
        """Names directly in a directory, sorted; those of directories end with a slash."""
        found = self._directories.get(path)
        return tuple(self._directories.get(self.real(path), ()) if found is None else found)

    def below(self, path: str, *suffixes: str) -> Iterator[str]:
        """Files below a directory, optionally only with some suffixes; links below it are not followed."""
        real = path if path in self._directories else self.real(path)
        prefix = "" if path == "." else f"{path}/"
        waiting = [""] if real in self._directories else []
        while waiting:
            base = waiting.pop()
            inner = []
            for name in self._directories[posixpath.normpath(f"{real}/{base}")]:
                if name.endswith("/"):
                    inner.append(f"{base}{name}")
                elif not suffixes or name.endswith(suffixes):
                    yield f"{prefix}{base}{name}"
            waiting += reversed([each for each in inner if f"{real}/{each}"[:-1] not in self._listing.links])

    def bytes(self, path: str) -> builtins.bytes | None:
        """A file's content; None, and a diagnostic, where it cannot be had."""
        real = self.real(path)
        if real not in self._bytes:
            data = self._read(real)
            if data is not None and self._kept + len(data) > _KEPT:
                return data
            self._kept += len(data or b"")
            self._bytes[real] = data
        return self._bytes[real]

    def digest(self, path: str, algorithm: str, *, head: Callable[[int], builtins.bytes]) -> str:
        """A hash of a plain file, however large, or empty where it cannot be read.

        Args:
            path: The file itself; links are not followed.
            algorithm: As hashlib calls it.
            head: What is hashed before its bytes, by their number.
        """
        data = self._bytes.get(path)
        if data is not None:
            return hashlib.new(algorithm, head(len(data)) + data, usedforsecurity=False).hexdigest()
        try:
            return self._opened.digest(path, algorithm, head)
        except OSError:
            return ""

    def text(self, path: str) -> str | None:
        """A file's text; None, and a diagnostic, where it is none."""
        data = self.bytes(path)
        if data is not None and b"\0" in data[:8192]:
            self._say([Diagnostic.error("file-not-text", "this is no text", at=Place(path))])
            return None
        return None if data is None else data.removeprefix(codecs.BOM_UTF8).decode(errors="replace")

    def documents(self, path: str, *, dialect: YamlDialect = YamlDialect.KUBERNETES) -> tuple[YamlDocument, ...]:
        """The YAML documents of a file, as Kubernetes reads them or by other rules; broken files have a diagnostic."""
        return self.contents(path, dialect=dialect).documents

    def contents(self, path: str, *, dialect: YamlDialect = YamlDialect.KUBERNETES) -> yaml_reader.YamlContents:
        """The same with what is wrong with the file."""
        real = self.real(path)
        key = (real, dialect)
        if key not in self._contents:
            contents = self._parsed(real, dialect)
            self._contents[key] = contents
            self._say(contents.diagnostics)
        return self._contents[key]

    def _parsed(self, path: str, dialect: YamlDialect) -> yaml_reader.YamlContents:
        data = self.bytes(path)
        return yaml_reader.YamlContents(()) if data is None else yaml_reader.read(data, path, dialect=dialect)

    def _say(self, diagnostics: Iterable[Diagnostic]) -> None:
        self._diagnostics.update(dict.fromkeys(diagnostics))

    def _read(self, path: str) -> builtins.bytes | None:
        if path not in self._names:
            self._say([Diagnostic.error("file-missing", "there is no such file", at=Place(path))])
            return None
        try:
            data = self._opened.read(path, SIZE)
        except OSError as error:
            message = f"the file cannot be read: {error.strerror or error}"
            self._say([Diagnostic.error("file-unreadable", message, at=Place(path))])
            return None
        if data is None:
            message = f"not read, since it has more than {SIZE >> 20} MiB"
            self._say([Diagnostic.error("file-too-large", message, at=Place(path))])
        return data


def join(base: str, path: str) -> str | None:
    """A path as a file below ``base`` writes it, from the root; None where it leads out of the repo."""
    joined = posixpath.normpath(posixpath.join(base, path))
    return None if joined == ".." or joined.startswith(("../", "/")) else joined


def top(path: Path) -> Path:
    """The repo that a path is in.

    The nearest directory at or above it with a firstlight.yaml is one of its own, also inside of another repo, as that
    of an example. Else it is the top of the Git work tree, since engines count paths from there; and where there is
    none the path itself.
    """
    path = path.resolve()
    above = [path, *path.parents]
    git = next((number for number, each in enumerate(above) if os.path.lexists(each / ".git")), 0)
    return next((each for each in above[: git + 1] if (each / DECLARED).is_file()), above[git])


class _Directory:
    """The directory that was read from last, held open: files of one directory are mostly read one after the other.

    Every step is opened by itself and no link is followed, so whatever is put into the tree while it is read, nothing
    outside of it is ever opened.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._path: str | None = None
        self._fd: list[int] = []
        weakref.finalize(self, _close, self._fd)

    def read(self, path: str, limit: int) -> bytes | None:
        """A file's content, or None if there is more than ``limit``."""
        fd, found = self._open(path)
        try:
            if found.st_size > limit:
                return None
            # By hand: a file object costs four times as much as what it does here.
            data = os.read(fd, found.st_size + 1)
            if len(data) != found.st_size:  # it changes, or is one of those whose size nobody tells
                data = _rest(fd, data, limit)
        finally:
            os.close(fd)
        return None if len(data) > limit else data

    def digest(self, path: str, algorithm: str, head: Callable[[int], bytes]) -> str:
        """A hash of a file, read piece by piece; empty if it changes meanwhile."""
        fd, found = self._open(path)
        try:
            made = hashlib.new(algorithm, head(found.st_size), usedforsecurity=False)
            length = 0
            while piece := os.read(fd, 1 << 20):
                made.update(piece)
                length += len(piece)
        finally:
            os.close(fd)
        return made.hexdigest() if length == found.st_size else ""

    def _open(self, path: str) -> tuple[int, os.stat_result]:
        parent, _, name = path.rpartition("/")
        if parent != self._path:
            self._enter(parent)
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._fd[0])
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            os.close(fd)
            raise OSError("it is no file any more")
        return fd, found

    def _enter(self, path: str) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        fd = os.open(self._root, flags)
        try:
            for name in path.split("/") if path else ():
                inner = os.open(name, flags | os.O_NOFOLLOW, dir_fd=fd)
                os.close(fd)
                fd = inner
        except OSError:
            os.close(fd)
            raise
        _close(self._fd)
        self._fd.append(fd)
        self._path = path


def _rest(fd: int, data: bytes, limit: int) -> bytes:
    """What is there, up to a byte more than may be."""
    parts = [data]
    length = len(data)
    while length <= limit and (more := os.read(fd, min(limit + 1 - length, 1 << 20))):
        parts.append(more)
        length += len(more)
    return b"".join(parts)


def _close(fds: list[int]) -> None:
    while fds:
        with contextlib.suppress(OSError):
            os.close(fds.pop())


def _file_under(directories: dict[str, list[str]], path: str, mark: str) -> None:
    """Note a path in its directory, and each directory on the way in the one above."""
    parent, name = posixpath.split(path)
    name += mark
    while True:
        known = directories.get(parent or ".")
        if known is not None:
            known.append(name)
            return
        directories[parent] = [name]
        parent, name = posixpath.split(parent)
        name += "/"
