"""Applications of Argo CD that give something up, or get it: what must be so before either can be."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight import errors
from firstlight.document import within
from firstlight.document.within import at, mapping, sequence
from firstlight.engines import engine_directives
from firstlight.engines.engine_kind import Rest
from firstlight.model import argocd_names
from firstlight.model.component import Component, Origin, Side, SourceForm, Stated
from firstlight.model.finding import EditVerb, FileEdit
from firstlight.model.move import Instruction, MoveProposal
from firstlight.model.platform import Platform
from firstlight.repo.argocd import argocd_settings
from firstlight.repo.work_tree import WorkTree

_SKIP = argocd_names.SKIP_RECONCILE_ANNOTATION
_CHECK = f"""\
if obj.metadata.annotations ~= nil and obj.metadata.annotations["{_SKIP}"] == "true" then
  hs.status = "Healthy"
end"""
"""What a health check for Applications must say besides, in Lua."""


def check_application(tree: WorkTree, component: Component, *, is_kept: bool) -> None:
    """See that Argo CD can let go of a component, and can take it over again.

    Args:
        tree: The repo.
        component: In one cluster.
        is_kept: Whether bootstrap is to keep it; else it gives it back.

    Raises:
        errors.Refused: It cannot.
    """
    for origin in component.halves[1]:
        if origin.form != SourceForm.APPLICATION:
            continue
        check_application_cluster(origin)
        _check_server_side(component, origin)
        if is_kept and not engine_directives.is_rest_declared(origin):
            _check_health(tree, component, origin)


def check_application_cluster(origin: Origin) -> None:
    """See that an Application is in the cluster to which it deploys, where all is looked at that rests or is guarded.

    Raises:
        errors.Refused: Argo CD deploys it from another one.
    """
    where = mapping(origin.definition, "spec", "destination")
    server, name = within.text(where, "server").rstrip("/"), within.text(where, "name")
    if origin.form == SourceForm.APPLICATION and (
        server not in ("", argocd_settings.IN_CLUSTER_SERVER) or name not in ("", argocd_settings.IN_CLUSTER)
    ):
        raise errors.Refused(
            f"Application {origin.name} deploys to {name or server}, and Argo CD runs in another cluster "
            f"({origin.place})",
            hint="Only what is in the cluster of Argo CD itself is moved; elsewhere it is done by hand.",
        )


def _check_server_side(component: Component, origin: Origin) -> None:
    """See that fields pass: what Argo CD applies client-side is nobody's to take, and nobody's to give back."""
    if engine_directives.is_server_side(origin.definition, (each.value for each in origin.stated)):
        return
    has_replace = engine_directives.REPLACE in engine_directives.application_sync_options(origin.definition)
    do = f"Leave {engine_directives.REPLACE} out of" if has_replace else f"Write {engine_directives.SERVER_SIDE} into"
    raise errors.Refused(
        f"Application {origin.name} does not apply server-side ({origin.place}): what bootstrap had of "
        f"{component.name} would stay bootstrap's for ever",
        hint=f"{do} spec.syncPolicy.syncOptions, let it sync once, and move it then.",
    )


def _check_health(tree: WorkTree, component: Component, origin: Origin) -> None:
    """See that nobody waits for the health of what rests: Argo CD writes no status of it, in a cold start none ever."""
    found = argocd_settings.read_settings(tree)
    if not found.has_application_health or found.is_rest_healthy:
        return
    raise errors.Refused(
        f"Argo CD waits for the health of its Applications here, and {origin.name} has none while it rests: in a cold "
        f"start what brings it would stay Progressing, and no wave after that of {component.name} would come",
        hint=f"Let the check for argoproj.io/Application in argocd-cm know what rests, before its last line:\n{_CHECK}",
    )


# What declares an owner to its engine (a Kustomization, HelmRelease or Application), as a file of the repo has it.


def stated_owner(platform: Platform, cluster: str, origin: Origin) -> Stated | None:
    """The object that an origin is, with the way to its lines; None if no file says it as it is."""
    rest = engine_directives.RESTS.get(origin.form)
    wanted = (rest.group if rest else "", origin.form.value, origin.namespace, origin.name)
    for component in platform.components_of(cluster):
        for one in component.origins:
            for each in one.stated:
                id, space = each.id, each.id.namespace or _home(one)
                if (id.group, id.kind, space, id.name) == wanted and each.way is not None:
                    return each
    return None


def _home(origin: Origin) -> str:
    """Where an Application puts what names no namespace."""
    return (
        within.text(origin.definition, "spec", "destination", "namespace")
        if origin.form == SourceForm.APPLICATION
        else ""
    )


def written_owner(tree: WorkTree, found: Stated | None) -> Mapping[str, Any] | None:
    """The object as its file has it."""
    if found is None or found.way is None:
        return None
    number, way = found.way
    document = next((each for each in tree.documents(found.place.path) if each.index == number), None)
    value = at(document.value, *way) if document is not None else None
    return value if isinstance(value, Mapping) else None


# The engine's own declaration of a component: it rests while bootstrap keeps the component, and goes on after.
#
# It stays in Git, since it says from which directory or chart, with which patches, variables and values the component
# is made, and bootstrap reads just that. At rest it applies nothing, and prunes or uninstalls nothing, whatever
# becomes of it. How each kind rests is in ``ownership.resting``.


_DEPENDING = (SourceForm.KUSTOMIZATION, SourceForm.HELM_RELEASE)
"""Who says on whom it depends."""
_ASKS = (
    "healthCheckExprs of Kustomization {} ask HelmReleases for a condition, and {} has none in a cold start while it "
    "rests: take them out, or let them pass where there are no conditions, and write the rest by hand, too."
)


def propose_resting(platform: Platform, tree: WorkTree, component: Component, *, is_resting: bool) -> MoveProposal:
    """Let the engine leave a component alone, or not any more.

    Args:
        platform: What the repo says.
        tree: Its files.
        component: In one cluster.
        is_resting: Whether it is to be left alone.
    """
    edits: list[FileEdit] = []
    by_hand: list[Instruction] = []
    engine = [each for each in component.origins if each.side == Side.GITOPS and each.form in engine_directives.RESTS]
    for origin in engine:
        if engine_directives.is_rest_declared(origin) == is_resting:
            continue
        rest = engine_directives.RESTS[origin.form]
        stated = stated_owner(platform, component.cluster, origin)
        written = written_owner(tree, stated)
        name = f"{origin.form} {origin.name}"
        if stated is None or written is None:
            by_hand.append(Instruction(place=origin.place, text=_by_hand(origin, rest, is_resting=is_resting)))
            continue
        document, way = stated.way or (0, ())
        verb = EditVerb.SET if is_resting else EditVerb.REMOVE
        if not is_resting and at(written, *rest.steps) is None:
            text = f"Take {rest.words} of {name} out where it is written; it is not in this file."
            by_hand.append(Instruction(place=stated.place, text=text))
            continue
        steps = rest.steps if is_resting else _alone(written, rest.steps)
        edits.append(
            FileEdit(path=stated.place.path, verb=verb, steps=(*way, *steps), value=rest.value, document=document)
        )  # fmt: skip
    if not is_resting:
        return MoveProposal(edits=tuple(edits), by_hand=tuple(by_hand))
    eased: list[str] = []
    for other, origin, need in _dependents(platform, component, engine):
        found = _eased(platform, tree, other, origin, need)
        edits += found.edits
        by_hand += found.by_hand
        eased += found.eased
    by_hand += [
        Instruction(place=above.place, text=_ASKS.format(above.name, one.name))
        for one in engine
        for above in _asking(platform, component, one)
    ]
    notes = tuple(f"{each} does not wait for {component.name} any more: it never reports ready" for each in eased)
    return MoveProposal(edits=tuple(edits), by_hand=tuple(by_hand), notes=notes, eased=tuple(eased))


def _by_hand(origin: Origin, rest: Rest, *, is_resting: bool) -> str:
    """What a person does where no file says the object as it is."""
    name, word = f"{origin.form} {origin.name}", "write" if is_resting else "take out"
    if maker := within.text(origin.maker, "kind"):
        made = f"{maker} {within.text(origin.maker, 'metadata', 'name')}"
        return f"{made} makes {name}: {word} {rest.words} in its template, for this one alone."
    if origin.form == SourceForm.APPLICATION and not origin.parent:
        return f"No Application brings {name}: {word} {rest.words} where it is written, and apply it."
    return f"{name} is made by something else: {word} {rest.words} in what makes it."


def _alone(written: Mapping[str, Any], steps: tuple[str, ...]) -> tuple[str, ...]:
    """What is taken out: a mapping that would be left with nothing goes whole."""
    while len(steps) > 2 and len(at(written, *steps[:-1]) or ()) == 1:
        steps = steps[:-1]
    return steps


def _dependents(
    platform: Platform, component: Component, engine: list[Origin]
) -> Iterator[tuple[Component, Origin, Origin]]:
    """What of the cluster depends on what rests: Kustomizations on Kustomizations, HelmReleases on HelmReleases."""
    for other in platform.components_of(component.cluster):
        for origin in other.origins:
            for one in engine:
                if origin.form in _DEPENDING and any(need.id == one.id for need in origin.needs):
                    yield other, origin, one


def _asking(platform: Platform, component: Component, one: Origin) -> Iterator[Origin]:
    """Kustomizations that ask what rests for a condition by an expression of their own.

    By itself Flux takes a HelmRelease that rests for well as soon as its controller has seen that, with ``wait`` and
    ``healthChecks``, too: it has no condition that says otherwise. An expression may insist on one.
    """
    if one.form != SourceForm.HELM_RELEASE:
        return
    for other in platform.components_of(component.cluster):
        for origin in other.origins:
            spec = mapping(origin.definition, "spec")
            asks = [each for each in sequence(spec, "healthCheckExprs") if within.text(each, "kind") == one.form.value]
            named = [each for each in sequence(spec, "healthChecks") if _names(each, one, origin)]
            if origin.form == SourceForm.KUSTOMIZATION and asks and (named or origin.id == one.parent):
                yield origin


def _eased(platform: Platform, tree: WorkTree, other: Component, origin: Origin, need: Origin) -> MoveProposal:
    """A Kustomization or HelmRelease without a need that never becomes ready."""
    stated = stated_owner(platform, other.cluster, origin)
    written = written_owner(tree, stated)
    listed = at(written, "spec", "dependsOn") if written is not None else None
    numbers = (
        [number for number, each in enumerate(listed) if _names(each, need, origin)] if isinstance(listed, list) else []
    )
    if stated is None or not isinstance(listed, list) or not numbers:
        text = f"Take {need.name} out of dependsOn of {origin.form} {origin.name}: it never reports ready."
        return MoveProposal(by_hand=(Instruction(place=origin.place, text=text),))
    document, way = stated.way or (0, ())
    whole = len(numbers) == len(listed)
    ways = (
        [(*way, "spec", "dependsOn")]
        if whole
        else [(*way, "spec", "dependsOn", number) for number in reversed(numbers)]
    )
    edits = tuple(
        FileEdit(path=stated.place.path, verb=EditVerb.REMOVE, steps=each, document=document) for each in ways
    )  # fmt: skip
    return MoveProposal(edits=edits, eased=(other.name,))


def _names(entry: object, need: Origin, origin: Origin) -> bool:
    if not isinstance(entry, Mapping):
        return False
    return (entry.get("name"), entry.get("namespace") or origin.namespace) == (need.name, need.namespace)
