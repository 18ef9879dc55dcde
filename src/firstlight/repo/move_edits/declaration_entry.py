"""The entry of a component in firstlight.yaml: written, changed, or taken out."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping
from firstlight.model.component import Component, Side, SourceForm
from firstlight.model.finding import EditVerb, FileEdit
from firstlight.model.move import Instruction, MoveProposal, MoveRequest, Seat
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.repo.declaration import declaration_form
from firstlight.repo.work_tree import WorkTree

_OF_BOOTSTRAP = ("phase", "owner", "why", "hooks", "needs")
"""What an entry says for bootstrap's sake."""
_ALONE = frozenset((*_OF_BOOTSTRAP, "from", "clusters"))
"""An entry that has no more than these says nothing once the component is GitOps' alone."""
_PHASES = ("inline", "crds", "core", "engine")


def propose_declaration(
    platform: Platform, tree: WorkTree, wish: MoveRequest, components: Sequence[Component]
) -> MoveProposal:
    """What firstlight.yaml must say.

    Args:
        platform: What the repo says.
        tree: Its files.
        wish: Where the component is to be.
        components: It, in each cluster that is meant.
    """
    entry = _entry(tree, wish.component)
    if platform.declared is None:
        is_told = wish.seat is Seat.GITOPS or any(_has_own(each) for each in components)
        return MoveProposal() if is_told and wish.seat is not Seat.KEPT else _without_file(wish)
    rest = {each.cluster for each in platform.components if each.name == wish.component} - {
        each.cluster for each in components
    }
    if rest and entry is not None and _clusters(entry) != {each.cluster for each in components}:
        return _for_some(wish, entry)
    if wish.seat is Seat.GITOPS:
        return _taken_out(wish, entry) if entry is not None else MoveProposal()
    if not re.fullmatch(declaration_form.NAME, wish.component):
        text = f"Give it a name of its own: components, NAME, from: with its directory, phase: {wish.phase}."
        return MoveProposal(by_hand=(Instruction(place=Place(declaration_form.FILE), text=text),))
    only = sorted(each.cluster for each in components) if rest else []
    return _put(wish, entry, components, only=only)


def _entry(tree: WorkTree, name: str) -> Mapping[str, Any] | None:
    documents = tree.documents(declaration_form.FILE) if tree.is_file(declaration_form.FILE) else ()
    found = mapping(documents[0].value, "components").get(name) if documents else None
    return found if isinstance(found, Mapping) else None


def _has_own(component: Component) -> bool:
    """Whether something else than firstlight.yaml has it in bootstrap."""
    return any(each.side == Side.BOOTSTRAP and each.form != SourceForm.DECLARED for each in component.origins)


def _clusters(entry: Mapping[str, Any]) -> set[str]:
    return {str(each) for each in entry.get("clusters") or ()}


def _without_file(wish: MoveRequest) -> MoveProposal:
    words = ", ".join(f"{name}: {value}" for name, value in _said(wish).items())
    text = f"Let it be written by firstlight init, then add below components:\n  {wish.component}: {{{words}}}"
    return MoveProposal(by_hand=(Instruction(place=Place(declaration_form.FILE), text=text),))


def _for_some(wish: MoveRequest, entry: Mapping[str, Any]) -> MoveProposal:
    there = ", ".join(sorted(_clusters(entry))) or "all clusters"
    text = (
        f"components, {wish.component} is for {there}, and only {wish.cluster} is meant: "
        "write clusters: with those for which the entry stays, or leave --cluster out."
    )
    return MoveProposal(by_hand=(Instruction(place=Place(declaration_form.FILE), text=text),))


def _said(wish: MoveRequest) -> dict[str, Any]:
    owner = {"owner": "bootstrap"} if wish.seat is Seat.KEPT else {}
    return {"phase": str(wish.phase), **owner, **({"why": wish.why} if wish.why else {})}


def _put(
    wish: MoveRequest, entry: Mapping[str, Any] | None, components: Sequence[Component], *, only: Sequence[str]
) -> MoveProposal:
    steps = ("components", wish.component)
    if entry is None:
        said = _said(wish)
        if all(_has_own(each) for each in components):
            del said["phase"]  # what runs it in bootstrap says when
        if only:
            said["clusters"] = list(only)
        return MoveProposal(edits=(_set(steps, said),) if said else ())
    edits = []
    if entry.get("phase") not in _PHASES and not all(_has_own(each) for each in components):
        edits.append(_set((*steps, "phase"), str(wish.phase)))
    if wish.seat is Seat.KEPT and entry.get("owner") != "bootstrap":
        edits.append(_set((*steps, "owner"), "bootstrap"))
    elif wish.seat is Seat.HANDED_OVER and entry.get("owner") == "bootstrap":
        edits.append(_remove((*steps, "owner")))
    if wish.why and entry.get("why") != wish.why:
        edits.append(_set((*steps, "why"), wish.why))
    return MoveProposal(edits=tuple(edits))


def _taken_out(wish: MoveRequest, entry: Mapping[str, Any]) -> MoveProposal:
    steps = ("components", wish.component)
    lost = [name for name in ("hooks",) if entry.get(name)]
    notes = tuple(f"{name} of {wish.component} are taken out: they run in bootstrap alone" for name in lost)
    if set(entry) <= _ALONE:
        return MoveProposal(edits=(_remove(steps),), notes=notes)
    edits = tuple(_remove((*steps, name)) for name in _OF_BOOTSTRAP if name in entry)
    return MoveProposal(edits=edits, notes=notes)


def _set(steps: tuple[str | int, ...], value: Any) -> FileEdit:
    return FileEdit(path=declaration_form.FILE, verb=EditVerb.SET, steps=steps, value=value)


def _remove(steps: tuple[str | int, ...]) -> FileEdit:
    return FileEdit(path=declaration_form.FILE, verb=EditVerb.REMOVE, steps=steps)
