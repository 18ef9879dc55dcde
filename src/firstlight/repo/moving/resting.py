"""The engine's own declaration of a component: it rests while bootstrap keeps the component, and goes on after.

It stays in Git, since it says from which directory or chart, with which patches, variables and values the component is
made, and bootstrap reads just that. Suspended it applies nothing, and prunes or uninstalls nothing, whatever becomes of
it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import at, mapping, sequence, text
from firstlight.model.component import Component, Form, Origin, Side, Stated
from firstlight.model.finding import Edit, EditVerb
from firstlight.model.move import Instruction, Proposal
from firstlight.model.platform import Platform
from firstlight.repo.work_tree import WorkTree

_GROUPS = {Form.KUSTOMIZATION: "kustomize.toolkit.fluxcd.io", Form.HELM_RELEASE: "helm.toolkit.fluxcd.io"}
"""What rests by being suspended."""
_STEPS = ("spec", "suspend")
"""How it is told to."""
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
    engine = [each for each in component.origins if each.side == Side.GITOPS and each.form in _GROUPS]
    for origin in engine:
        if origin.suspended == is_resting:
            continue
        stated = _stated(platform, component.cluster, origin)
        written = _written(tree, stated)
        name = f"{origin.form} {origin.name}"
        if stated is None or written is None:
            word = "write" if is_resting else "take out"
            text = f"{name} is made by something else: {word} suspend: true in what makes it."
            by_hand.append(Instruction(place=origin.place, text=text))
            continue
        document, way = stated.way or (0, ())
        verb = EditVerb.SET if is_resting else EditVerb.REMOVE
        if not is_resting and at(written, *_STEPS) is None:
            text = f"Take suspend: true of {name} out where it is written; it is not in this file."
            by_hand.append(Instruction(place=stated.place, text=text))
            continue
        edits.append(
            Edit(path=stated.place.path, verb=verb, steps=(*way, *_STEPS), value=True, document=document)
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


def _dependents(
    platform: Platform, component: Component, engine: list[Origin]
) -> Iterator[tuple[Component, Origin, Origin]]:
    """What of the cluster depends on what rests: Kustomizations on Kustomizations, HelmReleases on HelmReleases."""
    for other in platform.components_of(component.cluster):
        for origin in other.origins:
            for one in engine:
                if origin.form in _GROUPS and any(need.id == one.id for need in origin.needs):
                    yield other, origin, one


def _asking(platform: Platform, component: Component, resting: Origin) -> Iterator[Origin]:
    """Kustomizations that ask what rests for a condition by an expression of their own.

    By itself Flux takes a HelmRelease that rests for well as soon as its controller has seen that, with ``wait`` and
    ``healthChecks``, too: it has no condition that says otherwise. An expression may insist on one.
    """
    if resting.form != Form.HELM_RELEASE:
        return
    for other in platform.components_of(component.cluster):
        for origin in other.origins:
            spec = mapping(origin.definition, "spec")
            asks = [each for each in sequence(spec, "healthCheckExprs") if text(each, "kind") == resting.form.value]
            named = [each for each in sequence(spec, "healthChecks") if _names(each, resting, origin)]
            if origin.form == Form.KUSTOMIZATION and asks and (named or origin.id == resting.parent):
                yield origin


def _eased(platform: Platform, tree: WorkTree, other: Component, origin: Origin, need: Origin) -> Proposal:
    """A Kustomization or HelmRelease without a need that never becomes ready."""
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
    wanted = (_GROUPS[origin.form], origin.form.value, origin.namespace, origin.name)
    for component in platform.components_of(cluster):
        for one in component.origins:
            for each in one.stated:
                if (each.id.group, each.id.kind, each.id.namespace, each.id.name) == wanted and each.way is not None:
                    return each
    return None


def _written(tree: WorkTree, stated: Stated | None) -> Mapping[str, Any] | None:
    """The object as its file has it."""
    if stated is None or stated.way is None:
        return None
    number, way = stated.way
    document = next((each for each in tree.documents(stated.place.path) if each.index == number), None)
    found = at(document.value, *way) if document is not None else None
    return found if isinstance(found, Mapping) else None
