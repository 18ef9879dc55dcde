"""What bootstrap runs, without a component: a release of a helmfile, an inline manifest, a line of a script."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.document import mistakes
from firstlight.document.within import at, mapping, sequence, text
from firstlight.document.yaml_reader import YamlDialect
from firstlight.model.component import Component, Origin, Phase, Side, SourceForm
from firstlight.model.finding import EditVerb, FileEdit
from firstlight.model.move import Instruction, MoveProposal, MoveRequest, Seat
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource
from firstlight.plan import cluster_facts, move_analysis
from firstlight.repo.declaration import declaration_form
from firstlight.repo.move_edits import new_files, owner_edits
from firstlight.repo.move_edits.new_files import MergeValues
from firstlight.repo.work_tree import YAML, WorkTree

_INLINE = ("cluster", "inlineManifests")


def propose_bootstrap_files(tree: WorkTree, component: Component) -> MoveProposal:
    """Take a component out of what bootstrap runs.

    Args:
        tree: The repo.
        component: In one cluster.
    """
    edits: list[FileEdit] = []
    by_hand: list[Instruction] = []
    for origin in component.origins:
        if origin.side != Side.BOOTSTRAP or origin.form == SourceForm.DECLARED:
            continue
        found = [*_found(tree, origin)]
        if len(found) == 1:
            edits += found
        else:
            by_hand.append(Instruction(place=origin.place, text=_by_hand(origin)))
    return MoveProposal(edits=tuple(edits), by_hand=tuple(by_hand))


def _found(tree: WorkTree, origin: Origin) -> Iterator[FileEdit]:
    """The item of a list that an origin is, if a plain file has it."""
    path = origin.place.path
    if not path.endswith(YAML) or "{{" in (tree.text(path) or ""):
        return
    dialect = YamlDialect.TALOS if origin.form == SourceForm.INLINE_MANIFEST else YamlDialect.KUBERNETES
    for document in tree.documents(path, dialect=dialect):
        for way in _ways(document.value, origin):
            yield FileEdit(path=path, verb=EditVerb.REMOVE, steps=way, document=document.index)


def _ways(value: Any, origin: Origin) -> Iterator[tuple[str | int, ...]]:
    """The ways to the items of a document that are called as an origin is; a list that gets empty goes whole."""
    steps: tuple[str, ...]
    if origin.form == SourceForm.HELMFILE:
        steps = ("releases",)
    elif origin.form == SourceForm.INLINE_MANIFEST:
        steps = _INLINE
    else:
        return
    listed = sequence(value, *steps)
    for number, each in enumerate(listed):
        is_here = origin.form != SourceForm.HELMFILE or text(each, "namespace") in ("", origin.namespace)
        if at(each, "name") == origin.name and is_here:
            yield (*steps, number) if len(listed) > 1 else steps


def _by_hand(origin: Origin) -> str:
    if origin.form == SourceForm.HELMFILE:
        return f"Take the release {origin.name} out of the helmfile; it is a template, and is not edited."
    if origin.command:
        return f"Take out what installs {origin.name}: {origin.command}"
    return f"Take {origin.form} {origin.name} out."


# Whether bootstrap can keep the release of a HelmRelease: Helm must find the release that helm-controller has made.


_HANDED = "Without --owner bootstrap it is brought by bootstrap and handed over, from the same files."


def check_kept_release(component: Component, origin: Origin, wish: MoveRequest) -> None:
    """See that Helm can go on with a release where helm-controller leaves off.

    Args:
        component: What is to be kept.
        origin: Its HelmRelease.
        wish: What was asked for.

    Raises:
        errors.Refused: It cannot.
    """
    chart, name = origin.source, component.name
    if mapping(origin.definition, "spec", "kubeConfig"):
        raise errors.Refused(
            f"{name} is a HelmRelease for another cluster (kubeConfig), which bootstrap does not reach"
        )
    if not isinstance(chart, ChartSource):
        raise errors.Refused(
            f"the chart of {name} is not found, so that nobody but helm-controller can install it",
            hint=f"See: firstlight inventory --component {name}",
        )
    if chart.storage_namespace not in ("", chart.namespace):
        raise errors.Refused(
            f"helm-controller keeps the history of {name} in {chart.storage_namespace}, and its objects are in "
            f"{chart.namespace}: Helm would not find the release, and install another one over it",
            hint=_HANDED,
        )
    phase = component.phase if cluster_facts.in_bootstrap(component) else wish.phase
    if phase is Phase.INLINE:
        raise errors.Refused(
            f"Talos applies what is inline, and keeps no Helm release of it: {name} would be left with one that nobody "
            "upgrades",
            hint="--phase core keeps the release. " + _HANDED,
        )


# A wish made a proposal: what changes in firstlight.yaml, in what the engine follows, and in what bootstrap runs.


def propose_move(platform: Platform, tree: WorkTree, wish: MoveRequest, *, merge: MergeValues) -> MoveProposal:
    """How the repo comes to say what is wished.

    Args:
        platform: What the repo says.
        tree: Its files.
        wish: Where a component is to be.
        merge: Knows the values of charts, for what is written anew.

    Raises:
        errors.UsageError: No such component, or none in that cluster.
        errors.Refused: It cannot be there.
    """
    mine = moved_components(platform, wish)
    for each in mine:
        _check(platform, tree, each, wish)
    parts = [propose_declaration(platform, tree, wish, mine)]
    parts += [
        owner_edits.propose_resting(platform, tree, each, is_resting=wish.seat is Seat.KEPT)
        for each in mine
        if Seat.KEPT in (wish.seat, move_analysis.seat_of(each))  # who rests for another reason goes on resting
    ]
    bare = [each for each in mine if not each.halves[1]]
    if bare and wish.seat is not Seat.KEPT:
        brought = new_files.propose_engine_files(platform, tree, bare, merge=merge, home=wish.home)
        if brought.by_hand:
            return brought  # what Git does not have stays in bootstrap
        parts.append(brought)
    if wish.seat is Seat.GITOPS:
        parts += [propose_bootstrap_files(tree, each) for each in mine]
    return MoveProposal(
        edits=tuple({repr(edit): edit for part in parts for edit in part.edits}.values()),
        by_hand=tuple(dict.fromkeys(each for part in parts for each in part.by_hand)),
        notes=tuple(dict.fromkeys(each for part in parts for each in part.notes)),
        eased=tuple(dict.fromkeys(each for part in parts for each in part.eased)),
    )


def moved_components(platform: Platform, wish: MoveRequest) -> tuple[Component, ...]:
    """The component that is meant, in each cluster that is meant.

    Raises:
        errors.UsageError: There is none.
    """
    found = [each for each in platform.components if each.name == wish.component]
    mine = tuple(each for each in found if not wish.cluster or each.cluster == wish.cluster)
    if mine:
        return mine
    if found:
        names = ", ".join(each.cluster for each in found)
        raise errors.UsageError(f"{wish.component} is not in {wish.cluster}", hint=f"It is in {names}.")
    known = sorted({each.name for each in platform.components})
    raise errors.UsageError(
        f"there is no component {wish.component}",
        hint=mistakes.near(wish.component, known) or "All of them: firstlight inventory",
    )


def _check(platform: Platform, tree: WorkTree, component: Component, wish: MoveRequest) -> None:
    """See that it can be where it is wished.

    Raises:
        errors.Refused: It cannot.
    """
    children = [each.name for each in platform.components_of(component.cluster) if each.parent == component.name]
    if wish.seat is not Seat.GITOPS and children:
        raise errors.Refused(
            f"{component.name} brings {_some(children)}: it says what the engine has, and is no part of bootstrap",
            hint=f"Move what it brings: firstlight move {children[0]} --to bootstrap",
        )
    engine = [each for each in component.origins if each.side == Side.GITOPS]
    if Seat.KEPT in (wish.seat, move_analysis.seat_of(component)):
        owner_edits.check_application(tree, component, is_kept=wish.seat is Seat.KEPT)
    if wish.seat is not Seat.KEPT:
        return
    for each in engine:
        if each.form == SourceForm.HELM_RELEASE:
            check_kept_release(component, each, wish)
    if not engine:
        raise errors.Refused(
            f"bootstrap has {component.name} alone already, and nothing in Git brings it",
            hint="firstlight inventory --component shows where it is said.",
        )


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


# The entry of a component in firstlight.yaml: written, changed, or taken out.


_OF_BOOTSTRAP = ("phase", "owner", "why", "hooks", "needs")
"""What an entry says for bootstrap's sake."""
_ALONE = frozenset((*_OF_BOOTSTRAP, "from", "clusters"))
"""An entry that has no more than these says nothing once the component is GitOps' alone."""
_PHASES = ("inline", "crds", "core", "engine")


