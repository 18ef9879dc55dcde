"""What was asked, decided: the repo before and after, what differs in files and once rendered, what rules say."""

import dataclasses
import functools
import posixpath
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from firstlight import errors
from firstlight.cli import which_cluster
from firstlight.clients.git import Git
from firstlight.commands.decide import (
    equivalence,
    git_state,
    hook_files,
    judgement,
    procedures,
    repo_states,
    team_rules,
)
from firstlight.commands.decide.change_source import ChangeSource, DecisionFacts
from firstlight.commands.decide.file_components import belonging, receiving, taken_in
from firstlight.commands.decide.repo_states import RepoStates
from firstlight.commands.decide.rule_book import RuleBook
from firstlight.commands.decide.team_rules import RuleAuthority
from firstlight.document import within
from firstlight.model.change import Change, ChangeVerb
from firstlight.model.decision import Decision, Risk
from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.render import rendered_diff
from firstlight.render.rendered_diff import Opener, PlatformRevision, RenderedDiff
from firstlight.repo import platform_reader
from firstlight.repo.changes import compared_pieces, repo_changes
from firstlight.repo.kustomize import kustomization_file
from firstlight.repo.overlaid_tree import OverlaidTree


class Judge(Protocol):
    """Says what rules say of one change."""

    def __call__(self, *, book: RuleBook) -> Decision:
        """The decision by these rules."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Decided:
    """The answer, with all that it was made from."""

    decision: Decision
    states: RepoStates
    before: PlatformRevision
    after: PlatformRevision
    rendered: RenderedDiff = dataclasses.field(default_factory=RenderedDiff)
    judge: Judge | None = None
    """Judges the same change by other rules; None where nothing differs."""


_SOPS = ".sops.yaml"
"""Where sops is told with which keys it encrypts."""
Taken = Mapping[str, Sequence[str]]
FactsLookup = Callable[[Platform], Awaitable[DecisionFacts | None]]


async def decide(
    root: Path,
    asked: ChangeSource,
    *,
    git: Path | None,
    rules: Sequence[Path] = (),
    open_renderer: Opener | None = None,
    look: FactsLookup | None = None,
    cluster: str = "",
    say: Callable[[str], None] = lambda text: None,
) -> Decided:
    """Decide upon a change.

    Args:
        root: The repo.
        asked: The change.
        git: The program.
        rules: Files and directories with rules beside those of the repo.
        open_renderer: How components are rendered; without it they are not.
        look: Looks at the cluster.
        cluster: Its name, as it was given: also where nothing differs there must be one of it.
        say: Told what is being done.

    Raises:
        errors.UsageError: There is no such revision, file, cluster or repo.
        errors.ConfigError: Rules are wrong.
    """
    say("reading what differs")
    found = await repo_states.read(root, asked, git=git)
    books, doubts = _books(found, rules)
    if not found.paths and not found.whole:
        if cluster:
            which_cluster.cluster_of(platform_reader.read_tree(found.after), cluster)
        return _nothing(found)
    say("reading the repo")
    with platform_reader.rare_garbage_collection():
        before, after = _halves(found)
        doubts += [*_misdeclared(before.shape, after.platform), *what_breaks(before.shape, after.platform)]
    changes = hook_files.marked(_changes(found, before, after), found, (before.shape, after.platform))
    taken = taken_in(found.after, found.before, found.paths)
    rendered = RenderedDiff()
    if open_renderer is not None and changes:
        say("rendering what is touched")
        touched = _touched(changes, before.shape, after.platform, taken)
        rendered = await rendered_diff.rendered(before, after, touched, open_renderer=open_renderer)
        changes = equivalence.differing(changes, rendered, (before.shape, after.platform), taken=taken)
    facts = None
    if look is not None:
        say("looking at the cluster")
        facts = await look(after.platform)
    say("judging")
    everything = [*changes, *_supposed(found, before, after), *placed(rendered.changes, changes)]
    known = await git_state.known_facts(facts or DecisionFacts(), asked, found, changes=changes, git=git, rules=rules)
    known = dataclasses.replace(known, besides=_kustomizations(found))
    judge = functools.partial(_judged, everything, before, after, found=found, facts=known, taken=taken)
    decision = max((judge(book=each) for each in books), key=lambda one: one.risk)
    said = dict.fromkeys([*decision.doubts, *found.doubts, *doubts, *rendered.doubts])
    steps = (*procedures.first_steps(decision.items, sops=_sops(found)), *decision.procedure)
    decision = dataclasses.replace(decision, title=found.title, doubts=tuple(said), procedure=steps)
    return Decided(decision=decision, states=found, before=before, after=after, rendered=rendered, judge=judge)


async def judged_at(decided: Decided, revision: str, *, git: Git) -> tuple[Decision, RuleAuthority]:
    """What the rules of another commit say of a change that was decided, and who may approve it there.

    Args:
        decided: The change.
        revision: The commit, such as the branch into which it is about to be merged.
        git: The program.

    Raises:
        errors.ConfigError: Its rules are wrong.
    """
    authority = await repo_states.authority(decided.states.root, revision, git=git)
    if decided.judge is None:
        return decided.decision, authority
    return decided.judge(book=team_rules.book(authority.tree)), authority


def _kustomizations(found: RepoStates) -> tuple[str, ...]:
    """Those that differ: also one that builds the same as before may name a file that was moved."""
    return tuple(each for each in found.paths if posixpath.basename(each) in kustomization_file.NAMES)


def _sops(found: RepoStates) -> list[str]:
    """Expressions for the files that sops has keys for."""
    documents = found.after.documents(_SOPS) if found.after.is_file(_SOPS) else ()
    return [
        within.text(rule, "path_regex") for each in documents for rule in within.sequence(each.value, "creation_rules")
    ]


def _halves(found: RepoStates) -> tuple[PlatformRevision, PlatformRevision]:
    """Both platforms; that of the base is only read where it may be another one."""
    after = PlatformRevision(tree=found.after, is_checked_out=found.is_checked_out)
    known = outline = None
    if equivalence.is_same(found.before, found.after, found.paths):
        known = after.platform
    elif equivalence.is_alike(found.before, found.after, found.paths):
        outline = after.platform
    return PlatformRevision(tree=found.before, is_checked_out=False, known=known, outline=outline), after


def _nothing(found: RepoStates) -> Decided:
    """The answer where nothing differs, for which nothing more need be read."""
    empty = Platform(name=found.root.name, root=found.root, engine=None, clusters=(), components=())
    half = PlatformRevision(tree=found.after, is_checked_out=True, known=empty)
    decision = Decision(side=None, risk=Risk.LOW, items=(), title=found.title, doubts=found.doubts)
    return Decided(decision=decision, states=found, before=half, after=half)


def _judged(
    changes: Sequence[Change],
    before: PlatformRevision,
    after: PlatformRevision,
    *,
    book: RuleBook,
    found: RepoStates,
    facts: DecisionFacts,
    taken: Taken,
) -> Decision:
    if not changes:
        return Decision(side=None, risk=Risk.LOW, items=())
    return judgement.decide(
        changes,
        platform=after.platform,
        before=before.shape,
        book=book,
        title=found.title,
        facts=facts,
        taken=taken,
    )


def _books(found: RepoStates, rules: Sequence[Path]) -> tuple[list[RuleBook], list[str]]:
    """The rules of everybody whose word counts; where some are wrong and the change is about them, without them."""
    books, doubts = list[RuleBook](), list[str]()
    for each in found.authorities:
        try:
            books.append(team_rules.book(each.tree, rules))
        except errors.ConfigError as error:
            books.append(team_rules.book(None, rules))  # what is wrong in these is no mistake of the repo's
            if not any(path.startswith(f"{team_rules.DIRECTORY}/") for path in found.paths):
                raise
            doubts.append(f"the team's rules were wrong before this change, and were not used: {error.message}")
    return books, doubts


def _misdeclared(*both: Platform) -> list[str]:
    return ["firstlight.yaml is wrong and was not used"] if any(each.is_misdeclared for each in both) else []


_BROKEN = 3
"""Errors that a change causes which are named before the rest is counted."""


def what_breaks(before: Platform, after: Platform) -> Iterator[str]:
    """Yield what cannot be read any more, such as values that bootstrap takes from a file that is gone."""
    known = {(each.code, each.place.path, each.message) for each in before.diagnostics}
    new = [
        each
        for each in after.diagnostics
        if each.severity is Severity.ERROR and (each.code, each.place.path, each.message) not in known
    ]
    yield from (f"it breaks {each.place}: {each.message}" for each in new[:_BROKEN])
    if len(new) > _BROKEN:
        yield f"it breaks {len(new) - _BROKEN} more places: firstlight inventory"


def _changes(found: RepoStates, before: PlatformRevision, after: PlatformRevision) -> list[Change]:
    both = (before.shape, after.platform)
    return list(
        repo_changes.changes(
            found.before, found.after, found.paths, platforms=both, modes=found.modes, is_stored=found.is_stored
        )
    )


def _supposed(found: RepoStates, before: PlatformRevision, after: PlatformRevision) -> list[Change]:
    """What is in files that have not changed, with each of its fields changed."""
    if not found.whole:
        return []
    nothing = OverlaidTree(found.after, dict.fromkeys(found.whole))
    new = repo_changes.changes(nothing, found.after, found.whole, platforms=(before.shape, after.platform))
    only = dataclasses.replace(found, paths=(), modes={})
    return hook_files.marked([_as_if_all_changed(each) for each in new], only, (before.shape, after.platform))


def _as_if_all_changed(change: Change) -> Change:
    """The same, changed in place: that it comes or goes is not what was asked, and its name stays."""
    fields = [each for each in change.fields if change.object is None or not compared_pieces.is_name(each.steps)]
    made = tuple(dataclasses.replace(each, verb=ChangeVerb.CHANGED) for each in fields or change.fields)
    return dataclasses.replace(change, verb=ChangeVerb.CHANGED, fields=made, before=change.after)


def _touched(changes: Iterable[Change], before: Platform, after: Platform, taken: Taken) -> set[rendered_diff.Name]:
    """The components that are rendered: those that a file belongs to, as it was or as it is, or that get its values."""
    found: set[rendered_diff.Name] = set()
    for platform in [after] if before is after else [before, after]:
        known = belonging(platform, taken=taken)
        for change in changes:
            for path in {change.place.path, change.old_path} - {""}:
                found |= {(each.cluster, each.name) for each in known.of(path, change.object)}
            if change.object is not None:
                found |= {(each.cluster, each.name) for each in receiving(platform, change.object)}
    return found


# Where what is rendered stands: in the file that declares it, if that differs too.


def placed(rendered: Iterable[Change], changes: Iterable[Change]) -> tuple[Change, ...]:
    """What is rendered, each at the file in which it changes; else where the component is that brings it.

    A root brings what declares other components: without this, a new application would stand where the engine is.

    Args:
        rendered: What changes in the cluster.
        changes: What changes in files.
    """
    places: dict[tuple[str, str, str], dict[str, Place]] = {}
    for each in changes:
        if (found := each.object) is not None:
            places.setdefault((found.group, found.kind, found.name), {})[found.namespace] = each.place
    return tuple(_at(each, places) for each in rendered)


def _at(change: Change, places: dict[tuple[str, str, str], dict[str, Place]]) -> Change:
    found = change.object
    if found is None:
        return change
    known = places.get((found.group, found.kind, found.name), {})
    # A kustomization may give it its namespace.
    place = known.get(found.namespace) or known.get("")
    return dataclasses.replace(change, place=place) if place is not None else change
