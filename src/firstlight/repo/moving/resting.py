"""The engine's own declaration of a component: it rests while bootstrap keeps the component, and goes on after.

It stays in Git, since it says from which directory or chart, with which patches, variables and values the component is
made, and bootstrap reads just that. At rest it applies nothing, and prunes or uninstalls nothing, whatever becomes of
it. How each kind rests is in ``ownership.resting``.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import at, mapping, sequence
from firstlight.document.within import text as text_of
from firstlight.model.component import Component, Form, Origin, Side
from firstlight.model.finding import Edit, EditVerb
from firstlight.model.move import Instruction, Proposal
from firstlight.model.platform import Platform
from firstlight.ownership import resting
from firstlight.ownership.resting import Rest
from firstlight.repo.moving import stating
from firstlight.repo.work_tree import WorkTree

_DEPENDING = (Form.KUSTOMIZATION, Form.HELM_RELEASE)
"""Who says on whom it depends."""
_ASKS = (
    "healthCheckExprs of Kustomization {} ask HelmReleases for a condition, and {} has none in a cold start while it "
    "rests: take them out, or let them pass where there are no conditions, and write the rest by hand, too."
)


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
        stated = stating.stated(platform, component.cluster, origin)
        written = stating.written(tree, stated)
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
    by_hand += [
        Instruction(place=above.place, text=_ASKS.format(above.name, one.name))
        for one in engine
        for above in _asking(platform, component, one)
    ]
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
    """What of the cluster depends on what rests: Kustomizations on Kustomizations, HelmReleases on HelmReleases."""
    for other in platform.components_of(component.cluster):
        for origin in other.origins:
            for one in engine:
                if origin.form in _DEPENDING and any(need.id == one.id for need in origin.needs):
                    yield other, origin, one


def _asking(platform: Platform, component: Component, one: Origin) -> Iterator[Origin]:
    """Kustomizations that ask what rests for a condition by an expression of their own.

    By itself Flux takes a HelmRelease that rests for well as soon as its controller has seen that, with ``wait`` and
    ``healthChecks``, too: it has no condition that says otherwise. An expression may insist on one.
    """
    if one.form != Form.HELM_RELEASE:
        return
    for other in platform.components_of(component.cluster):
        for origin in other.origins:
            spec = mapping(origin.definition, "spec")
            asks = [each for each in sequence(spec, "healthCheckExprs") if text_of(each, "kind") == one.form.value]
            named = [each for each in sequence(spec, "healthChecks") if _names(each, one, origin)]
            if origin.form == Form.KUSTOMIZATION and asks and (named or origin.id == one.parent):
                yield origin


def _eased(platform: Platform, tree: WorkTree, other: Component, origin: Origin, need: Origin) -> Proposal:
    """A Kustomization or HelmRelease without a need that never becomes ready."""
    stated = stating.stated(platform, other.cluster, origin)
    written = stating.written(tree, stated)
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
