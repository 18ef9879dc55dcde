"""Changes to what a declared hook or command gate runs: as dangerous as a change to the hook itself."""

import dataclasses
import functools
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from firstlight.commands.decide.repo_states import RepoStates
from firstlight.model import repo_command
from firstlight.model.change import Change, ChangedField, ChangeVerb, Matter
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.repo.changes import repo_changes
from firstlight.repo.work_tree import WorkTree

_UNDERSTOOD = {
    Matter.OBJECT, Matter.MACHINE, Matter.VALUES, Matter.KUSTOMIZE, Matter.CHART, Matter.PLATFORM, Matter.POLICY,
    Matter.SECRET,
}  # fmt: skip
"""What rules judge by its content: that a hook applies a directory of objects makes none of them a script."""
_APART = re.compile(r"[\s'\"`|&;<>(){}=,]+")


def marked(changes: Sequence[Change], found: RepoStates, platforms: Iterable[Platform]) -> list[Change]:
    """Changes, those of such files marked, and those that nobody would call one otherwise: a comment, a mode.

    Args:
        changes: What differs.
        found: Both states.
        platforms: What was there, and what is: a hook of either counts.
    """
    named, read = _files(found, platforms)
    if not read:
        return list(changes)
    made = [_marked(each, named, read) for each in changes]
    known = {path for each in changes for path in (each.place.path, each.old_path)}
    return [*made, *(_unseen(path, found.modes) for path in found.paths if path in named and path not in known)]


def _files(found: RepoStates, platforms: Iterable[Platform]) -> tuple[set[str], set[str]]:
    """The files that commands name themselves, and all that they reach, in either state."""
    commands = {each.words for one in platforms for each in repo_command.wanted(one.components) if each.words}
    named, read = set[str](), set[str]()
    for tree in (found.before, found.after) if commands else ():
        # A script that is gone counts where it was, and one that comes where it will be.
        paths = [*tree.files, *found.paths]
        for words in commands:
            reached = repo_command.command_files(words, paths, text=functools.partial(_text, tree), links=tree.links)
            read.update(reached)
            named.update(_named(words, reached, tree.links))
    return named, read


def _named(words: Sequence[str], reached: Iterable[str], links: Mapping[str, str]) -> Iterator[str]:
    said = {posixpath.normpath(part) for word in words for part in _APART.split(word) if part}
    for path in reached:
        if path in said:
            yield path
            target = links.get(path)
            if target:
                yield target


def _text(tree: WorkTree, path: str) -> str | None:
    return tree.text(path) if tree.is_file(path) else None


def _marked(change: Change, named: set[str], read: set[str]) -> Change:
    paths = {change.place.path, change.old_path}
    is_run = bool(paths & named) or (change.matter not in _UNDERSTOOD and bool(paths & read))
    if not is_run:
        return change
    return dataclasses.replace(
        change, is_hooked=True, apart=tuple(dataclasses.replace(each, is_hooked=True) for each in change.apart)
    )


def _unseen(path: str, modes: Mapping[str, tuple[str, str]]) -> Change:
    """A difference that is none to readers: to an interpreter everything may be one."""
    if path in modes:
        return dataclasses.replace(repo_changes.mode_changed(path, Matter.SCRIPT, modes[path]), is_hooked=True)
    place = Place(path)
    whole = ChangedField(steps=(), verb=ChangeVerb.CHANGED, place=place)
    return Change(
        matter=Matter.SCRIPT, verb=ChangeVerb.CHANGED, place=place, title=posixpath.basename(path), fields=(whole,),
        is_hooked=True,
    )  # fmt: skip
