"""One component of the repo at hand, told whole: what it is, where it stands, why it is there, how it is changed."""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from firstlight.model.component import Certainty, Component, Form, Origin
from firstlight.model.explanation import Explanation, Part, Sentence, Sort
from firstlight.model.place import Place
from firstlight.model.source import Chart, Source
from firstlight.plan import facts as plan_facts
from firstlight.policy.explaining import changing, depending, facts, glossary, here, reasons
from firstlight.policy.explaining.form import Word
from firstlight.policy.explaining.scene import Scene
from firstlight.report.inventory import count, described

_SHOWN = 8
_FORMS = {Form.APPLICATION: "Application", Form.KUSTOMIZATION: "Kustomization", Form.HELM_RELEASE: "HelmRelease"}
_TOLD = ("Deployment", "DaemonSet", "StatefulSet", "Job", "Service", "Ingress", "PersistentVolumeClaim", "ConfigMap")
"""Kinds that newcomers meet first."""


def explanations(scene: Scene, components: Sequence[Component]) -> tuple[Explanation, ...]:
    """One explanation each; what is the same in several clusters is told once."""
    found: dict[tuple[str, tuple[Part, ...]], list[Explanation]] = defaultdict(list)
    for component in components:
        made = explanation(scene, component)
        # Commands name the cluster, and all else must be the same.
        shown = tuple(part for part in made.parts if part.name != "change")
        found[made.name, shown].append(made)
    return tuple(_joined(alike) for alike in found.values())


def _joined(alike: Sequence[Explanation]) -> Explanation:
    first, clusters = alike[0], tuple(cluster for each in alike for cluster in each.clusters)
    if len(clusters) == 1:
        return first
    more = Sentence(text=f"Then the same for {', '.join(clusters[1:])}.")
    parts = tuple(
        dataclasses.replace(part, sentences=(*part.sentences, more)) if part.name == "change" else part
        for part in first.parts
    )
    return dataclasses.replace(first, parts=parts, clusters=clusters)


def explanation(scene: Scene, component: Component) -> Explanation:
    """One component in its cluster."""
    word = word_of(component)
    found = depending.dependents(scene, component)
    parts = {
        "what": _what(scene, component, word),
        "why": reasons.of_why(component),
        "where": _where(component),
        "version": _version(component),
        "phase": reasons.of_phase(scene, component),
        "side": reasons.of_side(scene, component),
        "owner": reasons.of_owner(scene, component),
        "needs": _needs(scene, component),
        "needed by": _needed_by(found),
        "without it": _without(component, found),
        "gates": _gates(scene, component),
        "change": changing.sentences(scene, component),
    }
    return Explanation(
        sort=Sort.COMPONENT, name=component.name, clusters=(component.cluster,),
        parts=tuple(Part(name=name, sentences=told) for name, each in parts.items() if (told := tuple(each))),
        see=(*(["foundation secret"] if scene.is_foundation(component) else []), *_see(component, word)),
    )  # fmt: skip


def word_of(component: Component) -> Word | None:
    """The word of the glossary that speaks of a component itself."""
    return None if component.part_of else glossary.of_names(here.names(component))


def _role_word(component: Component) -> Word | None:
    role = glossary.texts().roles.get(component.role)
    return glossary.find(role.word) if role else None


def _what(scene: Scene, component: Component, word: Word | None) -> Iterator[Sentence]:
    if word:
        yield Sentence(text=word.says)
    role = _role_word(component)
    if role and role != word:
        yield Sentence(text=f"{role.word}: {role.says}" if word else role.says)
    if component.part_of:
        yield Sentence(text=f"Settings of {component.part_of}, as Kubernetes objects.")
    children = [each.name for each in scene.components if _is_child(each, component)]
    if children:
        yield Sentence(text=f"It brings {facts.listed(children, _SHOWN)}.")
    is_foundation = scene.is_foundation(component)
    if is_foundation and (found := glossary.find("foundation secret")):
        yield Sentence(text=found.says)
    if not word and not role and not component.part_of and not children and not is_foundation:
        yield Sentence(text="Something that this repo deploys; the glossary does not know it by name.")
    if made := _made(component):
        yield Sentence(text=f"It applies {made}; what charts and children bring is not counted.")


def _is_child(each: Component, component: Component) -> bool:
    return each.cluster == component.cluster and each.parent == component.name


def _made(component: Component) -> str:
    """The objects that the repo itself lists, by kind; those of one half, since the other mostly has the same."""
    bootstrap, gitops = component.halves
    kinds = Counter(made.kind for origin in gitops or bootstrap for made in origin.objects)
    return facts.listed([f"{number} {kind}" for kind, number in kinds.most_common()])


