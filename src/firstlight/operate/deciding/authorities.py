"""By whose word a change is judged: the rules and owners at the tip of its base, not those at the fork.

Where the base is a branch, and its remote's branch has others, both count, and the stricter answer is taken: a clone
that nobody has pulled must not make a change milder, and neither must a remote that is behind.
"""

import dataclasses
from collections.abc import Iterator, Mapping

from firstlight import errors
from firstlight.clients.git import Git, states
from firstlight.clients.git import errors as git_errors
from firstlight.policy import team_files
from firstlight.repo.overlaid import OverlaidTree
from firstlight.repo.work_tree import WorkTree


@dataclasses.dataclass(frozen=True, kw_only=True)
class Authority:
    """A state of the repo whose rules judge a change, and whose owners approve it."""

    name: str
    """What people call it: ``main``, ``origin/main``."""
    tree: WorkTree
    """Of it nothing but the team's rules and owners may be read."""


async def of(git: Git, tree: WorkTree, prefix: str, base: str, *, name: str = "") -> tuple[list[Authority], list[str]]:
    """Those whose word counts, the base first, and what is to be told of them.

    Args:
        git: The program.
        tree: The repo.
        prefix: Where it lies in the work tree of Git; empty, or with a slash at its end.
        base: What the change is compared with, as it was asked.
        name: What people call that.
    """
    found = [await at(git, tree, prefix, base, name=name)]
    remote = await git.upstream(tree.root, base)
    if not remote:
        return found, []
    tracked = remote.removeprefix("refs/remotes/")
    try:
        other = await at(git, tree, prefix, remote, name=tracked)
    except git_errors.GitError as error:
        return found, [
            f"the rules of {tracked} cannot be read, so those of {found[0].name} alone count: {error.detail}"
        ]
    if _content(other.tree) == _content(found[0].tree):
        return found, []
    says = f"{found[0].name} and {tracked} differ in {team_files.DIRECTORY}: the stricter of both counts"
    return [*found, other], [f"{says}; git pull brings them together"]


async def at(git: Git, tree: WorkTree, prefix: str, revision: str, *, name: str = "") -> Authority:
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
    plain, links = states.overlay(mine, dict.fromkeys([*_own(tree), *mine]))
    return Authority(name=name or revision, tree=OverlaidTree(tree, plain, links=links))


def _own(tree: WorkTree) -> Iterator[str]:
    """What a tree has of the team's rules."""
    for path in (*tree.files, *tree.links):
        if path == team_files.DIRECTORY or path.startswith(f"{team_files.DIRECTORY}/"):
            yield path


def _content(tree: WorkTree) -> Mapping[str, bytes | str | None]:
    return {path: tree.links.get(path) or tree.bytes(path) for path in _own(tree)}
