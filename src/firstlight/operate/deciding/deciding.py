"""What was asked, decided: the repo before and after, what differs in files and once rendered, what rules say."""

import dataclasses
import functools
import posixpath
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from firstlight import errors
from firstlight.clients.git import Git
from firstlight.document import within
from firstlight.model.change import Change, Verb
from firstlight.model.decision import Decision, Risk
from firstlight.model.platform import Platform
from firstlight.operate.deciding import (
    built_same,
    hook_files,
    placing,
    renditions,
    same_structure,
    standing,
    states,
    team_rules,
)
from firstlight.operate.deciding.asked import Asked
from firstlight.operate.deciding.authorities import Authority
from firstlight.operate.deciding.receiving import receiving
from firstlight.operate.deciding.renditions import Half, Opener, Rendered
from firstlight.operate.deciding.states import States
from firstlight.operate.deciding.taken_in import taken_in
from firstlight.policy.checking import first_things
from firstlight.policy.deciding import judging
from firstlight.policy.deciding.belonging import belonging
from firstlight.policy.deciding.book import Book
from firstlight.policy.deciding.facts import Facts
from firstlight.repo import collecting
from firstlight.repo import platform as platforms
from firstlight.repo.changing import piece, reading
from firstlight.repo.kustomize import kustomization
from firstlight.repo.overlaid import OverlaidTree


