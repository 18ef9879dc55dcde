"""New files in a GitOps tree, put where the engine finds them."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.document import yaml_writer
from firstlight.document.within import at, sequence
from firstlight.document.yaml_reader import YamlDialect
from firstlight.model.finding import EditVerb, FileEdit
from firstlight.model.source import Embedded
from firstlight.repo import gitops_tree
from firstlight.repo.kustomize import kustomization_file
from firstlight.repo.work_tree import WorkTree, join

_HEAD = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}


def write(path: str, *values: Mapping[str, Any]) -> FileEdit:
    """A file of objects."""
    return FileEdit(path=path, verb=EditVerb.WRITE, value=yaml_writer.dump_all(values))


def kustomized(directory: str, resources: Iterable[str], also: Mapping[str, Any] | None = None) -> FileEdit:
    """The kustomization of a new directory.

    Args:
        directory: Where it goes.
        resources: What it lists.
        also: What else it says, before that.
    """
    return write(
        posixpath.join(directory, kustomization_file.NAMES[0]), {**_HEAD, **(also or {}), "resources": [*resources]}
    )


def beside(tree: WorkTree, file: str, name: str, *values: Mapping[str, Any]) -> Iterator[FileEdit]:
    """A file of objects beside another, which is applied as the other is: listed where that one is listed.

    Args:
        tree: The repo.
        file: One that the engine applies.
        name: Of the new file.
        values: What it says.
    """
    path = posixpath.join(posixpath.dirname(file), name)
    yield write(path, *values)
    yield from listed(tree, file, path)


def into(tree: WorkTree, directory: str, name: str, *values: Mapping[str, Any]) -> Iterator[FileEdit]:
    """A file of objects in a directory that the engine applies, listed where that lists its files."""
    return gitops_tree.into(tree, directory, name, yaml_writer.dump_all(values))


def embedded(tree: WorkTree, source: Embedded, directory: str, name: str) -> Iterator[FileEdit]:
    """Manifests out of a machine config, as they are, in a directory of their own."""
    documents = tree.documents(source.place.path, dialect=YamlDialect.TALOS)
    found = (at(each.value, *source.steps) for each in documents)
    content = next((each for each in found if isinstance(each, str)), "")
    file = f"{name}.yaml"
    yield FileEdit(path=posixpath.join(directory, file), verb=EditVerb.WRITE, value=content.rstrip("\n") + "\n")
    yield kustomized(directory, [file])


def listed(tree: WorkTree, known: str, path: str) -> Iterator[FileEdit]:
    """An entry for a file in the kustomization that lists another one; none where directories are applied whole."""
    directory = posixpath.dirname(known)
    while True:
        own = kustomization_file.file_of(tree, directory or ".")
        documents = tree.documents(own) if own else ()
        if documents and known in {
            join(directory, each) for each in sequence(documents[0].value, "resources") if isinstance(each, str)
        }:
            entry = posixpath.relpath(path, directory or ".")
            yield FileEdit(
                path=own, verb=EditVerb.APPEND, steps=("resources",), value=entry, document=documents[0].index
            )  # fmt: skip
            return
        if not directory:
            return
        directory = posixpath.dirname(directory)
