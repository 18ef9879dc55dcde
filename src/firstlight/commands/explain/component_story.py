"""One component of the repo at hand, told whole: what it is, where it stands, why it is there, how it is changed."""

import dataclasses
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from firstlight.commands.explain import chain, glossary, reasons, repo_facts
from firstlight.commands.explain.explanation import (
    ExplainInput,
    Explanation,
    ExplanationKind,
    ExplanationPart,
    Sentence,
)
from firstlight.commands.explain.glossary import GlossaryWord
from firstlight.commands.inventory.text import count, described
from firstlight.model import argocd_names, flux_names
from firstlight.model.component import Certainty, Component, Origin, Owner, Phase, SourceForm
from firstlight.model.place import Place
from firstlight.model.source import ChartSource, DirectorySource, Source
from firstlight.plan import cluster_facts

_SHOWN = 8
_FORMS = {
    SourceForm.APPLICATION: argocd_names.APPLICATION,
    SourceForm.KUSTOMIZATION: flux_names.KUSTOMIZATION,
    SourceForm.HELM_RELEASE: flux_names.HELM_RELEASE,
}
_TOLD = ("Deployment", "DaemonSet", "StatefulSet", "Job", "Service", "Ingress", "PersistentVolumeClaim", "ConfigMap")
"""Kinds that newcomers meet first."""


def explanations(scene: ExplainInput, components: Sequence[Component]) -> tuple[Explanation, ...]:
    """One explanation each; what is the same in several clusters is told once."""
    found: dict[tuple[str, tuple[ExplanationPart, ...]], list[Explanation]] = defaultdict(list)
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


def explanation(scene: ExplainInput, component: Component) -> Explanation:
    """One component in its cluster."""
    word = word_of(component)
    found = chain.dependents(scene, component)
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
        "change": how_to_change(scene, component),
    }
    return Explanation(
        sort=ExplanationKind.COMPONENT,
        name=component.name,
        clusters=(component.cluster,),
        parts=tuple(
            ExplanationPart(name=name, sentences=told) for name, each in parts.items() if (told := tuple(each))
        ),
        see=(*(["foundation secret"] if scene.is_foundation(component) else []), *_see(component, word)),
    )


def word_of(component: Component) -> GlossaryWord | None:
    """The word of the glossary that speaks of a component itself."""
    return None if component.part_of else glossary.of_names(glossary.names(component))


def _role_word(component: Component) -> GlossaryWord | None:
    role = glossary.texts().roles.get(component.role)
    return glossary.find(role.word) if role else None


def _what(scene: ExplainInput, component: Component, word: GlossaryWord | None) -> Iterator[Sentence]:
    if word:
        yield Sentence(text=word.says)
    role = _role_word(component)
    if role and role != word:
        yield Sentence(text=f"{role.word}: {role.says}" if word else role.says)
    if component.part_of:
        yield Sentence(text=f"Settings of {component.part_of}, as Kubernetes objects.")
    children = [each.name for each in scene.components if _is_child(each, component)]
    if children:
        yield Sentence(text=f"It brings {repo_facts.listed(children, _SHOWN)}.")
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
    return repo_facts.listed([f"{number} {kind}" for kind, number in kinds.most_common()])


def _where(component: Component) -> Iterator[Sentence]:
    for origin in component.origins[:_SHOWN]:
        name = f"{origin.namespace}/{origin.name}" if origin.namespace else origin.name
        if origin.form == SourceForm.DECLARED:
            yield Sentence(text=f"{origin.side}: declared", place=origin.place)
            continue
        sources = ", ".join(described(each) for each in cluster_facts.sources(origin))
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
    before, after = cluster_facts.versions(component)
    if before and after and before.removeprefix("v") != after.removeprefix("v"):
        yield Sentence(text=f"{before} in bootstrap and {after} in Git; the handover makes it {after}")
    elif component.version:
        yield Sentence(text=component.version)
    elif any(map(_is_unpinned, (each for origin in component.origins for each in cluster_facts.sources(origin)))):
        yield Sentence(text="none is given, so that the newest chart is taken whenever it is fetched")


def _is_unpinned(source: Source) -> bool:
    """Whether a chart comes from elsewhere, in whatever version there is."""
    return isinstance(source, ChartSource) and bool(source.repository) and not (source.version or source.digest)


def _needs(scene: ExplainInput, component: Component) -> Iterator[Sentence]:
    alike: dict[tuple[str, Place | None], list[str]] = defaultdict(list)
    for bond in chain.needs(scene, component):
        alike[bond.why, bond.place].append(bond.name)
    for (why, place), names in alike.items():
        yield Sentence(text=f"{repo_facts.listed(names, _SHOWN)}: {why}", place=place)
    for need in component.missing:
        yield Sentence(text=f"{need.id}: nothing deploys it here, so this waits for ever", place=need.place)


def _needed_by(found: chain.Dependents) -> Iterator[Sentence]:
    reasons_of: dict[str, list[str]] = defaultdict(list)
    for bond in found.direct:
        reasons_of[bond.why].append(bond.name)
    for why, names in reasons_of.items():
        yield Sentence(text=f"{repo_facts.listed(names, _SHOWN)}: {why}")
    if found.through:
        lead = "through these" if found.direct else "what it brings from Git"
        yield Sentence(text=f"{lead}: {repo_facts.listed(found.through, _SHOWN)}")
    if found.besides:
        is_engine = not found.direct and not found.through
        lead = "what it brings from Git" if is_engine else "what comes after these, and is not said to need them"
        yield Sentence(text=f"{lead}: {repo_facts.listed(found.besides, _SHOWN)}")


