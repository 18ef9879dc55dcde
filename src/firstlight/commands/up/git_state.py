"""Whether Git has, at the place that the engine follows, the very commit that bootstrap renders.

If it has not, bootstrap installs one thing and the engine another: that is refused before anything is written.
"""

import dataclasses
import posixpath
from collections.abc import Iterator
from pathlib import Path

from firstlight import errors
from firstlight.clients.git import Git, GitError, GitNotFound, NotARepository
from firstlight.execute.means import Means
from firstlight.model.cluster import Cluster
from firstlight.model.diagnostic import Diagnostic, Evidence
from firstlight.model.git import Head
from firstlight.model.platform import Platform
from firstlight.model.secret import OwnSsh

OWN = ".firstlight/"
"""What firstlight keeps in a repo itself."""
_FOR_ALL = ("schema.json", ".gitignore")
"""What of it may be committed."""
_MANY = 3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GitState:
    """Where the work tree stands, against the branch that the engine follows."""

    commit: str = ""
    """HEAD; empty where there is none, or where the engine does not follow Git."""
    branch: str = ""
    """The local one; empty if HEAD is detached."""
    url: str = ""
    follows: str = ""
    """The branch that the engine follows."""
    remote: str = ""
    """The commit of that branch; empty where it is not known."""
    dirty: tuple[str, ...] = ()
    """Files that differ from the commit, which bootstrap reads and the engine does not get."""
    unwatched: tuple[str, ...] = ()
    """Those of them that Git was told not to look at: nobody knows whether they differ."""
    kept: tuple[str, ...] = ()
    """Files of the commit where only firstlight writes: somebody else's word on what a cluster is."""
    unpushed: int = 0
    """Commits that the remote does not have; at least so many where the two have diverged."""
    is_behind: bool = False
    """The remote has commits that are not here."""
    unreachable: str = ""
    """Why the remote could not be asked."""
    is_repository: bool = True

    @property
    def is_diverged(self) -> bool:
        """Whether both have commits that the other has not."""
        return bool(self.unpushed) and self.is_behind

    @property
    def is_pushed(self) -> bool:
        """Whether the engine will see what is rendered."""
        return bool(self.commit) and self.commit == self.remote

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """What stands in the way of a run."""
        return tuple(_problems(self))


async def check_git(
    root: Path, cluster: Cluster, git: Path, *, schemes: tuple[str, ...] = ("https", "ssh", "http")
) -> GitState:
    """Compare the work tree with the branch that the engine follows. Nothing is changed.

    Args:
        root: The repo.
        cluster: Which repository and branch its engine follows.
        git: The program.
        schemes: Which remotes may be asked.
    """
    program = Git(git, schemes=schemes)
    try:
        head = await program.head(root)
        changes = [each.path for each in await program.status(root)]
        unwatched = await program.unwatched(root)
    except NotARepository:
        return GitState(is_repository=False, url=cluster.url, follows=cluster.branch)
    dirty = tuple(sorted(each for each in {*changes, *unwatched} if not _is_own(each, root, head)))
    url = cluster.url or head.remote_url
    kept = await _kept(root, program, head) if head.commit else ()
    found = GitState(
        commit=head.commit, branch=head.branch, url=url, follows=cluster.branch, dirty=dirty, kept=kept,
        unwatched=tuple(each for each in dirty if each in unwatched),
    )  # fmt: skip
    if url.startswith("oci://"):
        # Artifacts have digests, not commits: which one it is, only their publisher knows.
        return dataclasses.replace(found, commit="")
    if not head.commit or not url or cluster.engine is None:
        return found
    try:
        return await _compared(found, root, program)
    except (GitError, errors.UsageError) as error:
        return dataclasses.replace(found, unreachable=str(error))


async def _compared(state: GitState, root: Path, git: Git) -> GitState:
    credentials = OwnSsh() if _is_ssh(state.url) else None
    refs = await git.ls_remote(state.url, credentials=credentials)
    follows = state.follows or refs.head or "main"
    tip = refs.branch(follows) or refs.tag(follows)
    state = dataclasses.replace(state, follows=follows, remote=tip)
    if not tip or tip == state.commit:
        return state
    if await git.is_pushed(root, state.commit, state.url, follows, credentials=credentials):
        return dataclasses.replace(state, is_behind=True)
    try:
        missing = await git.log(root, tip, state.commit)
        is_behind = not await git.is_ancestor(root, tip, state.commit)
    except GitNotFound:
        # The tip itself is not here: how many commits both have for themselves, nobody can count.
        return dataclasses.replace(state, unpushed=1, is_behind=True)
    return dataclasses.replace(state, unpushed=len(missing), is_behind=is_behind)


