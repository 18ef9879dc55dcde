"""What a name means: every meaning of it, the repo's own first; and what was probably meant where it means nothing."""

import difflib
import sys
from collections.abc import Iterator
from pathlib import Path

from firstlight import errors
from firstlight.cli import output, which_repo
from firstlight.commands.decide import graph_factors, team_rules
from firstlight.commands.decide.rule_book import RuleBook
from firstlight.commands.explain import chain, codes, component_story, glossary, text, topics
from firstlight.commands.explain.explanation import (
    ExplainInput,
    Explanation,
    ExplanationKind,
    ExplanationPart,
    Sentence,
)
from firstlight.commands.explain.glossary import GlossaryWord
from firstlight.document import diagnostic_cards
from firstlight.document.diagnostic_cards import DiagnosticCard
from firstlight.drawing import safe, table
from firstlight.model.component import Component, Phase
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource
from firstlight.plan import cluster_facts
from firstlight.repo import team_files, work_tree
from firstlight.repo.declaration import declaration_form
from firstlight.repo.work_tree import YAML, WorkTree

_NEAR = 3
_TEAM_RULES = f"{team_files.DIRECTORY}/audit"
_NOT_RULES = (".test.yaml", ".test.yml", "/baseline.yaml")
"""Endings of files beside a team's rules of the audit that hold something else."""


def answer(name: str, *, cluster: str, root: Path | None, form: str) -> None:
    """Print what a name means; without one, the chain of each cluster.

    Args:
        name: What somebody asks for.
        cluster: Only what is so in this cluster; in all by default.
        root: The repo that was named.
        form: ``text`` or ``json``.

    Raises:
        errors.UsageError: Nobody knows the name, or there is no chain to draw.
    """
    platform = _platform(root, cluster)
    if not name:
        scene = ExplainInput(platform)
        _require_clusters(scene)
        drawn = [chain.chain(scene, each) for each in scene.clusters]
        if form == "json":
            output.write_json(text.chain_data(drawn))
            return
        print(text.chain_text(drawn, columns=table.terminal_columns()))
        print("\nnext   firstlight explain NAME              any of these, whole")
        print("       firstlight graph --out FILE.svg     everything, as a picture")
        return
    scene = ExplainInput(platform, *_rules(platform))
    found = explain(name, scene)
    if not found:
        raise _unknown(name, scene)
    output.answer(form, text.text(found, columns=table.terminal_columns()), text.data(found))


def _platform(root: Path | None, cluster: str) -> Platform | None:
    """The repo that was named, or that somebody stands in; a home directory is not read for a word."""
    if root is None:
        top = work_tree.top(Path())
        if not ((top / ".git").exists() or (top / declaration_form.FILE).exists()):
            if cluster:
                raise errors.UsageError("there is no repo here", hint="Name it with --repo.")
            return None
    return which_repo.only(which_repo.platform(root, as_it_is=True), cluster)


def _rules(platform: Platform | None) -> tuple[RuleBook, dict[str, DiagnosticCard]]:
    """Return the rules of decide and a team's of the audit; a wrong file is told, and the rest is explained."""
    if platform is None:
        return team_rules.book(None), {}
    tree = WorkTree(platform.root)
    try:
        book = team_rules.book(tree)
    except errors.ConfigError as error:
        _tell_unused(team_rules.DIRECTORY, error.message)
        book = team_rules.book(None)
    try:
        return book, {each.code: each for each in _team_cards(tree)}
    except diagnostic_cards.CardsWrong as error:
        _tell_unused(_TEAM_RULES, str(error))
        return book, {}


def _team_cards(tree: WorkTree) -> Iterator[DiagnosticCard]:
    for name in tree.listing(_TEAM_RULES):
        path = f"{_TEAM_RULES}/{name}"
        content = tree.bytes(path) if path.endswith(YAML) and not path.endswith(_NOT_RULES) else None
        if content is not None:
            yield from diagnostic_cards.read_rules(content, home=diagnostic_cards.AUDIT)


def _tell_unused(directory: str, problem: str) -> None:
    print(f"{directory} is wrong and was not used: {safe.text(problem)}", file=sys.stderr)


def _require_clusters(scene: ExplainInput) -> None:
    if scene.clusters:
        return
    where = "there is no repo here" if scene.platform is None else "this repo has no clusters"
    raise errors.UsageError(
        f"{where}, so there is no chain to show",
        hint="Name a GitOps repo with --repo, or a word: firstlight explain CNI",
    )


def _unknown(name: str, scene: ExplainInput) -> errors.UsageError:
    meant = near(name, scene)
    some = "There are words such as CNI, quorum or handover; phases, sides and rules; and what stands in the repo"
    hint = f"Did you mean {', '.join(meant)}?" if meant else f"{some}: firstlight explain"
    return errors.UsageError(f"nobody knows what {name} is", hint=hint)


def explain(name: str, scene: ExplainInput) -> tuple[Explanation, ...]:
    """Every meaning of a name; none if nobody knows it."""
    mine = _components(name, scene)
    made = component_story.explanations(scene, mine)
    told = {word.word for each in mine if (word := component_story.word_of(each))}
    found = (*made, *_of_repo(name, scene), *_of_order(name, scene), *_word(name, scene, told), *_of_book(name, scene))
    return (*found, *codes.of_name(name, scene))


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
    if found := glossary.sentences(scene, word.here):
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
        *codes.names(scene),
    ]
    return tuple(dict.fromkeys(found))


def near(name: str, scene: ExplainInput) -> tuple[str, ...]:
    """What was probably meant by a name that nobody knows."""
    known = {glossary.plain(each): each for each in reversed(known_names(scene))}
    wanted = glossary.plain(name)
    close = difflib.get_close_matches(wanted, known, n=_NEAR, cutoff=0.6)
    holding = [each for each in known if len(wanted) >= _NEAR and wanted in each]
    return tuple(dict.fromkeys(known[each] for each in (*close, *sorted(holding, key=len))))[:_NEAR]