def _without(component: Component, found: chain.Dependents) -> Iterator[Sentence]:
    role = glossary.texts().roles.get(component.role)
    if role:
        yield Sentence(text=role.without)
    needing = [*(each.name for each in found.direct if not each.by_chance), *found.through]
    if not needing and not found.besides:
        yield Sentence(text="Nothing else in this repo is known to need it.")
    elif not role and needing:
        yield Sentence(text=f"{repo_facts.listed(needing, _SHOWN)} would not start, or not be updated.")
    if found.counted:
        depend = "depends" if found.counted == 1 else "depend"
        yield Sentence(text=f"{count(found.counted, 'component')} {depend} on it, as firstlight decide counts them.")


def _gates(scene: ExplainInput, component: Component) -> Iterator[Sentence]:
    steps = scene.steps.get((component.cluster, component.name), [])
    asked = dict.fromkeys(str(gate.subject) for step in steps for gate in step.gates)
    texts = glossary.texts().gates
    for subject in asked:
        yield Sentence(text=f"{subject}: {texts.get(subject, subject)}")


def _see(component: Component, word: GlossaryWord | None) -> tuple[str, ...]:
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


# How a component is changed in this repo: which file, then which commands. Only commands that exist.


_ROLLED_BACK = "To go back, revert the commit"


def how_to_change(scene: ExplainInput, component: Component) -> Iterator[Sentence]:
    """What to do, in order."""
    yield from _edit(component)
    cluster = scene.cluster(component.cluster)
    branch = (cluster.branch if cluster else "") or "main"
    yield Sentence(
        text="On a branch of your own, see how risky it is and who must agree",
        command=f"firstlight decide --diff {shlex.quote(branch)}...HEAD",
    )
    if component.owner == Owner.BOOTSTRAP:
        yield from _by_command(scene, component)
    else:
        yield from _by_merge(scene, component)


def _edit(component: Component) -> Iterator[Sentence]:
    bootstrap, gitops = component.halves
    own = reasons.own_halves(component)
    if component.owner == Owner.BOOTSTRAP:
        yield from _files(own or bootstrap, "Edit")
    else:
        yield from _files(gitops or bootstrap, "Edit")
        written = tuple(each for each in own if not _is_embedded(each))
        if written and gitops:
            yield from _files(written, "and, for bootstrap,")


def _files(origins: Sequence[Origin], verb: str) -> Iterator[Sentence]:
    for origin in origins[:1]:
        yield Sentence(text=f"{verb} the {origin.form}", place=origin.place)
        for source in cluster_facts.sources(origin):
            match source:
                case DirectorySource() if source.path != origin.place.path:
                    yield Sentence(text=f"or what it applies, in {source.path}")
                case ChartSource():
                    if source.pinned and source.version:
                        yield Sentence(text=f"Its version, {source.version}, stands in its source", place=source.pinned)
                    files = [each.file for each in source.values if each.file]
                    if files:
                        yield Sentence(text=f"or its values, in {', '.join(dict.fromkeys(files))}")


def _is_embedded(origin: Origin) -> bool:
    return origin.form == SourceForm.INLINE_MANIFEST


def _embed(component: Component, text: str) -> Iterator[Sentence]:
    """To write the manifest in the machine config anew, where it is made from something else in the repo."""
    if not all(map(_is_embedded, component.origins)):
        name, cluster = _quoted(component)
        yield Sentence(text=text, command=f"firstlight render {name} --inline --cluster {cluster}")


def _by_command(scene: ExplainInput, component: Component) -> Iterator[Sentence]:
    name, cluster = _quoted(component)
    if component.phase == Phase.INLINE:
        yield from _embed(component, "Embed it into the machine config again")
    # Secrets of the foundation have a name of their own there, all together.
    only = f"firstlight up {cluster} --only {'secrets' if scene.is_foundation(component) else name}"
    yield Sentence(text="See what would be written", command=f"{only} --dry-run")
    yield Sentence(text="Bring it to the cluster; a merge alone does not", command=only)
    yield Sentence(text="See whether the cluster is as it must be", command=f"firstlight verify {cluster}")
    yield Sentence(text=f"{_ROLLED_BACK} and run the same command again.")


def _by_merge(scene: ExplainInput, component: Component) -> Iterator[Sentence]:
    name, cluster = _quoted(component)
    bootstrap, gitops = component.halves
    if any(map(_is_embedded, bootstrap)):
        yield from _embed(component, "Embed it again, for clusters that are built from this repo later")
    if gitops and reasons.own_halves(component):
        yield Sentence(
            text="See where the two halves differ", command=f"firstlight boundary {cluster} --component {name}"
        )
    who = reasons.engine(scene, component.cluster)
    yield Sentence(text=f"Merge it; {who} applies it by itself.")
    yield Sentence(
        text="See whether the cluster is as Git says", command=f"firstlight drift {cluster} --component {name}"
    )
    yield Sentence(text=f"{_ROLLED_BACK} and merge that.")


def _quoted(component: Component) -> tuple[str, str]:
    return shlex.quote(component.name), shlex.quote(component.cluster)
