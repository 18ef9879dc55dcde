"""What bootstrap runs, without a component: a release of a helmfile, an inline manifest, a line of a script."""

from collections.abc import Iterator
from typing import Any

from firstlight.document.reading import Dialect
from firstlight.document.within import at, sequence, text
from firstlight.model.component import Component, Form, Origin, Side
from firstlight.model.finding import Edit, EditVerb
from firstlight.model.move import Instruction, Proposal
from firstlight.repo.work_tree import YAML, WorkTree

_INLINE = ("cluster", "inlineManifests")


def propose(tree: WorkTree, component: Component) -> Proposal:
    """Take a component out of what bootstrap runs.

    Args:
        tree: The repo.
        component: In one cluster.
    """
    edits: list[Edit] = []
    by_hand: list[Instruction] = []
    for origin in component.origins:
        if origin.side != Side.BOOTSTRAP or origin.form == Form.DECLARED:
            continue
        found = [*_found(tree, origin)]
        if len(found) == 1:
            edits += found
        else:
            by_hand.append(Instruction(place=origin.place, text=_by_hand(origin)))
    return Proposal(edits=tuple(edits), by_hand=tuple(by_hand))


def _found(tree: WorkTree, origin: Origin) -> Iterator[Edit]:
    """The item of a list that an origin is, if a plain file has it."""
    path = origin.place.path
    if not path.endswith(YAML) or "{{" in (tree.text(path) or ""):
        return
    dialect = Dialect.TALOS if origin.form == Form.INLINE_MANIFEST else Dialect.KUBERNETES
    for document in tree.documents(path, dialect=dialect):
        for way in _ways(document.value, origin):
            yield Edit(path=path, verb=EditVerb.REMOVE, steps=way, document=document.index)


def _ways(value: Any, origin: Origin) -> Iterator[tuple[str | int, ...]]:
    """The ways to the items of a document that are called as an origin is; a list that gets empty goes whole."""
    steps: tuple[str, ...]
    if origin.form == Form.HELMFILE:
        steps = ("releases",)
    elif origin.form == Form.INLINE_MANIFEST:
        steps = _INLINE
    else:
        return
    listed = sequence(value, *steps)
    for number, each in enumerate(listed):
        is_here = origin.form != Form.HELMFILE or text(each, "namespace") in ("", origin.namespace)
        if at(each, "name") == origin.name and is_here:
            yield (*steps, number) if len(listed) > 1 else steps


def _by_hand(origin: Origin) -> str:
    if origin.form == Form.HELMFILE:
        return f"Take the release {origin.name} out of the helmfile; it is a template, and is not edited."
    if origin.command:
        return f"Take out what installs {origin.name}: {origin.command}"
    return f"Take {origin.form} {origin.name} out."
