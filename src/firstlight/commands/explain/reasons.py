"""Why a component is in its phase, on its side, and whose it is in the end."""

from collections.abc import Iterator

from firstlight.commands.explain import glossary, repo_facts
from firstlight.commands.explain.explanation import ExplainInput, Sentence
from firstlight.model.component import Component, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.source import DirectorySource
from firstlight.plan import cluster_facts


def engine(scene: ExplainInput, cluster: str) -> str:
    """What the engine of a cluster is called."""
    found = scene.cluster(cluster)
    return repo_facts.ENGINES[found.engine] if found and found.engine else "the engine"


def of_why(component: Component) -> Iterator[Sentence]:
    """Why it is there at all, where that is more than the form in which the repo says it."""
    if component.is_why_declared:
        place = next((each.place for each in component.origins if each.form == SourceForm.DECLARED), None)
        yield Sentence(text=f"{_capital(component.why)}.", place=place)
    elif component.why and not component.is_why_only_form:
        yield Sentence(text=f"{_capital(component.why)}.")


def of_phase(scene: ExplainInput, component: Component) -> Iterator[Sentence]:
    """In which phase it is, and why there."""
    text = glossary.texts().phases[component.phase]
    yield Sentence(text=f"{component.phase}: {text.why}")
    plan = scene.plans.get(component.cluster)
    if plan is None or not cluster_facts.in_bootstrap(component):
        return
    least, name = plan.smallest, engine(scene, component.cluster)
    if component.name in least.needed and component.role != "engine":
        yield Sentence(text=f"It is among the few things that {name} cannot start without.")
    elif component.name in least.spare:
        yield Sentence(text=f"{name} could bring it by itself: nothing before it needs this, as far as the repo says.")


def of_side(scene: ExplainInput, component: Component) -> Iterator[Sentence]:
    """On which side it is, and what that means here."""
    name = engine(scene, component.cluster)
    match component.side:
        case Side.BOOTSTRAP:
            yield Sentence(text=f"bootstrap: a command brings it, and {name} does not know it")
        case Side.GITOPS:
            yield Sentence(text=f"gitops: {name} applies it from Git, and a merge is all that a change takes")
        case Side.HYBRID:
            yield from _of_hybrid(scene, component, name)
    if component.part_of:
        yield Sentence(
            text=f"It is the other half of {component.part_of}, which bootstrap brings: settings as objects, in Git."
        )


def _of_hybrid(scene: ExplainInput, component: Component, name: str) -> Iterator[Sentence]:
    bootstrap, gitops = component.halves
    others = [each for each in scene.components if each.cluster == component.cluster and each.part_of == component.name]
    if component.role == "engine" and component.owner == Owner.GITOPS:
        yield Sentence(text="hybrid: bootstrap brings it first, and then the engine keeps itself as Git says")
    elif component.owner == Owner.GITOPS:
        yield Sentence(text=f"hybrid: bootstrap brings it first, and {name} takes it over and keeps it")
    else:
        yield Sentence(text="hybrid: bootstrap keeps the core, and Git has settings for it")
    if bootstrap and gitops and not own_halves(component):
        yield Sentence(text="Both halves come from the same files in Git, so there is nothing to keep in step.")
    elif bootstrap and gitops:
        yield Sentence(text="The two halves stand in different files, so a change may have to be made in both.")
    for each in others:
        yield Sentence(text=f"Its other half is {each.name}.", place=each.origins[0].place)


def of_owner(scene: ExplainInput, component: Component) -> Iterator[Sentence]:
    """Whose it is in the end, and what that means for whoever wants to change it."""
    name = engine(scene, component.cluster)
    if component.owner == Owner.BOOTSTRAP:
        yield Sentence(text="bootstrap: it stays with whoever runs the command; a merge alone changes nothing")
        return
    yield Sentence(text=f"gitops: {name} keeps it as Git says, and undoes what is changed by hand")
    if component.phase != Phase.GITOPS:
        yield Sentence(text="Bootstrap only reads it once it was handed over.")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# The two halves of a component: which of bootstrap's have files of their own, and which take Git's.


def own_halves(component: Component) -> tuple[Origin, ...]:
    """What bootstrap has of it in files that Git's half does not use."""
    bootstrap, gitops = component.halves
    shared = {
        source.path.rstrip("/")
        for origin in gitops
        for source in cluster_facts.sources(origin)
        if isinstance(source, DirectorySource)
    }
    return tuple(each for each in bootstrap if each.form != SourceForm.DECLARED and not _is_within(each, shared))


def _is_within(origin: Origin, directories: set[str]) -> bool:
    """Whether all that it applies stands in one of the directories."""
    sources = cluster_facts.sources(origin)
    return bool(sources) and all(
        isinstance(each, DirectorySource)
        and any(each.path == directory or each.path.startswith(f"{directory}/") for directory in directories)
        for each in sources
    )
