"""The components that a sentence is about: those that it names, else those that a rule may mean in this repo."""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping

from firstlight.commands.decide.phrases import Phrases
from firstlight.commands.decide.rule_form import DecisionRule, When
from firstlight.document import path_patterns
from firstlight.model import argocd_names, flux_names
from firstlight.model.component import Component, ObjectId, Side
from firstlight.model.platform import Platform

_WORD = re.compile(r"[a-z0-9.]+")
_OF_KUBERNETES = re.compile(r"(?:|apps|batch|policy|autoscaling|[a-z.]+\.k8s\.io)/.*")
"""Kinds of Kubernetes itself, which whatever is named may bring; custom resources are whose controller they are for."""
_DECLARING = {
    flux_names.KUSTOMIZATION, flux_names.HELM_RELEASE, flux_names.RESOURCE_SET,
    argocd_names.APPLICATION, argocd_names.APPLICATION_SET,
}  # fmt: skip
"""Kinds by which engines are told of components."""
_RUNNING = {*_DECLARING, "Deployment", "StatefulSet", "DaemonSet", "CronJob", "Cluster"}
"""Kinds of objects that people call by their names."""
_NEW = "add"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SentenceComponents:
    """Whose a change would be."""

    components: tuple[Component, ...] = ()
    is_named: bool = False
    """Whether the sentence names them: then it is about all of them, else about one of them."""
    is_new: bool = False
    """Whether something is to be added that is nobody's yet."""


class SentenceReader:
    """Finds components in one sentence, for one rule after the other."""

    def __init__(self, sentence: str, platform: Platform, phrases: Phrases) -> None:
        self._platform = platform
        self._phrases = phrases
        self._words = _WORD.findall(sentence.lower())
        self._text = f" {' '.join(self._words)} "
        self._is_new = _NEW in phrases.said(sentence).verbs
        self._named = [each for each in platform.components if self._is_named(each)]

    def components(self, rule: DecisionRule) -> SentenceComponents:
        """Whose a change by a rule would be.

        Whoever names Cilium beside its BGP peers means the peers, which somebody else may own.
        """
        kinds = [kind for when in rule.when for kind in when.kinds]
        is_custom = bool(kinds) and not any(map(_is_usual, kinds)) and not any(_is_by_name(each) for each in rule.when)
        bringing = _bringing(self._platform.components, kinds) if is_custom else []
        if self._named and not bringing:
            return SentenceComponents(components=tuple(self._named), is_named=True)
        if self._is_new and kinds and not bringing:
            return SentenceComponents(is_new=True)
        fitting = bringing or [each for each in self._platform.components if _fits(each, rule.when)]
        return SentenceComponents(components=tuple(self._nearest(fitting, rule)))

    def _is_named(self, component: Component) -> bool:
        """Whether the name of a component, or of what runs in it, stands in the sentence; plain words are no names."""
        names = {component.name, *_running(component)}
        return any(f" {_spaced(each)} " in self._text and not self._is_plain(each) for each in names)

    def _is_plain(self, name: str) -> bool:
        """Whether rules have all words of a name, and it is not the name of a product."""
        said = self._phrases.said(name)
        return bool(said.words) and not said.more and all(map(self._phrases.is_known, said.words))

    def _nearest(self, fitting: list[Component], rule: DecisionRule) -> list[Component]:
        """Those that have a word of the sentence in their names, else a word of the rule's id; all if none does."""
        for words in (self._words, _WORD.findall(rule.id)):
            if near := [each for each in fitting if {*words} & {*_spaced(each.name).split()}]:
                return near
        return fitting


def _spaced(name: str) -> str:
    return " ".join(_WORD.findall(name.lower()))


def _running(component: Component) -> Iterator[str]:
    for origin in component.origins:
        yield from (each.name for each in origin.objects if each.kind in _RUNNING)


def _is_usual(kind: str) -> bool:
    return bool(_OF_KUBERNETES.fullmatch(kind)) or kind.rpartition("/")[2] in _DECLARING


def _is_by_name(when: When) -> bool:
    return bool(when.roles or when.names or when.matter or when.files)


def _bringing(components: Iterable[Component], kinds: list[str]) -> list[Component]:
    """The components that bring objects of such kinds."""
    pattern = path_patterns.kinds(kinds)
    if pattern is None:
        return []
    return [
        each
        for each in components
        if any(pattern.fullmatch(f"{one.group}/{one.kind}") for one in _objects(each))
    ]  # fmt: skip


def _objects(component: Component) -> Iterator[ObjectId]:
    for origin in component.origins:
        yield from origin.objects


def _fits(component: Component, conditions: Iterable[When]) -> bool:
    """Whether a rule may be about a component: by its role or name, else by what it brings."""
    for when in conditions:
        if when.roles and component.role in when.roles:
            return True
        pattern = path_patterns.names(when.names)
        if pattern is not None and pattern.fullmatch(component.name):
            return True
        if not _is_by_name(when) and _bringing([component], list(when.kinds)):
            return True
    return False


def by_side(sides: Mapping[Side, Iterable[Component]]) -> str:
    """Components by their sides, as a question lists them."""
    return "; ".join(f"{side} for {_few([each.name for each in components])}" for side, components in sides.items())


def _few(names: list[str]) -> str:
    shown = ", ".join(dict.fromkeys(names[:3]))
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
