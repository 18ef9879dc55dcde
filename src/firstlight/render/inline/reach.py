"""Whom a file reaches: the repo is read again as if the edit were written, and asked what becomes of it."""

import builtins
import dataclasses
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from firstlight.model.component import Form, Origin
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.model.source import Embedded
from firstlight.repo import talos
from firstlight.repo.found import Found
from firstlight.repo.work_tree import WorkTree


class Edited(WorkTree):
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
class Reach:
    """What becomes of an inline manifest."""

    clusters: tuple[str, ...] = ()
    """Whose control planes apply it."""
    others: tuple[Origin, ...] = ()
    """The other inline manifests of those clusters."""
    remarks: tuple[Remark, ...] = ()


def of(root: Path, path: str, text: str, *, name: str) -> Reach:
    """What the repo's Talos files make of an inline manifest.

    Args:
        root: The repo.
        path: The file, relative to the root.
        text: What it is to hold.
        name: Of the manifest.
    """
    found = talos.read(Edited(root, path, text))
    mine = [each for each in found.origins if _is_inline(each) and each.place.path == path and each.name == name]
    clusters = tuple(dict.fromkeys(each.cluster for each in mine))
    others = [each for each in found.origins if _is_inline(each) and each.cluster in clusters and each not in mine]
    remarks = tuple(_graver(each) for each in found.remarks if _is_about(each, path, name))
    return Reach(clusters, tuple(others), remarks if mine else tuple(_missed(found, remarks, path, name)))


def _is_inline(origin: Origin) -> bool:
    return origin.form is Form.INLINE_MANIFEST or isinstance(origin.source, Embedded)


def _is_about(remark: Remark, path: str, name: str) -> bool:
    """Whether a remark is one about inline manifests of this name, wherever the other one stands."""
    return f"inline manifest {name} " in remark.message and (remark.place.path == path or path in remark.message)


def _graver(remark: Remark) -> Remark:
    """Somebody's repo may be as it likes; to make it so is an error."""
    return dataclasses.replace(remark, grade=Grade.ERROR) if remark.grade is Grade.WARNING else remark


def _missed(found: Found, remarks: Sequence[Remark], path: str, name: str) -> Iterator[Remark]:
    """Why no control plane applies it."""
    if remarks:
        yield from remarks
    elif any(_is_inline(each) and each.place.path == path and each.name == name for each in found.unreached):
        yield Remark(Place(path), Grade.WARNING, f"nothing applies the inline manifest {name} of this file")
    else:
        message = "no cluster of this repo takes its machine config from this file"
        hint = "Name it where the control plane is patched; on workers Talos ignores it."
        yield Remark(Place(path), Grade.WARNING, message, hint)