def propose_declaration(
    platform: Platform, tree: WorkTree, wish: MoveRequest, components: Sequence[Component]
) -> MoveProposal:
    """What firstlight.yaml must say.

    Args:
        platform: What the repo says.
        tree: Its files.
        wish: Where the component is to be.
        components: It, in each cluster that is meant.
    """
    entry = _entry(tree, wish.component)
    if platform.declared is None:
        is_told = wish.seat is Seat.GITOPS or any(_has_own(each) for each in components)
        return MoveProposal() if is_told and wish.seat is not Seat.KEPT else _without_file(wish)
    rest = {each.cluster for each in platform.components if each.name == wish.component} - {
        each.cluster for each in components
    }
    if rest and entry is not None and _clusters(entry) != {each.cluster for each in components}:
        return _for_some(wish, entry)
    if wish.seat is Seat.GITOPS:
        return _taken_out(wish, entry) if entry is not None else MoveProposal()
    if not re.fullmatch(declaration_form.NAME, wish.component):
        text = f"Give it a name of its own: components, NAME, from: with its directory, phase: {wish.phase}."
        return MoveProposal(by_hand=(Instruction(place=Place(declaration_form.FILE), text=text),))
    only = sorted(each.cluster for each in components) if rest else []
    return _put(wish, entry, components, only=only)


