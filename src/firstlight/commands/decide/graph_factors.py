"""Factors that no rule can tell: what only the graph of components knows, and what nobody could read; few, and sure."""

import dataclasses
from collections.abc import Iterator

from firstlight.commands.decide import sides
from firstlight.commands.decide.file_components import Belonging
from firstlight.commands.decide.touched import DecisionContext
from firstlight.model import argocd_names, flux_names
from firstlight.model.change import Change, ChangedField, ChangeVerb, Matter
from firstlight.model.component import Component, SourceForm
from firstlight.model.decision import Risk, RiskFactor
from firstlight.plan import version_bump

_MANY = 10
_DECLARING = {
    flux_names.HELM_RELEASE,
    flux_names.KUSTOMIZATION,
    argocd_names.APPLICATION,
    argocd_names.APPLICATION_SET,
    flux_names.FLUX_INSTANCE,
}
_VERSIONS = {"version", "tag", "newTag", "image", "targetRevision", "semver", "ref", "digest", "revision"}
"""What versions are called, wherever they stand."""
_PINS = _VERSIONS - {"ref"} | {"chartVersion"}
UNPINNED = "unpinned"
"""The id of the factor for what has no version any more."""
BY_ITSELF = "firstlight tells it by itself, from what the repo's components need and from what could be read"
"""What they fit, in place of conditions."""
KNOWN = {
    each.id: each
    for each in (
        RiskFactor(
            id="unreadable", risk=Risk.HIGH,
            why="it cannot be read, so nobody can tell what else it changes; an engine stops there",
        ),
        RiskFactor(
            id="moves-component", risk=Risk.HIGH,
            why="another Kustomization or Application applies it than before, and the one may prune it",
        ),
        RiskFactor(
            id="engine-needs", risk=Risk.CRITICAL, why="the engine itself needs what goes: it cannot bring it back"
        ),
        RiskFactor(id="needed-by-others", risk=Risk.HIGH, why="others need what goes"),
        RiskFactor(
            id=UNPINNED, risk=Risk.HIGH,
            why="nothing pins the version any more: whatever is newest or default runs next, at a time that nobody "
            "chooses, and to pin it again may be a downgrade",
        ),
        RiskFactor(
            id="many-dependents", risk=Risk.MEDIUM,
            why=f"{_MANY} or more components depend on what gets another version or goes",
        ),
    )
}  # fmt: skip
"""All of them with what they mean, by id."""


def factors_of_graph(
    change: Change, field: ChangedField | None, component: Component | None, scene: DecisionContext
) -> Iterator[RiskFactor]:
    """The factors of one field, or of an object as a whole."""
    if change.is_unread and change.matter not in sides.HARMLESS_UNREAD:
        # In a machine config it may be what makes a new cluster of it.
        unreadable = KNOWN["unreadable"]
        is_machine = change.matter is Matter.MACHINE
        yield dataclasses.replace(unreadable, risk=Risk.CRITICAL) if is_machine else unreadable
    if field is not None and _is_unpinned(field, change):
        yield KNOWN[UNPINNED]
    if component is None:
        return
    if field is None or change.old_path:
        yield from _moves(change, scene)
    if field is None and change.verb is ChangeVerb.REMOVED and _is_declaration(change):
        yield from _goes(component, scene)
    is_weighty = _is_version(field) if field is not None else change.verb is ChangeVerb.REMOVED
    if is_weighty and len(others := scene.dependents(component, brought=False)) >= _MANY:
        why = f"{len(others)} components depend on {component.name}: {', '.join(others[:3])} …"
        yield dataclasses.replace(KNOWN["many-dependents"], why=why)


def _is_version(field: ChangedField) -> bool:
    return (
        bool(field.steps) and field.steps[-1] in _VERSIONS and version_bump.bump(field.before, field.after) is not None
    )


def _is_unpinned(field: ChangedField, change: Change) -> bool:
    """Whether a version goes, and none comes in its place."""
    if field.verb is not ChangeVerb.REMOVED or change.verb is not ChangeVerb.CHANGED or not _says_version(field):
        return False
    beside = [each for each in change.fields if each is not field and each.steps[:-1] == field.steps[:-1]]
    return not any(each.verb is not ChangeVerb.REMOVED and each.steps[-1] in _PINS for each in beside)


def _says_version(field: ChangedField) -> bool:
    """Whether a field pins a version: one that is called so, with a number, a digest or a commit in it."""
    if field.is_secret or not field.steps or field.steps[-1] not in _PINS:
        return False
    return isinstance(field.before, str | int | float) and any(each.isdigit() for each in str(field.before))


def _is_declaration(change: Change) -> bool:
    return change.matter is Matter.OBJECT and change.kind in _DECLARING


def _moves(change: Change, scene: DecisionContext) -> Iterator[RiskFactor]:
    if change.matter is not Matter.OBJECT or change.verb not in (ChangeVerb.MOVED, ChangeVerb.CHANGED):
        return
    before, after = scene.once(change), scene.now(change)
    names = [{(each.cluster, each.name) for each in state} for state in (before, after)]
    # A Kustomization in another namespace is another one, whatever the component is called.
    appliers = [
        {pair for each in state for pair in _appliers(each, belonging)}
        for state, belonging in ((before, scene.before), (after, scene.after))
    ]
    for once, now in (names, appliers):
        for cluster in sorted({each for each, _ in once} & {each for each, _ in now}):
            old = sorted(name for each, name in once - now if each == cluster)
            new = sorted(name for each, name in now - once if each == cluster)
            if old and new:
                why = f"it moves from {', '.join(old)} to {', '.join(new)}: the one may prune what the other applies"
                yield dataclasses.replace(KNOWN["moves-component"], why=why)
                return


def _appliers(component: Component, belonging: Belonging | None) -> Iterator[tuple[str, str]]:
    """Yield what applies a component, or what it applies, with the cluster: ``Kustomization media/web``."""
    parents = belonging.named(component.cluster, component.parent) if belonging and component.parent else ()
    is_applied = all(each.form is SourceForm.HELM_RELEASE for each in component.origins)
    for each in (origin for one in (parents if is_applied else (component,)) for origin in one.origins):
        if each.form in (SourceForm.KUSTOMIZATION, SourceForm.APPLICATION):
            yield component.cluster, f"{each.form} {each.namespace}/{each.name}"


def _goes(component: Component, scene: DecisionContext) -> Iterator[RiskFactor]:
    if scene.is_needed_by_engine(component):
        why = f"the engine needs {component.name}, and could not bring it back"
        yield dataclasses.replace(KNOWN["engine-needs"], why=why)
    if others := scene.dependents(component, brought=False):
        why = f"{', '.join(others[:3])}{' …' if len(others) > 3 else ''} need {component.name}"
        yield dataclasses.replace(KNOWN["needed-by-others"], why=why)
