"""A cluster or a machine of the repo at hand."""

import shlex
from collections.abc import Iterator, Mapping, Sequence

from firstlight.commands.decide import graph_factors, rule_wording
from firstlight.commands.decide.rule_book import RuleBook
from firstlight.commands.decide.rule_form import DecisionRule, FactorForm, When
from firstlight.commands.explain import glossary, repo_facts
from firstlight.commands.explain.explanation import (
    ExplainInput,
    Explanation,
    ExplanationKind,
    ExplanationPart,
    Sentence,
)
from firstlight.commands.inventory.text import count
from firstlight.model import decision
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.component import Component, Owner, Phase, Side
from firstlight.model.decision import Risk
from firstlight.model.platform import Platform

_FACTS = ("clusters", "control planes", "workers", "talos", "kubernetes", "endpoint", "vip", "pods", "services")
_MORE = ("load balancers", "omni", "engine", "phases")


def cluster(platform: Platform, found: Cluster) -> Explanation:
    """What a cluster is made of."""
    told = [each for name in (*_FACTS, *_MORE) for each in repo_facts.told(name, platform, found)]
    name = shlex.quote(found.name)
    parts = [
        ExplanationPart(name="what", sentences=_says("cluster")),
        ExplanationPart(name="here", sentences=tuple(told)),
        ExplanationPart(
            name="type",
            sentences=(
                Sentence(
                    text="The chain of it, from the machines to the apps",
                    command=f"firstlight explain --cluster {name}",
                ),
                Sentence(text="What it would take to bring it up", command=f"firstlight plan {name}"),
            ),
        ),
    ]
    see = ("cluster", "machine", "control plane", "phase")
    return Explanation(
        sort=ExplanationKind.CLUSTER, name=found.name, clusters=(found.name,), parts=tuple(parts), see=see
    )


def machine(home: Cluster, found: Machine) -> Explanation:
    """What one machine is."""
    role = "control plane" if found.role == MachineRole.CONTROL_PLANE else "worker"
    parts = [
        ExplanationPart(name="what", sentences=_says(role)),
        ExplanationPart(name="here", sentences=tuple(_machine(found))),
        ExplanationPart(
            name="change",
            sentences=(
                Sentence(text="Edit its files; a merge alone changes nothing on a machine."),
                Sentence(text="See what would be done", command=f"{_given(home, found)} --dry-run"),
            ),
        ),
    ]
    see = (role, "machine config", "node", "Talos")
    return Explanation(
        sort=ExplanationKind.MACHINE, name=found.name, clusters=(home.name,), parts=tuple(parts), see=see
    )


def _given(home: Cluster, found: Machine) -> str:
    """The command by which a machine gets what its files say; one of Omni gets it there, with all others."""
    if home.omni_template:
        return f"firstlight up {shlex.quote(home.name)} --until machine"
    return f"firstlight node apply {shlex.quote(home.name)} --machine {shlex.quote(found.name)}"


def _says(word: str) -> tuple[Sentence, ...]:
    found = glossary.find(word)
    return (Sentence(text=found.says),) if found else ()


def _machine(found: Machine) -> Iterator[Sentence]:
    yield Sentence(text=repo_facts.machine(found), place=found.place)
    if found.install_disk:
        yield Sentence(text=f"Talos is installed on {found.install_disk}")
    if found.extensions:
        yield Sentence(text=f"extensions {', '.join(found.extensions)}")
    if found.schematic:
        yield Sentence(text=f"schematic {found.schematic}")
    for each in found.patches:
        yield Sentence(text="a patch of its own", place=each)


# A phase or a side: what happens there, and what of this repo is in it.


_MANY = 12
_PHASES = list(Phase)


def phase(scene: ExplainInput, name: Phase) -> Explanation:
    """One phase."""
    text = glossary.texts().phases[name]
    after = _PHASES[_PHASES.index(name) + 1] if name != _PHASES[-1] else ""
    parts = [
        ExplanationPart(name="what", sentences=(Sentence(text=text.says),)),
        ExplanationPart(name="here", sentences=tuple(_in_phase(scene, name))),
        ExplanationPart(
            name="gate", sentences=(Sentence(text=f"{text.gate}; then comes {after}" if after else text.gate),)
        ),
        ExplanationPart(name="type", sentences=tuple(_typed(scene, name))),
    ]
    return Explanation(
        sort=ExplanationKind.PHASE,
        name=name,
        parts=tuple(each for each in parts if each.sentences),
        see=("phase", *text.see),
    )


def _in_phase(scene: ExplainInput, name: Phase) -> Iterator[Sentence]:
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
            handed = repo_facts.told("handed", scene.platform, cluster)
            yield from (Sentence(text=f"{lead}{each.text}") for each in handed)
            continue
        found = [each for each in mine if each.phase == name]
        yield from _listed(found, lead)


def _listed(found: list[Component], lead: str) -> Iterator[Sentence]:
    if not found:
        yield Sentence(text=f"{lead}nothing")
    elif len(found) > _MANY:
        yield Sentence(
            text=f"{lead}{count(len(found), 'component')}: {repo_facts.listed([each.name for each in found], _MANY)}"
        )
    else:
        for each in found:
            why = f": {each.why}" if each.side != Side.GITOPS else ""
            yield Sentence(text=f"{lead}{each.name}{why}", place=each.origins[0].place)


def _typed(scene: ExplainInput, name: Phase) -> Iterator[Sentence]:
    cluster = shlex.quote(scene.clusters[0].name) if len(scene.clusters) == 1 else "CLUSTER"
    if not scene.clusters:
        return
    yield Sentence(text="The steps of it, before anything is touched", command=f"firstlight plan {cluster}")
    yield Sentence(text="Only up to here", command=f"firstlight up {cluster} --until {name}")