def _where(component: Component) -> Iterator[Sentence]:
    for origin in component.origins[:_SHOWN]:
        name = f"{origin.namespace}/{origin.name}" if origin.namespace else origin.name
        if origin.form == Form.DECLARED:
            yield Sentence(text=f"{origin.side}: declared", place=origin.place)
            continue
        sources = ", ".join(described(each) for each in plan_facts.sources(origin))
        yield Sentence(text=f"{origin.side}: {origin.form} {name}, {sources}", place=origin.place)
        yield from _doubt(origin)
    if len(component.origins) > _SHOWN:
        yield Sentence(text=f"and {len(component.origins) - _SHOWN} more places")
    if component.parent:
        yield Sentence(text=f"brought by {component.parent}")


def _doubt(origin: Origin) -> Iterator[Sentence]:
    if origin.certainty == Certainty.GUESSED and origin.doubt:
        yield Sentence(text=f"This is not certain: {origin.doubt}")
    if origin.suspended:
        yield Sentence(text="It is suspended: the engine leaves it alone until it is resumed")


def _version(component: Component) -> Iterator[Sentence]:
    before, after = plan_facts.versions(component)
    if before and after and before.removeprefix("v") != after.removeprefix("v"):
        yield Sentence(text=f"{before} in bootstrap and {after} in Git; the handover makes it {after}")
    elif component.version:
        yield Sentence(text=component.version)
    elif any(map(_is_unpinned, (each for origin in component.origins for each in plan_facts.sources(origin)))):
        yield Sentence(text="none is given, so that the newest chart is taken whenever it is fetched")


def _is_unpinned(source: Source) -> bool:
    """Whether a chart comes from elsewhere, in whatever version there is."""
    return isinstance(source, Chart) and bool(source.repository) and not (source.version or source.digest)


def _needs(scene: Scene, component: Component) -> Iterator[Sentence]:
    alike: dict[tuple[str, Place | None], list[str]] = defaultdict(list)
    for bond in depending.needs(scene, component):
        alike[bond.why, bond.place].append(bond.name)
    for (why, place), names in alike.items():
        yield Sentence(text=f"{facts.listed(names, _SHOWN)}: {why}", place=place)
    for need in component.missing:
        yield Sentence(text=f"{need.id}: nothing deploys it here, so this waits for ever", place=need.place)


def _needed_by(found: depending.Dependents) -> Iterator[Sentence]:
    reasons_of: dict[str, list[str]] = defaultdict(list)
    for bond in found.direct:
        reasons_of[bond.why].append(bond.name)
    for why, names in reasons_of.items():
        yield Sentence(text=f"{facts.listed(names, _SHOWN)}: {why}")
    if found.through:
        lead = "through these" if found.direct else "what it brings from Git"
        yield Sentence(text=f"{lead}: {facts.listed(found.through, _SHOWN)}")
    if found.besides:
        is_engine = not found.direct and not found.through
        lead = "what it brings from Git" if is_engine else "what comes after these, and is not said to need them"
        yield Sentence(text=f"{lead}: {facts.listed(found.besides, _SHOWN)}")


def _without(component: Component, found: depending.Dependents) -> Iterator[Sentence]:
    role = glossary.texts().roles.get(component.role)
    if role:
        yield Sentence(text=role.without)
    needing = [*(each.name for each in found.direct if not each.by_chance), *found.through]
    if not needing and not found.besides:
        yield Sentence(text="Nothing else in this repo is known to need it.")
    elif not role and needing:
        yield Sentence(text=f"{facts.listed(needing, _SHOWN)} would not start, or not be updated.")
    if found.counted:
        depend = "depends" if found.counted == 1 else "depend"
        yield Sentence(text=f"{count(found.counted, 'component')} {depend} on it, as firstlight decide counts them.")


def _gates(scene: Scene, component: Component) -> Iterator[Sentence]:
    steps = scene.steps.get((component.cluster, component.name), [])
    asked = dict.fromkeys(str(gate.subject) for step in steps for gate in step.gates)
    texts = glossary.texts().gates
    for subject in asked:
        yield Sentence(text=f"{subject}: {texts.get(subject, subject)}")


def _see(component: Component, word: Word | None) -> tuple[str, ...]:
    role = _role_word(component)
    forms = [_FORMS[each.form] for each in component.origins if each.form in _FORMS]
    kinds = {made.kind for origin in component.origins for made in origin.objects}
    found = [
        component.phase,
        component.side,
        *(word.see if word else ()),
        *([role.word] if role else ()),
        *forms,
        *(each for each in _TOLD if each in kinds),
        *([component.part_of] if component.part_of else ()),
    ]
    return tuple(dict.fromkeys(str(each) for each in found))[:10]
