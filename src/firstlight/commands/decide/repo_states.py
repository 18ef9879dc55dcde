"""The repo before and after what was asked about, and the files that differ; nothing of the user's is touched.

Each state is the work tree with other bytes where it differs from that, so that what is the same is read once.
"""

import dataclasses
import difflib
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, assert_never

from firstlight import errors
from firstlight.clients.git import Git, GitNotFound, GitRejected, NotARepository, work_tree_states
from firstlight.commands.decide import team_rules
from firstlight.commands.decide.change_source import (
    ChangeSource,
    NamedFiles,
    PatchFile,
    RevisionRange,
    StagedChanges,
    WorkTreeChanges,
)
from firstlight.commands.decide.disk_files import DiskFiles
from firstlight.commands.decide.team_rules import RuleAuthority
from firstlight.model.git import FileChange, FileContent, Head, TreeEntry
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.work_tree import WorkTree

OWN = ".firstlight/"
"""What firstlight keeps in a repo itself, and hardly anybody commits."""
_NAMES = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class RepoStates:
    """Two states of a repo."""

    root: Path
    before: WorkTree
    after: WorkTree
    paths: tuple[str, ...]
    """Files that differ, of either."""
    title: str
    modes: Mapping[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    """Files that became executable or are no longer, with what Git had and has them for."""
    whole: tuple[str, ...] = ()
    """Files that do not differ, and count as if all in them did."""
    is_checked_out: bool = False
    """Whether what comes after is what is on the disk."""
    is_staged: bool = False
    """Whether what comes after is what the next commit would have."""
    is_stored: bool = False
    """Whether what comes after is in Git, and no filter will change it on its way there."""
    base: str = ""
    """The commit that is compared with; empty where there is none."""
    head: str = ""
    """The commit that comes after; empty where it is none yet."""
    merges: Literal["none", "head", "some"] = "none"
    """Whether merges are among the commits; ``head`` where all of it came by one, onto the base."""
    topic: str = ""
    """The branch that the change is on, where that is known."""
    authorities: tuple[RuleAuthority, ...] = ()
    """By whose rules it is judged, and whose owners approve it."""
    doubts: tuple[str, ...] = ()

    @property
    def is_committed(self) -> bool:
        """Whether the change is in commits."""
        return bool(self.head)

    @property
    def revert(self) -> str:
        """What ``git revert`` takes it back with; empty where it cannot, since it does not go through merges."""
        if not self.head or not self.base or self.merges == "some":
            return ""
        return f"-m 1 {self.head[:12]}" if self.merges == "head" else f"{self.base[:12]}..{self.head[:12]}"

    @property
    def since(self) -> str:
        """The revision before the change."""
        return self.base[:12]


async def read(root: Path, asked: ChangeSource, *, git: Path | None) -> RepoStates:
    """Both states.

    Args:
        root: The repo, or a directory in it that is one for itself.
        asked: What was asked about.
        git: The program.

    Raises:
        errors.UsageError: There is no such revision, file or repository, or a patch does not fit.
    """
    tree = WorkTree(root)
    if git is None:
        raise errors.ToolError("to compare two states of a repo needs git", hint="install git")
    try:
        repo = await _Repo.open(tree, Git(git))
    except NotARepository as error:
        if isinstance(asked, NamedFiles):
            return _without_git(tree, asked)
        hint = "Name files: firstlight decide --files FILES; or say it in words: firstlight decide add node labels"
        raise errors.UsageError(f"{tree.root} is no Git repository, so there is no change to see", hint=hint) from error
    try:
        return await _read(repo, asked)
    except GitNotFound as error:
        raise errors.UsageError(error.detail, hint=error.hint or "See git branch --all and git log.") from error
    except GitRejected as error:
        raise errors.UsageError(error.detail, hint=error.hint) from error


async def authority(root: Path, revision: str, *, git: Git) -> RuleAuthority:
    """The rules and owners of a commit.

    Raises:
        git_errors.GitError: It cannot be read.
    """
    repo = await _Repo.open(WorkTree(root), git)
    return await team_rules.authority_at(repo.git, repo.tree, repo.prefix, revision)


async def _read(repo: "_Repo", asked: ChangeSource) -> RepoStates:
    match asked:
        case RevisionRange():
            return await _between(repo, asked) if asked.head else await _work_tree(repo, asked)
        case StagedChanges():
            return await _staged(repo, asked.title)
        case PatchFile():
            return await _patched(repo, asked)
        case NamedFiles():
            return await _files(repo, asked)
        case WorkTreeChanges():
            if await repo.git.staged(repo.root):
                return await _staged(repo, "staged changes")
            return await _work_tree(repo, RevisionRange(base="HEAD"))
        case _:
            assert_never(asked)


@dataclasses.dataclass(frozen=True)
class _Repo:
    """A work tree with what Git says of it."""

    git: Git
    tree: WorkTree
    head: Head
    prefix: str
    """Where the repo that is meant lies in the work tree of Git; empty, or with a slash at its end."""

    @classmethod
    async def open(cls, tree: WorkTree, git: Git) -> "_Repo":
        head = await git.head(tree.root)
        if head.work_tree is None:
            raise errors.UsageError(f"{tree.root} has no work tree", hint="Clone it: git clone PATH, and decide there.")
        top = head.work_tree.resolve()
        prefix = tree.root.relative_to(top).as_posix() if tree.root.is_relative_to(top) else "."
        return cls(git, tree, head, "" if prefix == "." else f"{prefix}/")

    @property
    def root(self) -> Path:
        return self.tree.root

    def inside(self, changes: Iterable[FileChange]) -> dict[str, None]:
        """The files of changes that lie in the repo that is meant, both names of those that were renamed.

        Whatever is committed counts, wherever it stands: an engine may apply it.
        """
        own = f"{self.prefix}{OWN}"
        mine = [each for each in changes if each.status != "untracked" or not each.path.startswith(own)]
        names = [name for each in mine for name in (each.path, each.old_path) if name]
        return dict.fromkeys(name.removeprefix(self.prefix) for name in names if name.startswith(self.prefix))

    def modes(self, changes: Iterable[FileChange]) -> dict[str, tuple[str, str]]:
        """The files of changes that became executable, or are no longer."""
        mine = [
            each for each in changes if set(each.modes) == {"100644", "100755"} and each.path.startswith(self.prefix)
        ]
        return {each.path.removeprefix(self.prefix): each.modes for each in mine}

    async def at(self, revision: str, *, also: Collection[str] = ()) -> tuple[WorkTree, list[str]]:
        """The repo as a commit has it, byte by byte; the work tree itself where that is the same.

        And what could not be had.

        Args:
            revision: The commit.
            also: Files that differ, whatever they are called.
        """
        entries: Sequence[TreeEntry] = ()
        if revision != "HEAD" or self.head.commit:
            entries = await self.git.ls_tree(self.root, revision, under=self.prefix[:-1])
        known = self._mine(entries)
        paths = [*self._differing(known, also)]
        if not paths:
            return self.tree, []
        wanted = [f"{self.prefix}{each}" for each in paths if each in known]
        found = await self.git.contents(self.root, revision, wanted) if wanted else {}
        return self.laid(self.tree, found, paths)

    async def judges(self, base: str) -> tuple[tuple[RuleAuthority, ...], list[str]]:
        """By whose word a change from a base is judged, and what is to be told of them."""
        if base == "HEAD" and not self.head.commit:
            return (await team_rules.authority_at(self.git, self.tree, self.prefix, "", name=base),), []
        found, told = await team_rules.authorities_of(self.git, self.tree, self.prefix, base)
        return tuple(found), told

    async def indexed(self, *, also: Collection[str] = ()) -> tuple[WorkTree, list[str]]:
        """The repo as the index has it, in the same way."""
        known = self._mine(await self.git.index(self.root, under=self.prefix[:-1]))
        return await self._staged([*self._differing(known, also)])

    async def checked_out(self) -> tuple[WorkTree, list[str]]:
        """The repo as it is on the disk; files that nobody has touched since the checkout as the index has them.

        Those may look different on the disk, by a filter or an encoding, and would be committed as they were.
        """
        known = self._mine(await self.git.index(self.root, under=self.prefix[:-1]))
        touched = self.inside(await self.git.unstaged(self.root))
        other = [path for path in self._differing(known, ()) if path in known and path not in touched]
        return await self._staged(other)

    def laid(
        self, tree: WorkTree, known: Mapping[str, FileContent], paths: Iterable[str]
    ) -> tuple[WorkTree, list[str]]:
        """A tree with the contents of some files over it, and what could not be had."""
        mine = {path.removeprefix(self.prefix): each for path, each in known.items()}
        plain, links = work_tree_states.overlay(mine, paths)
        large = [path for path, each in mine.items() if each.data is None and each.kind in ("file", "executable")]
        return OverlaidTree(tree, plain, links=links), [f"{each} was not read, since it is too large" for each in large]

    async def _staged(self, paths: Sequence[str]) -> tuple[WorkTree, list[str]]:
        if not paths:
            return self.tree, []
        found = await self.git.staged_contents(self.root, [f"{self.prefix}{each}" for each in paths])
        return self.laid(self.tree, found, paths)

    def _mine(self, entries: Iterable[TreeEntry]) -> dict[str, TreeEntry]:
        return {each.path.removeprefix(self.prefix): each for each in entries if each.path.startswith(self.prefix)}

    def _differing(self, known: Mapping[str, TreeEntry], also: Collection[str]) -> Iterator[str]:
        for path in self._disk.differing(known, also=also):
            if path in known or not path.startswith(OWN):
                yield path

    @functools.cached_property
    def _disk(self) -> DiskFiles:
        return DiskFiles(self.tree)


async def _between(repo: _Repo, asked: RevisionRange) -> RepoStates:
    git, root = repo.git, repo.root
    await _check_meant(repo, asked.base)
    await _check_meant(repo, asked.head)
    head = await git.resolve(root, asked.head)
    base = await (git.merge_base(root, asked.base, head) if asked.since_fork else git.resolve(root, asked.base))
    changes = await git.changed_files(root, base, head, since_fork=False)
    paths = repo.inside(changes)
    (before, lost), (after, more) = await repo.at(base, also=paths), await repo.at(head, also=paths)
    judges, told = await repo.judges(asked.base)
    return RepoStates(
        root=root, before=before, after=after, paths=tuple(paths), title=asked.title, authorities=judges,
        is_checked_out=after is repo.tree, base=base, head=head, topic=_topic(repo, asked.head),
        is_stored=True, modes=repo.modes(changes), merges=await _merges(repo, base, head),
        doubts=(*lost, *more, *_outside(repo, changes), *told),
    )  # fmt: skip


async def _check_meant(repo: _Repo, revision: str) -> None:
    """See that a name means one commit, and not another one to whoever reads it than to Git.

    Raises:
        errors.UsageError: A branch and a tag of that name are different commits, say.
    """
    found = await repo.git.meanings(repo.root, revision)
    if len(set(found.values())) > 1:
        raise errors.UsageError(
            f"{revision} can mean {' or '.join(found)}, which are different commits",
            hint=f"Write out which one is meant, such as {list(found)[-1]}.",
        )


async def _merges(repo: _Repo, base: str, head: str) -> Literal["none", "head", "some"]:
    if not await repo.git.has_merges(repo.root, base, head):
        return "none"
    (newest,) = await repo.git.log(repo.root, base, head, limit=1)
    return "head" if len(newest.parents) > 1 and newest.parents[0] == base else "some"


async def _work_tree(repo: _Repo, asked: RevisionRange) -> RepoStates:
    await _check_meant(repo, asked.base)
    changes = await repo.git.changed_since(repo.root, asked.base)
    paths = repo.inside(changes)
    (before, lost), (after, more) = await repo.at(asked.base, also=paths), await repo.checked_out()
    base = await repo.git.resolve(repo.root, asked.base) if asked.base != "HEAD" else repo.head.commit
    judges, told = await repo.judges(asked.base)
    return RepoStates(
        root=repo.root, before=before, after=after, paths=tuple(paths), title=asked.title, authorities=judges,
        is_checked_out=after is repo.tree, base=base, topic=repo.head.branch, modes=repo.modes(changes),
        doubts=(*lost, *more, *_outside(repo, changes), *told),
    )  # fmt: skip


async def _staged(repo: _Repo, title: str) -> RepoStates:
    changes = await repo.git.staged(repo.root)
    paths = repo.inside(changes)
    (before, lost), (after, more) = await repo.at("HEAD", also=paths), await repo.indexed(also=paths)
    doubts = [*lost, *more, *_outside(repo, changes)]
    unmerged = sorted({each.path for each in changes if each.status == "unmerged"})
    doubts += [f"{_some(unmerged)} not merged yet: what a commit would have is not known"] if unmerged else []
    left = [*repo.inside(await repo.git.unstaged(repo.root))]
    doubts += [f"{_some(left)} changed and not staged, and not looked at"] if left else []
    judges, told = await repo.judges("HEAD")
    return RepoStates(
        root=repo.root, before=before, after=after, paths=tuple(paths), title=title, base=repo.head.commit,
        is_staged=True, authorities=judges, topic=repo.head.branch, modes=repo.modes(changes), is_stored=True,
        doubts=(*doubts, *told),
    )  # fmt: skip


async def _patched(repo: _Repo, asked: PatchFile) -> RepoStates:
    patched = await repo.git.patched(repo.root, asked.content) if asked.content.strip() else None
    changes = patched.changes if patched is not None else ()
    paths = repo.inside(changes)
    before, lost = await repo.at("HEAD", also=paths)
    after, more = repo.laid(before, patched.files, paths) if patched is not None else (before, [])
    judges, told = await repo.judges("HEAD")
    return RepoStates(
        root=repo.root, before=before, after=after, paths=tuple(paths), title=asked.title, authorities=judges,
        base=repo.head.commit, modes=repo.modes(changes), is_stored=True,
        doubts=(*lost, *more, *_outside(repo, changes), *told),
    )  # fmt: skip


async def _files(repo: _Repo, asked: NamedFiles) -> RepoStates:
    changes = await repo.git.changed_since(repo.root, "HEAD")
    differing = repo.inside(changes)
    (before, lost), (after, more) = await repo.at("HEAD"), await repo.checked_out()
    named = _named(asked.paths, [*after.files, *after.links, *differing])
    whole = tuple(each for each in named if each not in differing)
    paths = tuple(each for each in named if each in differing)
    modes = {path: each for path, each in repo.modes(changes).items() if path in paths}
    judges, told = await repo.judges("HEAD")
    return RepoStates(
        root=repo.root, before=before, after=after, paths=paths, modes=modes, title=_title(named, whole), whole=whole,
        authorities=judges, is_checked_out=after is repo.tree, base=repo.head.commit, topic=repo.head.branch,
        doubts=(*lost, *more, *told),
    )  # fmt: skip


def _without_git(tree: WorkTree, asked: NamedFiles) -> RepoStates:
    """Files of a directory of which nobody knows what they were."""
    named = _named(asked.paths, [*tree.files, *tree.links])
    return RepoStates(
        root=tree.root, before=tree, after=tree, paths=(), title=_title(named, named), whole=named, is_checked_out=True,
        authorities=(RuleAuthority(name="", tree=tree),),
    )  # fmt: skip


def _named(paths: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The files that are meant; a directory means all that is in it.

    Raises:
        errors.UsageError: There is no such file.
    """
    found: dict[str, None] = {}
    for path in paths:
        mine = [each for each in known if each == path or path == "." or each.startswith(f"{path}/")]
        if not mine:
            near = difflib.get_close_matches(path, known, n=3)
            hint = f"There is {', '.join(near)}." if near else "Does Git ignore it? Paths count from the repo's top."
            raise errors.UsageError(f"the repo has no file {path}, and had none in the last commit", hint=hint)
        found |= dict.fromkeys(mine)
    return tuple(found)


def _title(named: Sequence[str], whole: Sequence[str]) -> str:
    said = "1 file" if len(named) == 1 else f"{len(named)} files"
    if not whole:
        return f"{said} of the work tree against HEAD"
    if len(whole) == len(named):
        return f"{said}, as if all in {'it' if len(named) == 1 else 'them'} changed"
    return f"{said} of the work tree against HEAD, {len(whole)} of them as if all in them changed"


def _topic(repo: _Repo, head: str) -> str:
    """The branch of a change, where its end is one."""
    return repo.head.branch if head == "HEAD" else head


def _outside(repo: _Repo, changes: Sequence[FileChange]) -> list[str]:
    others = [each.path for each in changes if not each.path.startswith(repo.prefix)]
    return [f"{_some(others)} outside of {repo.prefix[:-1]}, and not looked at"] if others else []


def _some(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMES} more" if len(paths) > _NAMES else ""
    return f"{', '.join(paths[:_NAMES])}{more} {'is' if len(paths) == 1 else 'are'}"
