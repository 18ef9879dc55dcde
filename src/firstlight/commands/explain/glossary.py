"""The words of the glossary and the texts on the order of things, as YAML has them; and what of a word a repo has."""

import fnmatch
import functools
import importlib.resources
import re
from collections.abc import Iterator, Mapping
from typing import TypeVar

import msgspec

from firstlight.commands.explain import repo_facts
from firstlight.commands.explain.explanation import ExplainInput, Sentence
from firstlight.document import yaml_reader
from firstlight.model.component import Component, Origin
from firstlight.model.place import Place
from firstlight.model.source import ChartSource
from firstlight.plan import cluster_facts


class WordOccurrence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a word is found in a repo; whatever fits is shown."""

    names: tuple[str, ...] = ()
    """Components, by their names or those of their charts."""
    roles: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    """Forms in which a repo deploys something, such as ``HelmRelease``."""
    kinds: tuple[str, ...] = ()
    """Objects: ``group/Kind``, ``/Secret`` for the core group; a star is anything."""
    facts: tuple[str, ...] = ()
    """What a cluster declares: see ``facts.py``."""


class GlossaryWord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One word of the glossary."""

    word: str
    aka: tuple[str, ...] = ()
    """Other ways to say it; plurals need not be named."""
    says: str
    see: tuple[str, ...] = ()
    here: WordOccurrence = WordOccurrence()


class PhaseText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a phase is."""

    says: str
    why: str
    """Why a component is in it."""
    gate: str
    """What must be proven before the next one begins."""
    see: tuple[str, ...] = ()


class SideText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a side is."""

    says: str
    criteria: tuple[str, ...]
    """When something belongs there."""
    change: tuple[str, ...]
    """How a change is done."""
    see: tuple[str, ...] = ()


class RoleText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What components of a role are for."""

    word: str
    without: str
    """What happens where it is missing or down."""


class Texts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that is said of the order of things."""

    phases: dict[str, PhaseText]
    sides: dict[str, SideText]
    roles: dict[str, RoleText]
    gates: dict[str, str]
    """By what a gate asks about: what it waits for."""


# The glossary and the texts on the order of things, from ``words.yaml`` and ``order.yaml``.


T = TypeVar("T")


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    words: tuple[GlossaryWord, ...]


@functools.cache
def words() -> tuple[GlossaryWord, ...]:
    """Every word, as it stands in the file."""
    return _read("words.yaml", _File).words


@functools.cache
def texts() -> Texts:
    """What is said of phases, sides, roles and gates."""
    return _read("order.yaml", Texts)


def _read(name: str, form: type[T]) -> T:
    file = importlib.resources.files("firstlight.commands.explain") / name
    (document,) = yaml_reader.read(file.read_bytes(), name).documents
    return msgspec.convert(document.value, form)


def find(name: str) -> GlossaryWord | None:
    """The word that a name means, however it is written, also in the plural."""
    wanted = plain(name)
    return _by_name().get(wanted) or next(
        (found for each in _singulars(wanted) if (found := _by_name().get(each))), None
    )


@functools.cache
def _by_name() -> dict[str, GlossaryWord]:
    # A word's own name counts more than another's second name.
    others = {plain(name): each for each in words() for name in each.aka}
    return others | {plain(each.word): each for each in words()}


def of_names(names: tuple[str, ...]) -> GlossaryWord | None:
    """The word that speaks of a component, by the component's names; the first name that is known counts."""
    known = {plain(name): each for each in reversed(words()) for name in each.here.names}
    return next((found for name in names if (found := known.get(plain(name)))), None)


def plain(name: str) -> str:
    """A name as it is compared: without case, and with one dash for whatever separates words."""
    return re.sub(r"[\s_-]+", "-", name.strip()).casefold()


def _singulars(name: str) -> tuple[str, ...]:
    return tuple(
        name.removesuffix(end) + new for end, new in (("ies", "y"), ("es", ""), ("s", "")) if name.endswith(end)
    )


# What of a word is in a repo, by names, roles, forms, kinds and facts.


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
    wanted = {plain(each) for each in here.names}
    by_name = any(plain(each) in wanted for each in names(component))
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
