"""The scripts that firstlight.yaml declares as hooks and gates: what they do is no bootstrap of its own."""

import posixpath
from collections.abc import Iterator

from msgspec import UNSET

from firstlight.repo.declaration import form, reading
from firstlight.repo.work_tree import WorkTree


def files(tree: WorkTree) -> frozenset[str]:
    """The files of the repo that declared commands name."""
    declaration, _ = reading.read(tree)
    if declaration is None:
        return frozenset()
    words = {word for each in declaration.platform.components.values() for word in _words(each)}
    return frozenset(path for word in words if word and tree.is_file(path := posixpath.normpath(word)))


def _words(component: form.Component) -> Iterator[str]:
    for hook in component.hooks:
        yield from (*hook.run, *hook.unless)
    for gate in component.gates:
        if gate.command is not UNSET:
            yield from gate.command.run
