"""By whose word a change is judged: the rules and owners at the tip of its base, not those at the fork.

Where the base is a branch, and its remote's branch has others, both count, and the stricter answer is taken: a clone
that nobody has pulled must not make a change milder, and neither must a remote that is behind.
"""

import dataclasses
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients.git import Git, git_errors, work_tree_states
from firstlight.commands.decide import owners_file, rule_files, rule_tests
from firstlight.commands.decide.rule_book import RuleBook
from firstlight.commands.decide.rule_card import RuleTest
from firstlight.repo import team_files
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.work_tree import YAML, WorkTree


@dataclasses.dataclass(frozen=True, kw_only=True)
class RuleAuthority:
    """A state of the repo whose rules judge a change, and whose owners approve it."""

    name: str
    """What people call it: ``main``, ``origin/main``."""
    tree: WorkTree
    """Of it nothing but the team's rules and owners may be read."""


async def authorities_of(
    git: Git, tree: WorkTree, prefix: str, base: str, *, name: str = ""
) -> tuple[list[RuleAuthority], list[str]]:
    """Those whose word counts, the base first, and what is to be told of them.

    Args:
        git: The program.
        tree: The repo.
        prefix: Where it lies in the work tree of Git; empty, or with a slash at its end.
        base: What the change is compared with, as it was asked.
        name: What people call that.
    """
    found = [await authority_at(git, tree, prefix, base, name=name)]
    remote = await git.upstream(tree.root, base)
    if not remote:
        return found, []
    tracked = remote.removeprefix("refs/remotes/")
    try:
        other = await authority_at(git, tree, prefix, remote, name=tracked)
    except git_errors.GitError as error:
        return found, [
            f"the rules of {tracked} cannot be read, so those of {found[0].name} alone count: {error.detail}"
        ]
    if _content(other.tree) == _content(found[0].tree):
        return found, []
    says = f"{found[0].name} and {tracked} differ in {team_files.DIRECTORY}: the stricter of both counts"
    return [*found, other], [f"{says}; git pull brings them together"]


async def authority_at(git: Git, tree: WorkTree, prefix: str, revision: str, *, name: str = "") -> RuleAuthority:
    """The rules and owners of one commit.

    Args:
        git: The program.
        tree: The repo.
        prefix: Where it lies in the work tree of Git.
        revision: The commit; empty for one without any files.
        name: What people call it.
    """
    home = f"{prefix}{team_files.DIRECTORY}"
    entries = await git.ls_tree(tree.root, revision, under=home) if revision else ()
    contents = await git.contents(tree.root, revision, [each.path for each in entries]) if entries else {}
    mine = {path.removeprefix(prefix): each for path, each in contents.items()}
    if large := [path for path, each in mine.items() if each.data is None and each.kind != "submodule"]:
        raise errors.ConfigError("it is too large to be read as rules", path=large[0])
    plain, links = work_tree_states.overlay(mine, dict.fromkeys([*_own(tree), *mine]))
    return RuleAuthority(name=name or revision, tree=OverlaidTree(tree, plain, links=links))


def _own(tree: WorkTree) -> Iterator[str]:
    """What a tree has of the team's rules."""
    for path in (*tree.files, *tree.links):
        if path == team_files.DIRECTORY or path.startswith(f"{team_files.DIRECTORY}/"):
            yield path


def _content(tree: WorkTree) -> Mapping[str, bytes | str | None]:
    return {path: tree.links.get(path) or tree.bytes(path) for path in _own(tree)}


# A team's own rules and their tests: those of the repo, and those that are named besides.


DIRECTORY = team_files.DIRECTORY
TESTS = (".test.yaml", ".test.yml")
_UNREAD = f"{DIRECTORY}/owners.yml"

File = tuple[str, bytes]


def book(tree: WorkTree | None, more: Sequence[Path] = ()) -> RuleBook:
    """Our rules, and before them a team's.

    Args:
        tree: The repo as it was before the change, which must not judge itself.
        more: Files and directories with rules besides.

    Raises:
        errors.ConfigError: A file says something that it must not say.
    """
    if tree is not None and tree.is_file(_UNREAD):
        hint = f"Give it that name: git mv {_UNREAD} {owners_file.FILE}"
        raise errors.ConfigError(f"who may approve is read from {owners_file.FILE} alone", path=_UNREAD, hint=hint)
    if tree is not None:
        team_files.check_links(tree)
    found = [*(_of_tree(tree) if tree is not None else ()), *given(more)]
    return rule_files.book([each for each in found if _is_rules(each[0])])


def cases(tree: WorkTree, more: Sequence[Path]) -> list[File]:
    """The files with tests of rules."""
    return [each for each in [*_of_tree(tree), *given(more)] if each[0].endswith(TESTS)]


def tested(tree: WorkTree, more: Sequence[Path]) -> tuple[RuleTest, ...]:
    """A team's tests of its rules, run.

    Raises:
        errors.ConfigError: A file says something that it must not say.
    """
    done = rule_tests.run(rule_tests.cases(cases(tree, more)), book(tree, more))
    return tuple(RuleTest(name=each.case.name, place=str(each.place), wrong=each.wrong) for each in done)


def given(paths: Sequence[Path]) -> list[File]:
    """The YAML files that are named, or are in directories that are named.

    Raises:
        errors.UsageError: One cannot be read.
    """
    found = []
    for path in paths:
        inner = sorted(each for each in path.iterdir() if each.name.endswith(YAML)) if path.is_dir() else [path]
        for each in inner:
            try:
                found.append((str(each), each.read_bytes()))
            except OSError as error:
                raise errors.UsageError(f"{each} cannot be read: {error.strerror or error}") from error
    return found


def _of_tree(tree: WorkTree) -> Iterator[File]:
    for name in tree.listing(DIRECTORY):
        path = f"{DIRECTORY}/{name}"
        content = tree.bytes(path) if name.endswith(YAML) else None
        if content is not None:
            yield path, content


def _is_rules(path: str) -> bool:
    """Whether a file has rules: those that say who may approve, or when a drill was, have none."""
    others = {posixpath.basename(each) for each in team_files.WITHOUT_RULES}
    return not path.endswith(TESTS) and posixpath.basename(path) not in others
