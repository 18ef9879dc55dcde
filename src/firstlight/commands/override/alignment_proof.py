"""Whether an edit does what it is for and nothing else, in any cluster."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from firstlight.commands.override.alignment_renderings import Files, RenderedRepo
from firstlight.document import within
from firstlight.model.component import Component, ObjectId, SourceForm
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource
from firstlight.ownership.field_values import ABSENT, is_same
from firstlight.plan import cluster_facts
from firstlight.render.rendered_diff import Name
from firstlight.repo.field_edits import field_steps
from firstlight.repo.field_edits.edit_candidates import WantedField

_ADDED = (("metadata", "labels"), ("metadata", "annotations"))
"""What kustomizations put on all of their objects, a new one too."""


@dataclasses.dataclass(frozen=True)
class EditVerdict:
    """What came of an edit."""

    is_fulfilled: bool
    strays: tuple[str, ...] = ()
    """What else would be another: ``Deployment shop/web of apps``."""
    unknown: tuple[str, ...] = ()
    """What cannot be rendered, so that nothing is known of it."""

    @property
    def says(self) -> str:
        """Why an edit is not taken; empty if nothing speaks against it."""
        if self.strays:
            return f"would also change {_some(self.strays)}"
        return f"cannot be proven, since of {_some(self.unknown)} nothing is known" if self.unknown else ""


_TOLD = 3


def _some(names: Sequence[str]) -> str:
    more = len(names) - _TOLD
    return ", ".join(names[:_TOLD]) + (f" and {more} more" if more > 0 else "")


def judge(
    before: RenderedRepo, after: RenderedRepo, wish: WantedField, *, wishes: Sequence[WantedField], cluster: str,
    names: Collection[Name] | None,
) -> EditVerdict:  # fmt: skip
    """Hold two states against each other.

    Args:
        before: The repo as it was.
        after: As it would be.
        wish: What the edit is for.
        wishes: All that the cluster has and Git has not: an edit may bring about several.
        cluster: Where they are wished for.
        names: The components that were rendered; all if it is not given.
    """
    allowed = _Allowed(before.platform, after.platform, wishes, cluster)
    strays: dict[str, None] = {}
    for key in dict.fromkeys((*before.objects, *after.objects)):
        component = after.components.get(key) or before.components[key]
        if names is not None and (key[0], component) not in names:
            continue
        old, new = before.objects.get(key, ABSENT), after.objects.get(key, ABSENT)
        if is_same(old, new):
            continue
        if key[0] != cluster or not (_is_wished(key[2], old, new, wishes) or allowed.has(key[2], component)):
            strays[f"{key[2]} of {key[0]}"] = None
    unknown = [
        f"{name[1]} of {name[0]}{why}"
        for name, why in _unknown(before, after, names)
        if name[0] != cluster or not allowed.follows(name[1])
    ]
    mine = [new for key, new in after.objects.items() if key[0] == cluster and key[2] == wish.object]
    return EditVerdict(_is_fulfilled(wish, mine), tuple(strays), tuple(unknown))


def _is_fulfilled(wish: WantedField, found: Sequence[Mapping[str, Any]]) -> bool:
    if wish.is_gone:
        return not found
    if wish.is_new:
        return bool(found) and all(_is_new(wish.after, each) for each in found)
    return bool(found) and all(is_same(field_steps.value_at(each, wish.steps), wish.after) for each in found)


def _is_new(wanted: Any, made: Any) -> bool:
    return all(steps[:2] in _ADDED and old is ABSENT for steps, old, _ in field_steps.differing(wanted, made))


def _is_wished(id: ObjectId, old: Any, new: Any, wishes: Sequence[WantedField]) -> bool:
    """Whether all that differs in an object is what the cluster has."""
    mine = [each for each in wishes if each.object == id]
    whole = next((each for each in mine if not each.steps), None)
    if whole is not None:
        return new is ABSENT if whole.is_gone else _is_new(whole.after, new)
    if not mine or old is ABSENT or new is ABSENT:
        return False
    target = old
    for each in mine:
        target = field_steps.with_value(target, each.steps, each.after)
    return all(
        is_same(field_steps.value_at(target, steps), value) for steps, _, value in field_steps.differing(old, new)
    )


def _unknown(before: RenderedRepo, after: RenderedRepo, names: Collection[Name] | None) -> Iterator[tuple[Name, str]]:
    """Components of which it cannot be told what an edit does, with why if that is new."""
    for name, why in after.broken.items():
        if names is not None and name not in names:
            continue
        if name not in before.broken:
            yield name, f" ({why[:160]})"
        elif _is_touched(name, before.platform, after.platform, after.files):
            yield name, ""


def _is_touched(name: Name, before: Platform, after: Platform, files: Files) -> bool:
    first, then = (_component(each, name) for each in (before, after))
    if first is None or then is None:
        return first is not then
    old, new = ([one.definition for one in each.origins] for each in (first, then))
    named = {
        value.file
        for one in then.origins
        for each in cluster_facts.sources(one)
        if isinstance(each, ChartSource)
        for value in each.values
    }
    return not is_same(old, new) or bool(named & set(files))


def _component(platform: Platform, name: Name) -> Component | None:
    return next((each for each in platform.components if (each.cluster, each.name) == name), None)


class _Allowed:
    """What may differ since it carries the edit, or follows from an object that was changed itself."""

    def __init__(self, before: Platform, after: Platform, wishes: Sequence[WantedField], cluster: str) -> None:
        changed = {each.object for each in wishes}
        self._carriers: set[ObjectId] = set()
        self._following: set[str] = set()
        for platform in (before, after):
            components = {each.name: each for each in platform.components_of(cluster)}
            for each in components.values():
                if changed & {ObjectId.of(one.definition) for one in each.origins}:
                    self._following.add(each.name)
                for one in each.origins:
                    if one.form in (SourceForm.HELM_RELEASE, SourceForm.KUSTOMIZATION, SourceForm.APPLICATION):
                        self._carriers |= {ObjectId.of(one.definition), ObjectId.of(one.maker)}
                        self._carriers |= {*_referred(one.definition, one.namespace)}

    def follows(self, component: str) -> bool:
        """Whether a component is what a changed object declares: what becomes of it is live already."""
        return component in self._following

    def has(self, id: ObjectId, component: str) -> bool:
        """Whether an object may differ."""
        return id in self._carriers or component in self._following


def _referred(definition: Mapping[str, Any], namespace: str) -> Iterator[ObjectId]:
    """The ConfigMaps that values and variables come from."""
    lists = (("spec", "valuesFrom"), ("spec", "postBuild", "substituteFrom"))
    for each in (one for steps in lists for one in within.sequence(definition, *steps)):
        if within.text(each, "kind") == "ConfigMap":
            yield ObjectId("", "ConfigMap", namespace, within.text(each, "name"))