def side(scene: ExplainInput, name: str) -> Explanation:
    """One side; ``none`` is what touches no cluster."""
    text = glossary.texts().sides[name]
    parts = [
        ExplanationPart(name="what", sentences=(Sentence(text=text.says),)),
        ExplanationPart(name="when", sentences=tuple(Sentence(text=each) for each in text.criteria)),
        ExplanationPart(name="here", sentences=tuple(_on_side(scene, name))),
        ExplanationPart(
            name="change", sentences=(*(Sentence(text=each) for each in text.change), *_asked(scene, name))
        ),
    ]
    return Explanation(
        sort=ExplanationKind.SIDE,
        name=name,
        parts=tuple(each for each in parts if each.sentences),
        see=("side", *text.see),
    )


def _on_side(scene: ExplainInput, name: str) -> Iterator[Sentence]:
    for cluster in scene.clusters:
        lead = f"{cluster.name}: " if len(scene.clusters) > 1 else ""
        found = [each for each in scene.components if each.cluster == cluster.name and each.side == name]
        if name == Side.BOOTSTRAP and cluster.machines:
            yield Sentence(text=f"{lead}{count(len(cluster.machines), 'machine')}", place=cluster.place)
        if name == Side.HYBRID:
            yield from (Sentence(text=f"{lead}{_halves(each)}", place=each.origins[0].place) for each in found)
        elif found:
            names = [each.name for each in found]
            yield Sentence(text=f"{lead}{count(len(names), 'component')}: {repo_facts.listed(names, _MANY)}")


def _halves(component: Component) -> str:
    kept = "Git takes it over" if component.owner == Owner.GITOPS else "bootstrap keeps the core"
    return f"{component.name}: {kept}"


def _asked(scene: ExplainInput, name: str) -> Iterator[Sentence]:
    if name == "none":
        return
    branch = next((each.branch for each in scene.clusters if each.branch), "main")
    yield Sentence(
        text="Where a change belongs, and how it is done here",
        command=f"firstlight decide --diff {shlex.quote(branch)}...HEAD",
    )


# A rule or a factor of the decision framework: what it fits, what it says, and who says so.


def rule(book: RuleBook, found: DecisionRule) -> Explanation:
    """One rule."""
    risk = Risk(found.risk)
    parts = {
        "what": [Sentence(text=found.title, place=book.places.get(found.id)), *_whose(book, found.id)],
        "when": _when(found.when),
        "side": [Sentence(text=rule_wording.side(found.side))],
        "risk": [Sentence(text=f"{risk}: {_agreed(risk)}")],
        "why": [Sentence(text=found.why), *_criteria(book, found)],
        "asked": [Sentence(text=each) for each in found.asks],
        "words": [Sentence(text=", ".join(found.words))] if found.words else [],
        "sources": [Sentence(text=each) for each in found.sources],
        "type": [Sentence(text="How it is done, and checked", command=f"firstlight decide --explain {found.id}")],
    }
    see = ("rule", "decision", *([found.side] if found.side != "owner" else ["owner"]), "risk")
    return Explanation(sort=ExplanationKind.RULE, name=found.id, parts=_parts(parts), see=see)


def factor(book: RuleBook, found: FactorForm) -> Explanation:
    """Something that raises the risk of a change."""
    risk = Risk(found.risk)
    parts = {
        "what": [
            Sentence(text="It makes a change more dangerous, whatever else it is", place=book.places.get(found.id)),
            *_whose(book, found.id),
        ],
        "when": _when(found.when),
        "risk": [Sentence(text=f"at least {risk}: {_agreed(risk)}")],
        "why": [Sentence(text=found.why)],
        "sources": [Sentence(text=each) for each in found.sources],
    }
    return Explanation(sort=ExplanationKind.FACTOR, name=found.id, parts=_parts(parts), see=("risk", "decision"))


def own_factor(found: decision.RiskFactor) -> Explanation:
    """One that is written nowhere, since no condition can tell it."""
    parts = {
        "what": [Sentence(text="It makes a change more dangerous, whatever else it is")],
        "when": [Sentence(text=graph_factors.BY_ITSELF)],
        "risk": [Sentence(text=f"at least {found.risk}: {_agreed(found.risk)}")],
        "why": [Sentence(text=found.why)],
    }
    return Explanation(sort=ExplanationKind.FACTOR, name=found.id, parts=_parts(parts), see=("risk", "decision"))


def _parts(parts: Mapping[str, Sequence[Sentence]]) -> tuple[ExplanationPart, ...]:
    return tuple(ExplanationPart(name=name, sentences=tuple(each)) for name, each in parts.items() if each)


def _whose(book: RuleBook, name: str) -> list[Sentence]:
    return [Sentence(text="Your team wrote it")] if name in book.own else []


def _agreed(risk: Risk) -> str:
    who = {"self": "you alone may do it", "peer": "a colleague must agree", "lead": "the lead must agree"}
    return who.get(risk.approval, "the team must agree")


def _criteria(book: RuleBook, found: DecisionRule) -> Iterator[Sentence]:
    for each in found.criteria:
        if criterion := book.criteria.get(each):
            yield Sentence(text=rule_wording.criterion(criterion))


def _when(conditions: Sequence[When]) -> list[Sentence]:
    if not conditions:
        return [Sentence(text="never by itself: it is only found by its words")]
    lead = "or " if len(conditions) > 1 else ""
    return [
        Sentence(text=f"{lead if number else ''}{rule_wording.condition(each)}")
        for number, each in enumerate(conditions)
    ]
