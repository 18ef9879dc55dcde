"""What a name means: every meaning of it, the repo's own first; and what was probably meant where it means nothing."""

import difflib
from collections.abc import Iterator

from firstlight.commands.decide import graph_factors
from firstlight.commands.explain import component_story, glossary, occurrences, topics
from firstlight.commands.explain.explanation import (
    ExplainInput,
    Explanation,
    ExplanationKind,
    ExplanationPart,
    Sentence,
)
from firstlight.commands.explain.glossary import GlossaryWord
from firstlight.model.component import Component, Phase
from firstlight.model.source import ChartSource
from firstlight.plan import cluster_facts

_NEAR = 3


def explain(name: str, scene: ExplainInput) -> tuple[Explanation, ...]:
    """Every meaning of a name; none if nobody knows it."""
    mine = _components(name, scene)
    made = component_story.explanations(scene, mine)
    told = {word.word for each in mine if (word := component_story.word_of(each))}
    return (*made, *_of_repo(name, scene), *_of_order(name, scene), *_word(name, scene, told), *_of_book(name, scene))


def _components(name: str, scene: ExplainInput) -> list[Component]:
    """By their whole name, else by its last part, else by what their chart or declaration is called."""
    wanted = glossary.plain(name)
    ways = (
        lambda each: {each.name},
        lambda each: {each.name.rpartition("/")[2]},
        _called,
    )
    for way in ways:
        if found := [each for each in scene.components if wanted in map(glossary.plain, way(each))]:
            return found
    return []


def _called(component: Component) -> set[str]:
    charts = [source for origin in component.origins for source in cluster_facts.sources(origin)]
    return {
        *(each.name for each in component.origins),
        *(each.id for each in component.origins),
        *(each.name.rpartition("/")[2] for each in charts if isinstance(each, ChartSource)),
    }


def _of_repo(name: str, scene: ExplainInput) -> Iterator[Explanation]:
    wanted = glossary.plain(name)
    for home in scene.clusters:
        if scene.platform and glossary.plain(home.name) == wanted:
            yield topics.cluster(scene.platform, home)
        for each in home.machines:
            if wanted in (glossary.plain(each.name), each.address):
                yield topics.machine(home, each)


def _of_order(name: str, scene: ExplainInput) -> Iterator[Explanation]:
    wanted = glossary.plain(name)
    if wanted in glossary.texts().phases:
        yield topics.phase(scene, Phase(wanted))
    if wanted in glossary.texts().sides:
        yield topics.side(scene, wanted)


def _of_book(name: str, scene: ExplainInput) -> Iterator[Explanation]:
    wanted = glossary.plain(name)
    if found := next((each for each in scene.book.rules if glossary.plain(each.id) == wanted), None):
        yield topics.rule(scene.book, found)
    if factor := next((each for each in scene.book.factors if glossary.plain(each.id) == wanted), None):
        yield topics.factor(scene.book, factor)
    elif own := next((each for name, each in graph_factors.KNOWN.items() if glossary.plain(name) == wanted), None):
        yield topics.own_factor(own)


def _word(name: str, scene: ExplainInput, told: set[str]) -> Iterator[Explanation]:
    """The word, unless a component was explained by it already."""
    word = glossary.find(name)
    if word and word.word not in told:
        yield of_word(word, scene)


def of_word(word: GlossaryWord, scene: ExplainInput) -> Explanation:
    """One word, with what of it is in the repo."""
    parts = [ExplanationPart(name="what", sentences=(Sentence(text=word.says),))]
    if found := occurrences.sentences(scene, word.here):
        parts.append(ExplanationPart(name="here", sentences=found))
    return Explanation(sort=ExplanationKind.WORD, name=word.word, parts=tuple(parts), see=word.see)


def known_names(scene: ExplainInput) -> tuple[str, ...]:
    """Everything that can be asked for, the repo's own first."""
    texts = glossary.texts()
    found = [
        *(each.name for each in scene.components),
        *(each.name for each in scene.clusters),
        *(machine.name for each in scene.clusters for machine in each.machines),
        *texts.phases,
        *texts.sides,
        *(each.word for each in glossary.words()),
        *(name for each in glossary.words() for name in each.aka),
        *(each.id for each in scene.book.rules),
        *(each.id for each in scene.book.factors),
        *graph_factors.KNOWN,
    ]
    return tuple(dict.fromkeys(found))


def near(name: str, scene: ExplainInput) -> tuple[str, ...]:
    """What was probably meant by a name that nobody knows."""
    known = {glossary.plain(each): each for each in reversed(known_names(scene))}
    wanted = glossary.plain(name)
    close = difflib.get_close_matches(wanted, known, n=_NEAR, cutoff=0.6)
    holding = [each for each in known if len(wanted) >= _NEAR and wanted in each]
    return tuple(dict.fromkeys(known[each] for each in (*close, *sorted(holding, key=len))))[:_NEAR]
