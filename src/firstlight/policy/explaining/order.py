"""A phase or a side: what happens there, and what of this repo is in it."""

import shlex
from collections.abc import Iterator

from firstlight.model.component import Component, Owner, Phase, Side
from firstlight.model.explanation import Explanation, Part, Sentence, Sort
from firstlight.policy.explaining import facts, glossary
from firstlight.policy.explaining.scene import Scene
from firstlight.report.inventory import count

_MANY = 12
_PHASES = list(Phase)


def phase(scene: Scene, name: Phase) -> Explanation:
    """One phase."""
    text = glossary.texts().phases[name]
    after = _PHASES[_PHASES.index(name) + 1] if name != _PHASES[-1] else ""
    parts = [
        Part(name="what", sentences=(Sentence(text=text.says),)),
        Part(name="here", sentences=tuple(_in_phase(scene, name))),
        Part(name="gate", sentences=(Sentence(text=f"{text.gate}; then comes {after}" if after else text.gate),)),
        Part(name="type", sentences=tuple(_typed(scene, name))),
    ]
    return Explanation(
        sort=Sort.PHASE, name=name, parts=tuple(each for each in parts if each.sentences), see=("phase", *text.see)
    )


def _in_phase(scene: Scene, name: Phase) -> Iterator[Sentence]:
    for cluster in scene.clusters:
        lead = f"{cluster.name}: " if len(scene.clusters) > 1 else ""
        mine = [each for each in scene.components if each.cluster == cluster.name]
        if name == Phase.MACHINE:
            number = count(len(cluster.machines), "machine")
            yield Sentence(
                text=f"{lead}{number if cluster.machines else 'no machines are listed'}", place=cluster.place
            )
            continue
        if name == Phase.HANDOVER and scene.platform:
            handed = facts.told("handed", scene.platform, cluster)
            yield from (Sentence(text=f"{lead}{each.text}") for each in handed)
            continue
        found = [each for each in mine if each.phase == name]
        yield from _listed(found, lead)


def _listed(found: list[Component], lead: str) -> Iterator[Sentence]:
    if not found:
        yield Sentence(text=f"{lead}nothing")
    elif len(found) > _MANY:
        yield Sentence(
            text=f"{lead}{count(len(found), 'component')}: {facts.listed([each.name for each in found], _MANY)}"
        )
    else:
        for each in found:
            why = f": {each.why}" if each.side != Side.GITOPS else ""
            yield Sentence(text=f"{lead}{each.name}{why}", place=each.origins[0].place)


def _typed(scene: Scene, name: Phase) -> Iterator[Sentence]:
    cluster = shlex.quote(scene.clusters[0].name) if len(scene.clusters) == 1 else "CLUSTER"
    if not scene.clusters:
        return
    yield Sentence(text="The steps of it, before anything is touched", command=f"firstlight plan {cluster}")
    yield Sentence(text="Only up to here", command=f"firstlight up {cluster} --until {name}")


def side(scene: Scene, name: str) -> Explanation:
    """One side; ``none`` is what touches no cluster."""
    text = glossary.texts().sides[name]
    parts = [
        Part(name="what", sentences=(Sentence(text=text.says),)),
        Part(name="when", sentences=tuple(Sentence(text=each) for each in text.criteria)),
        Part(name="here", sentences=tuple(_on_side(scene, name))),
        Part(name="change", sentences=(*(Sentence(text=each) for each in text.change), *_asked(scene, name))),
    ]
    return Explanation(
        sort=Sort.SIDE, name=name, parts=tuple(each for each in parts if each.sentences), see=("side", *text.see)
    )


def _on_side(scene: Scene, name: str) -> Iterator[Sentence]:
    for cluster in scene.clusters:
        lead = f"{cluster.name}: " if len(scene.clusters) > 1 else ""
        found = [each for each in scene.components if each.cluster == cluster.name and each.side == name]
        if name == Side.BOOTSTRAP and cluster.machines:
            yield Sentence(text=f"{lead}{count(len(cluster.machines), 'machine')}", place=cluster.place)
        if name == Side.HYBRID:
            yield from (Sentence(text=f"{lead}{_halves(each)}", place=each.origins[0].place) for each in found)
        elif found:
            names = [each.name for each in found]
            yield Sentence(text=f"{lead}{count(len(names), 'component')}: {facts.listed(names, _MANY)}")


def _halves(component: Component) -> str:
    kept = "Git takes it over" if component.owner == Owner.GITOPS else "bootstrap keeps the core"
    return f"{component.name}: {kept}"


def _asked(scene: Scene, name: str) -> Iterator[Sentence]:
    if name == "none":
        return
    branch = next((each.branch for each in scene.clusters if each.branch), "main")
    yield Sentence(
        text="Where a change belongs, and how it is done here",
        command=f"firstlight decide --diff {shlex.quote(branch)}...HEAD",
    )