async def _kept(root: Path, git: Git, head: Head) -> tuple[str, ...]:
    """What the commit has in firstlight's own directory, or in its place."""
    own = posixpath.normpath(posixpath.join(_below(root, head), OWN))
    entries = await git.ls_tree(root, head.commit, under=own)
    return tuple(each.path for each in entries if each.path not in {f"{own}/{name}" for name in _FOR_ALL})


def _is_ssh(url: str) -> bool:
    return url.startswith("ssh://") or ("://" not in url and "@" in url)


def _is_own(path: str, root: Path, head: Head) -> bool:
    """Whether a file is firstlight's own, or lies beside the repo that is meant."""
    below = _below(root, head)
    if below == ".":
        return path.startswith(OWN)
    return not path.startswith(f"{below}/") or path.startswith(f"{below}/{OWN}")


def _below(root: Path, head: Head) -> str:
    """Where the repo that is meant lies in the work tree."""
    top, path = (head.work_tree or root).resolve(), root.resolve()
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else "."


def _problems(state: GitState) -> Iterator[Diagnostic]:
    if state.kept:
        yield Diagnostic.error(
            "state-committed",
            f"Git has what only firstlight writes: {', '.join(state.kept[:_MANY])}",
            fix=f"It is for this computer alone. Take it out: git rm -r --cached {OWN}, and commit.",
        )
    if not state.is_repository or not state.commit:
        if not state.url.startswith("oci://"):
            yield Diagnostic.warning(
                "commit-unknown",
                "what is rendered is in no commit, so that nobody can tell whether the engine follows it",
                fix="Commit it: git add, git commit, git push.",
            )
        return
    if state.dirty:
        yield _uncommitted(state)
    if state.unreachable:
        yield Diagnostic.warning(
            "remote-unknown",
            f"whether {state.commit[:12]} is pushed is not known: {state.unreachable}",
            evidence=(Evidence("could not be asked", where=state.url),),
            fix=f"See whether git ls-remote {state.url} works; the engine waits until the commit is there.",
        )
    elif state.remote and not state.is_pushed:
        yield _elsewhere(state)
    elif state.url and state.follows and not state.remote:
        yield Diagnostic.error(
            "branch-missing",
            f"the engine follows {state.follows}, which {state.url} does not have",
            fix=f"Push it: git push {state.url} HEAD:{state.follows}; or name another one as gitops.branch.",
        )


def _uncommitted(state: GitState) -> Diagnostic:
    more = f" and {len(state.dirty) - _MANY} more" if len(state.dirty) > _MANY else ""
    named = ", ".join(state.dirty[:_MANY])
    is_one = len(state.dirty) == 1
    number, taken = ("1 file is", "it as it is") if is_one else (f"{len(state.dirty)} files are", "them as they are")
    way_out = f"Commit and push, or put {'it' if is_one else 'them'} away with git stash."
    if state.unwatched:
        way_out += (
            f" Git was told not to look at {state.unwatched[0]}: git update-index --no-assume-unchanged "
            "--no-skip-worktree FILE, or git sparse-checkout disable."
        )
    return Diagnostic.warning(
        "uncommitted",
        f"{number} not as in the commit: bootstrap takes {taken}, the engine does not",
        evidence=(Evidence(f"{named}{more}", where="work tree"),),
        fix=way_out,
    )


def _elsewhere(state: GitState) -> Diagnostic:
    """HEAD is not what the engine will fetch."""
    count = "1 commit is" if state.unpushed == 1 else f"{state.unpushed} commits are"
    if state.is_diverged:
        rule, message = "branch-diverged", f"{state.follows} and HEAD have diverged: each has commits of its own"
        way_out = f"Bring them together: git pull --rebase, then git push {state.url} HEAD:{state.follows}."
    elif state.unpushed:
        rule, message = "commit-not-pushed", f"{count} not pushed: the engine would undo what bootstrap installs"
        way_out = f"git push {state.url} HEAD:{state.follows}"
    else:
        rule, message = "branch-behind", f"{state.follows} has commits that are not here: the engine is ahead"
        way_out = "git pull"
    chain = (
        Evidence(f"is {state.commit[:12]}{f' on {state.branch}' if state.branch else ''}", where="HEAD"),
        Evidence(f"has {state.remote[:12]} as {state.follows}", where=state.url),
    )
    return Diagnostic.error(rule, message, evidence=chain, fix=way_out)


# Whether the engine will find in Git what bootstrap renders here.


async def rendered_commit(platform: Platform, cluster: Cluster, means: Means) -> tuple[str, list[Diagnostic]]:
    """The commit that is rendered, and what is wrong with it; a rehearsal has its own."""
    if means.revision or means.git is None:
        return means.revision, []
    found = await check_git(platform.root, cluster, means.git)
    return found.commit, [*found.problems]