class Judge(Protocol):
    """Says what rules say of one change."""

    def __call__(self, *, book: Book) -> Decision:
        """The decision by these rules."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Decided:
    """The answer, with all that it was made from."""

    decision: Decision
    states: States
    before: Half
    after: Half
    rendered: Rendered = dataclasses.field(default_factory=Rendered)
    judge: Judge | None = None
    """Judges the same change by other rules; None where nothing differs."""


_SOPS = ".sops.yaml"
"""Where sops is told with which keys it encrypts."""
Taken = Mapping[str, Sequence[str]]
Look = Callable[[Platform], Awaitable[Facts | None]]


async def decide(
    root: Path,
    asked: Asked,
    *,
    git: Path | None,
    rules: Sequence[Path] = (),
    open_renderer: Opener | None = None,
    look: Look | None = None,
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
    found = await states.read(root, asked, git=git)
    books, doubts = _books(found, rules)
    if not found.paths and not found.whole:
        if cluster:
            from firstlight.operate import up  # which brings a lot along

            up.cluster_of(platforms.read_tree(found.after), cluster)
        return _nothing(found)
    say("reading the repo")
    with collecting.seldom():
        before, after = _halves(found)
        doubts += _misdeclared(before.shape, after.platform)
    changes = hook_files.marked(_changes(found, before, after), found, (before.shape, after.platform))
    taken = taken_in(found.after, found.before, found.paths)
    rendered = Rendered()
    if open_renderer is not None and changes:
        say("rendering what is touched")
        touched = _touched(changes, before.shape, after.platform, taken)
        rendered = await renditions.rendered(before, after, touched, open_renderer=open_renderer)
        changes = built_same.differing(changes, rendered, (before.shape, after.platform), taken=taken)
    facts = None
    if look is not None:
        say("looking at the cluster")
        facts = await look(after.platform)
    say("judging")
    everything = [*changes, *_supposed(found, before, after), *placing.placed(rendered.changes, changes)]
    known = await standing.known(facts or Facts(), asked, found, changes=changes, git=git, rules=rules)
    known = dataclasses.replace(known, besides=_kustomizations(found))
    judge = functools.partial(_judged, everything, before, after, found=found, facts=known, taken=taken)
    decision = max((judge(book=each) for each in books), key=lambda one: one.risk)
    said = dict.fromkeys([*decision.doubts, *found.doubts, *doubts, *rendered.doubts])
    steps = (*first_things.steps(decision.items, sops=_sops(found)), *decision.procedure)
    decision = dataclasses.replace(decision, title=found.title, doubts=tuple(said), procedure=steps)
    return Decided(decision=decision, states=found, before=before, after=after, rendered=rendered, judge=judge)


async def judged_at(decided: Decided, revision: str, *, git: Git) -> tuple[Decision, Authority]:
    """What the rules of another commit say of a change that was decided, and who may approve it there.

    Args:
        decided: The change.
        revision: The commit, such as the branch into which it is about to be merged.
        git: The program.

    Raises:
        errors.ConfigError: Its rules are wrong.
    """
    authority = await states.authority(decided.states.root, revision, git=git)
    if decided.judge is None:
        return decided.decision, authority
    return decided.judge(book=team_rules.book(authority.tree)), authority


def _kustomizations(found: States) -> tuple[str, ...]:
    """Those that differ: also one that builds the same as before may name a file that was moved."""
    return tuple(each for each in found.paths if posixpath.basename(each) in kustomization.NAMES)


def _sops(found: States) -> list[str]:
    """Expressions for the files that sops has keys for."""
    documents = found.after.documents(_SOPS) if found.after.is_file(_SOPS) else ()
    return [
        within.text(rule, "path_regex") for each in documents for rule in within.sequence(each.value, "creation_rules")
    ]


def _halves(found: States) -> tuple[Half, Half]:
    """Both platforms; that of the base is only read where it may be another one."""
    after = Half(tree=found.after, is_checked_out=found.is_checked_out)
    known = outline = None
    if same_structure.is_same(found.before, found.after, found.paths):
        known = after.platform
    elif same_structure.is_alike(found.before, found.after, found.paths):
        outline = after.platform
    return Half(tree=found.before, is_checked_out=False, known=known, outline=outline), after


def _nothing(found: States) -> Decided:
    """The answer where nothing differs, for which nothing more need be read."""
    empty = Platform(name=found.root.name, root=found.root, engine=None, clusters=(), components=())
    half = Half(tree=found.after, is_checked_out=True, known=empty)
    decision = Decision(side=None, risk=Risk.LOW, items=(), title=found.title, doubts=found.doubts)
    return Decided(decision=decision, states=found, before=half, after=half)


def _judged(
    changes: Sequence[Change],
    before: Half,
    after: Half,
    *,
    book: Book,
    found: States,
    facts: Facts,
    taken: Taken,
) -> Decision:
    if not changes:
        return Decision(side=None, risk=Risk.LOW, items=())
    return judging.decide(
        changes,
        platform=after.platform,
        before=before.shape,
        book=book,
        title=found.title,
        facts=facts,
        taken=taken,
    )


def _books(found: States, rules: Sequence[Path]) -> tuple[list[Book], list[str]]:
    """The rules of everybody whose word counts; where some are wrong and the change is about them, without them."""
    books, doubts = list[Book](), list[str]()
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


def _changes(found: States, before: Half, after: Half) -> list[Change]:
    both = (before.shape, after.platform)
    return list(
        reading.changes(
            found.before, found.after, found.paths, platforms=both, modes=found.modes, is_stored=found.is_stored
        )
    )


def _supposed(found: States, before: Half, after: Half) -> list[Change]:
    """What is in files that have not changed, with each of its fields changed."""
    if not found.whole:
        return []
    nothing = OverlaidTree(found.after, dict.fromkeys(found.whole))
    new = reading.changes(nothing, found.after, found.whole, platforms=(before.shape, after.platform))
    only = dataclasses.replace(found, paths=(), modes={})
    return hook_files.marked([_as_if_all_changed(each) for each in new], only, (before.shape, after.platform))


def _as_if_all_changed(change: Change) -> Change:
    """The same, changed in place: that it comes or goes is not what was asked, and its name stays."""
    fields = [each for each in change.fields if change.object is None or not piece.is_name(each.steps)]
    made = tuple(dataclasses.replace(each, verb=Verb.CHANGED) for each in fields or change.fields)
    return dataclasses.replace(change, verb=Verb.CHANGED, fields=made, before=change.after)


def _touched(changes: Iterable[Change], before: Platform, after: Platform, taken: Taken) -> set[renditions.Name]:
    """The components that are rendered: those that a file belongs to, as it was or as it is, or that get its values."""
    found: set[renditions.Name] = set()
    for platform in [after] if before is after else [before, after]:
        known = belonging(platform, taken=taken)
        for change in changes:
            for path in {change.place.path, change.old_path} - {""}:
                found |= {(each.cluster, each.name) for each in known.of(path, change.object)}
            if change.object is not None:
                found |= {(each.cluster, each.name) for each in receiving(platform, change.object)}
    return found
