"""The file that is edited: read as it is, written whole or not at all."""

import builtins
import dataclasses
import stat
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from firstlight import errors
from firstlight.clients import atomic_file
from firstlight.document import yaml_reader
from firstlight.model.component import Origin, SourceForm
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.model.source import Embedded
from firstlight.repo import talos
from firstlight.repo.reader_result import ReaderResult
from firstlight.repo.work_tree import WorkTree


def locate_file(root: Path, given: str) -> str:
    """A file that somebody typed, relative to the repo; counted from here, or else from the repo.

    Raises:
        errors.UsageError: It is outside of the repo, or a directory.
    """
    top = root.resolve()
    here = Path(given)
    typed = here if here.is_absolute() or here.exists() else top / given
    resolved = typed.resolve()
    if not resolved.is_relative_to(top) or resolved == top:
        raise errors.UsageError(f"{given} is outside of the repo {top}", hint="Give a file of the repo.")
    if resolved.is_dir():
        raise errors.UsageError(f"{given} is a directory", hint="Give a Talos config or patch, or an Omni template.")
    return resolved.relative_to(top).as_posix()


def read_file(root: Path, path: str) -> bytes | None:
    """The bytes of the file; None if it is not there yet.

    Raises:
        errors.ConfigError: It cannot be edited: it is no ordinary file, or too large.
    """
    file = root / path
    try:
        found = file.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise errors.ConfigError(f"it cannot be read: {error.strerror or error}", path=path) from error
    if not stat.S_ISREG(found.st_mode):
        raise errors.ConfigError("this is no ordinary file", path=path)
    if found.st_size > yaml_reader.SIZE_LIMIT:
        raise errors.ConfigError(f"the file is larger than {yaml_reader.SIZE_LIMIT >> 20} MiB", path=path)
    return file.read_bytes()


def decode_file(data: bytes, path: str) -> str:
    """The text of the file; a byte-order mark stays.

    Raises:
        errors.ConfigError: It is not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise errors.ConfigError("the file is not UTF-8", path=path, hint="Save it as UTF-8.") from error


def write_file(root: Path, path: str, new: str, *, old: bytes | None) -> None:
    """Put the new text in the file's place, with its mode.

    Raises:
        errors.Refused: Somebody changed the file in the meantime.
        OSError: It cannot be written.
    """
    file = root / path
    if old is None:
        file.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(file.stat().st_mode) if old is not None else None
    with atomic_file.staged(file, new.encode(), mode=mode) as staged:
        if read_file(root, path) != old:
            raise errors.Refused(f"{path} was changed by somebody else in the meantime", hint="Run it again.")
        atomic_file.put(staged, file)


# Whom a file reaches: the repo is read again as if the edit were written, and asked what becomes of it.


class EditedTree(WorkTree):
    """A work tree in which one file has another content than on disk, or is new."""

    def __init__(self, root: Path, path: str, text: str) -> None:
        super().__init__(root)
        self._path, self._text = path, text

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Every file, the edited one included."""
        return tuple(sorted({*self._listing.files, self._path}))

    def bytes(self, path: str) -> builtins.bytes | None:
        """A file's content."""
        return self._text.encode() if self.real(path) == self._path else super().bytes(path)


@dataclasses.dataclass(frozen=True, slots=True)
class ManifestReach:
    """What becomes of an inline manifest."""

    clusters: tuple[str, ...] = ()
    """Whose control planes apply it."""
    others: tuple[Origin, ...] = ()
    """The other inline manifests of those clusters."""
    diagnostics: tuple[Diagnostic, ...] = ()


def reach_of(root: Path, path: str, text: str, *, name: str) -> ManifestReach:
    """What the repo's Talos files make of an inline manifest.

    Args:
        root: The repo.
        path: The file, relative to the root.
        text: What it is to hold.
        name: Of the manifest.
    """
    found = talos.read(EditedTree(root, path, text))
    mine = [each for each in found.origins if _is_inline(each) and each.place.path == path and each.name == name]
    clusters = tuple(dict.fromkeys(each.cluster for each in mine))
    others = [each for each in found.origins if _is_inline(each) and each.cluster in clusters and each not in mine]
    diagnostics = tuple(_graver(each) for each in found.diagnostics if _is_about(each, path, name))
    return ManifestReach(
        clusters, tuple(others), diagnostics if mine else tuple(_missed(found, diagnostics, path, name))
    )


def _is_inline(origin: Origin) -> bool:
    return origin.form is SourceForm.INLINE_MANIFEST or isinstance(origin.source, Embedded)


def _is_about(diagnostic: Diagnostic, path: str, name: str) -> bool:
    """Whether a diagnostic is one about inline manifests of this name, wherever the other one stands."""
    is_here = any(each.path == path for each in diagnostic.places)
    return is_here and diagnostic.subject == f"{SourceForm.INLINE_MANIFEST} {name}"


def _graver(diagnostic: Diagnostic) -> Diagnostic:
    """Somebody's repo may be as it likes; to make it so is an error."""
    return (
        dataclasses.replace(diagnostic, severity=Severity.ERROR)
        if diagnostic.severity is Severity.WARNING
        else diagnostic
    )


def _missed(found: ReaderResult, diagnostics: Sequence[Diagnostic], path: str, name: str) -> Iterator[Diagnostic]:
    """Why no control plane applies it."""
    if diagnostics:
        yield from diagnostics
    elif any(_is_inline(each) and each.place.path == path and each.name == name for each in found.unreached):
        yield Diagnostic.warning(
            "inline-manifest-unreached", f"nothing applies the inline manifest {name} of this file", at=Place(path)
        )
    else:
        message = "no cluster of this repo takes its machine config from this file"
        hint = "Name it where the control plane is patched; on workers Talos ignores it."
        yield Diagnostic.warning("inline-file-unused", message, at=Place(path), fix=hint)
