"""What of a word is in the repo at hand."""

import fnmatch
from collections.abc import Iterator, Mapping

from firstlight.commands.explain import glossary, repo_facts
from firstlight.commands.explain.explanation import ExplainInput, Sentence
from firstlight.commands.explain.glossary import WordOccurrence
from firstlight.model.component import Component, Origin
from firstlight.model.place import Place
from firstlight.model.source import ChartSource
from firstlight.plan import cluster_facts

_SHOWN = 8
_SUFFIXES = ("-crds", "-install", "-bootstrap", "-core", "-app", "-helm", "-release", "-operator")


def sentences(scene: ExplainInput, here: WordOccurrence) -> tuple[Sentence, ...]:
    """Facts of clusters first, then components, then objects; each once, with its clusters where there are several."""
    found: dict[tuple[str, Place | None], list[str]] = {}
    for cluster in scene.clusters:
        for each in _of_cluster(scene, here, cluster.name):
            clusters = found.setdefault((each.text, each.place), [])
            if cluster.name not in clusters:
                clusters.append(cluster.name)
    every = len(scene.clusters)
    said = [
        Sentence(text=text if len(clusters) == every else f"{', '.join(clusters)}: {text}", place=place)
        for (text, place), clusters in found.items()
    ]
    if len(said) > _SHOWN * max(1, every):
        rest = len(said) - _SHOWN * max(1, every)
        said = [*said[:-rest], Sentence(text=f"and {rest} more")]
    return tuple(said)


def _of_cluster(scene: ExplainInput, here: WordOccurrence, name: str) -> Iterator[Sentence]:
    platform = scene.platform
    cluster = platform.cluster(name) if platform else None
    if platform is None or cluster is None:
        return
    for fact in here.facts:
        yield from repo_facts.told(fact, platform, cluster)
    mine = platform.components_of(name)
    for each in mine:
        if any(_is_meant(here, each, origin) for origin in each.origins):
            yield Sentence(text=described(each), place=each.origins[0].place)
    for each in mine:
        for origin in each.origins:
            for kind, names in _objects(here, origin).items():
                number = f"{len(names)} {kind}s" if len(names) > 1 else kind
                yield Sentence(text=f"{each.name} brings {number}: {repo_facts.listed(names)}", place=origin.place)


def _is_meant(here: WordOccurrence, component: Component, origin: Origin) -> bool:
    wanted = {glossary.plain(each) for each in here.names}
    by_name = any(glossary.plain(each) in wanted for each in names(component))
    return by_name or (bool(component.role) and component.role in here.roles) or origin.form in here.forms


def names(component: Component) -> tuple[str, ...]:
    """By what a component may be known: its own name, its charts, its declarations; also without the usual endings."""
    # A Kustomization that shares its name with what it brings is not the thing itself.
    own = [] if component.name.startswith("kustomization/") else [component.name.rpartition("/")[2]]
    charts = [
        source.name.rpartition("/")[2]
        for origin in component.origins
        for source in cluster_facts.sources(origin)
        if isinstance(source, ChartSource)
    ]
    every = [*own, *charts, *(each.name.rpartition("/")[2] for each in component.origins if own)]
    return tuple(dict.fromkeys([*every, *(each.removesuffix(end) for each in every for end in _SUFFIXES)]))


def described(component: Component) -> str:
    """A component in a few words."""
    known = (component.phase, component.side, component.version)
    return f"{component.name} ({', '.join(dict.fromkeys(each for each in known if each))})"


def _objects(here: WordOccurrence, origin: Origin) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    if here.kinds:
        for each in origin.objects:
            if any(fnmatch.fnmatchcase(f"{each.group}/{each.kind}", pattern) for pattern in here.kinds):
                name = f"{each.namespace}/{each.name}" if each.namespace else each.name
                found.setdefault(each.kind, []).append(name)
    return found
