"""The engine's own declaration of a component: it rests while bootstrap keeps the component, and goes on after.

It stays in Git, since it says from which directory, with which patches and variables the component is made, and
bootstrap reads just that. At rest it applies nothing and prunes nothing, whatever becomes of it. How each kind rests is
in ``ownership.resting``.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import at
from firstlight.document.within import text as text_of
from firstlight.model.component import Component, Form, Origin, Side, Stated
from firstlight.model.finding import Edit, EditVerb
from firstlight.model.move import Instruction, Proposal
from firstlight.model.platform import Platform
from firstlight.ownership import resting
from firstlight.ownership.resting import Rest
from firstlight.repo.work_tree import WorkTree


def propose(platform: Platform, tree: WorkTree, component: Component, *, is_resting: bool) -> Proposal:
    """Let the engine leave a component alone, or not any more.

    Args:
        platform: What the repo says.
        tree: Its files.
        component: In one cluster.
        is_resting: Whether it is to be left alone.
    """
    edits: list[Edit] = []
    by_hand: list[Instruction] = []
    engine = [each for each in component.origins if each.side == Side.GITOPS and each.form in resting.RESTS]
    for origin in engine:
        if resting.is_declared(origin) == is_resting:
            continue
        rest = resting.RESTS[origin.form]
        stated = _stated(platform, component.cluster, origin)
        written = _written(tree, stated)
        name = f"{origin.form} {origin.name}"
        if stated is None or written is None:
            by_hand.append(Instruction(place=origin.place, text=_by_hand(origin, rest, is_resting=is_resting)))
            continue
        document, way = stated.way or (0, ())
        verb = EditVerb.SET if is_resting else EditVerb.REMOVE
        if not is_resting and at(written, *rest.steps) is None:
            text = f"Take {rest.words} of {name} out where it is written; it is not in this file."
            by_hand.append(Instruction(place=stated.place, text=text))
            continue
        steps = rest.steps if is_resting else _alone(written, rest.steps)
        edits.append(
            Edit(path=stated.place.path, verb=verb, steps=(*way, *steps), value=rest.value, document=document)
        )  # fmt: skip
    if not is_resting:
        return Proposal(edits=tuple(edits), by_hand=tuple(by_hand))
    eased: list[str] = []
    for other, origin, need in _dependents(platform, component, engine):
        found = _eased(platform, tree, other, origin, need)
        edits += found.edits
        by_hand += found.by_hand
        eased += found.eased
    notes = tuple(f"{each} does not wait for {component.name} any more: it never reports ready" for each in eased)
    return Proposal(edits=tuple(edits), by_hand=tuple(by_hand), notes=notes, eased=tuple(eased))


def _by_hand(origin: Origin, rest: Rest, *, is_resting: bool) -> str:
    """What a person does where no file says the object as it is."""
    name, word = f"{origin.form} {origin.name}", "write" if is_resting else "take out"
    if maker := text_of(origin.maker, "kind"):
        made = f"{maker} {text_of(origin.maker, 'metadata', 'name')}"
        return f"{made} makes {name}: {word} {rest.words} in its template, for this one alone."
    if origin.form == Form.APPLICATION and not origin.parent:
        return f"No Application brings {name}: {word} {rest.words} where it is written, and apply it."
    return f"{name} is made by something else: {word} {rest.words} in what makes it."


def _alone(written: Mapping[str, Any], steps: tuple[str, ...]) -> tuple[str, ...]:
    """What is taken out: a mapping that would be left with nothing goes whole."""
    while len(steps) > 2 and len(at(written, *steps[:-1]) or ()) == 1:
        steps = steps[:-1]
    return steps


def _dependents(
    platform: Platform, component: Component, engine: list[Origin]
) -> Iterator[tuple[Component, Origin, Origin]]:
    """Kustomizations of the cluster that depend on what rests."""
    for other in platform.components_of(component.cluster):
        for origin in other.origins:
            for one in engine:
                if origin.form == Form.KUSTOMIZATION and any(need.id == one.id for need in origin.needs):
                    yield other, origin, one


def _eased(platform: Platform, tree: WorkTree, other: Component, origin: Origin, need: Origin) -> Proposal:
    """A Kustomization without a need that never becomes ready."""
    stated = _stated(platform, other.cluster, origin)
    written = _written(tree, stated)
    listed = at(written, "spec", "dependsOn") if written is not None else None
    numbers = (
        [number for number, each in enumerate(listed) if _names(each, need, origin)] if isinstance(listed, list) else []
    )
    if stated is None or not isinstance(listed, list) or not numbers:
        text = f"Take {need.name} out of dependsOn of {origin.form} {origin.name}: it never reports ready."
        return Proposal(by_hand=(Instruction(place=origin.place, text=text),))
    document, way = stated.way or (0, ())
    whole = len(numbers) == len(listed)
    ways = (
        [(*way, "spec", "dependsOn")]
        if whole
        else [(*way, "spec", "dependsOn", number) for number in reversed(numbers)]
    )
    edits = tuple(
        Edit(path=stated.place.path, verb=EditVerb.REMOVE, steps=each, document=document) for each in ways
    )  # fmt: skip
    return Proposal(edits=edits, eased=(other.name,))


def _names(entry: object, need: Origin, origin: Origin) -> bool:
    if not isinstance(entry, Mapping):
        return False
    return (entry.get("name"), entry.get("namespace") or origin.namespace) == (need.name, need.namespace)


def _stated(platform: Platform, cluster: str, origin: Origin) -> Stated | None:
    """The object that an origin is, with the way to its lines; None if no file says it as it is."""
    rest = resting.RESTS.get(origin.form)
    wanted = (rest.group if rest else "", origin.form.value, origin.namespace, origin.name)
    for component in platform.components_of(cluster):
        for one in component.origins:
            for each in one.stated:
                id, space = each.id, each.id.namespace or _home(one)
                if (id.group, id.kind, space, id.name) == wanted and each.way is not None:
                    return each
    return None


def _home(origin: Origin) -> str:
    """Where an Application puts what names no namespace."""
    return text_of(origin.definition, "spec", "destination", "namespace") if origin.form == Form.APPLICATION else ""


def _written(tree: WorkTree, stated: Stated | None) -> Mapping[str, Any] | None:
    """The object as its file has it."""
    if stated is None or stated.way is None:
        return None
    number, way = stated.way
    document = next((each for each in tree.documents(stated.place.path) if each.index == number), None)
    found = at(document.value, *way) if document is not None else None
    return found if isinstance(found, Mapping) else None