def _entry(tree: WorkTree, name: str) -> Mapping[str, Any] | None:
    documents = tree.documents(declaration_form.FILE) if tree.is_file(declaration_form.FILE) else ()
    found = mapping(documents[0].value, "components").get(name) if documents else None
    return found if isinstance(found, Mapping) else None


def _has_own(component: Component) -> bool:
    """Whether something else than firstlight.yaml has it in bootstrap."""
    return any(each.side == Side.BOOTSTRAP and each.form != SourceForm.DECLARED for each in component.origins)


def _clusters(entry: Mapping[str, Any]) -> set[str]:
    return {str(each) for each in entry.get("clusters") or ()}


def _without_file(wish: MoveRequest) -> MoveProposal:
    words = ", ".join(f"{name}: {value}" for name, value in _said(wish).items())
    text = f"Let it be written by firstlight init, then add below components:\n  {wish.component}: {{{words}}}"
    return MoveProposal(by_hand=(Instruction(place=Place(declaration_form.FILE), text=text),))


def _for_some(wish: MoveRequest, entry: Mapping[str, Any]) -> MoveProposal:
    there = ", ".join(sorted(_clusters(entry))) or "all clusters"
    text = (
        f"components, {wish.component} is for {there}, and only {wish.cluster} is meant: "
        "write clusters: with those for which the entry stays, or leave --cluster out."
    )
    return MoveProposal(by_hand=(Instruction(place=Place(declaration_form.FILE), text=text),))


def _said(wish: MoveRequest) -> dict[str, Any]:
    owner = {"owner": "bootstrap"} if wish.seat is Seat.KEPT else {}
    return {"phase": str(wish.phase), **owner, **({"why": wish.why} if wish.why else {})}


def _put(
    wish: MoveRequest, entry: Mapping[str, Any] | None, components: Sequence[Component], *, only: Sequence[str]
) -> MoveProposal:
    steps = ("components", wish.component)
    if entry is None:
        said = _said(wish)
        if all(_has_own(each) for each in components):
            del said["phase"]  # what runs it in bootstrap says when
        if only:
            said["clusters"] = list(only)
        return MoveProposal(edits=(_set(steps, said),) if said else ())
    edits = []
    if entry.get("phase") not in _PHASES and not all(_has_own(each) for each in components):
        edits.append(_set((*steps, "phase"), str(wish.phase)))
    if wish.seat is Seat.KEPT and entry.get("owner") != "bootstrap":
        edits.append(_set((*steps, "owner"), "bootstrap"))
    elif wish.seat is Seat.HANDED_OVER and entry.get("owner") == "bootstrap":
        edits.append(_remove((*steps, "owner")))
    if wish.why and entry.get("why") != wish.why:
        edits.append(_set((*steps, "why"), wish.why))
    return MoveProposal(edits=tuple(edits))


def _taken_out(wish: MoveRequest, entry: Mapping[str, Any]) -> MoveProposal:
    steps = ("components", wish.component)
    lost = [name for name in ("hooks",) if entry.get(name)]
    notes = tuple(f"{name} of {wish.component} are taken out: they run in bootstrap alone" for name in lost)
    if set(entry) <= _ALONE:
        return MoveProposal(edits=(_remove(steps),), notes=notes)
    edits = tuple(_remove((*steps, name)) for name in _OF_BOOTSTRAP if name in entry)
    return MoveProposal(edits=edits, notes=notes)


def _set(steps: tuple[str | int, ...], value: Any) -> FileEdit:
    return FileEdit(path=declaration_form.FILE, verb=EditVerb.SET, steps=steps, value=value)


def _remove(steps: tuple[str | int, ...]) -> FileEdit:
    return FileEdit(path=declaration_form.FILE, verb=EditVerb.REMOVE, steps=steps)
