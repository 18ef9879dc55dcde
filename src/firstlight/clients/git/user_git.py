"""git in the user's own clone as the user has it: with hooks, identity, signing, remotes and logins.

``Git`` obeys nothing of a repository, which is right for a stranger's. What is done here the user would else type: the
team's hooks look at the commit, it has the user's name, and remotes are reached as the user reaches them. No editor,
no pager and no question at the terminal, since there is nobody who would see it.
"""

import contextlib
import dataclasses
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import command as clients_command
from firstlight.clients import scratch
from firstlight.clients.git import git_arguments, git_errors, repository
from firstlight.clients.git.git_program import TRANSFER
from firstlight.clients.program_io import ProgramAnswer
from firstlight.clients.sandbox import program_limits
from firstlight.model import remote_url

_HOOKS = 600.0
"""Seconds for a commit: hooks may run a team's checks."""
_OTHERS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE")
"""What would make git work elsewhere, as it is set where a hook calls."""
_SET = {
    "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": ":", "GIT_SEQUENCE_EDITOR": ":", "GIT_PAGER": "cat",
    "GIT_LITERAL_PATHSPECS": "1", "GIT_MERGE_AUTOEDIT": "no",
}  # fmt: skip


class MergeConflict(git_errors.GitError):
    """Two changes of the same lines cannot be brought together by a program."""

    def __init__(self, command: str, *, files: Sequence[str], target: str) -> None:
        named = ", ".join(files[:5]) or "files"
        super().__init__(command, detail=f"it conflicts in {named}", target=target)
        self.files = tuple(files)


@dataclasses.dataclass(frozen=True)
class UserRemote:
    """A remote as the clone calls it."""

    name: str
    url: str
    """As it is declared, without credentials."""


class UserGit:
    """git at a path, in the user's own clones."""

    def __init__(self, program: Path, *, environ: Mapping[str, str] = os.environ) -> None:
        """Prepare to run it.

        Args:
            program: Where it is.
            environ: The user's environment.
        """
        self._program = program.absolute()
        self._environ = {name: value for name, value in environ.items() if name not in _OTHERS}

    async def remotes(self, root: Path) -> tuple[UserRemote, ...]:
        """The clone's remotes."""
        done = await self._run(root, ["config", "--get-regexp", r"^remote\..*\.url$"], check=False)
        pairs = (line.partition(" ") for line in done.text.splitlines())
        return tuple(
            UserRemote(key.removeprefix("remote.").removesuffix(".url"), remote_url.without_credentials(url))
            for key, _, url in pairs
        )

    async def who(self, root: Path) -> str:
        """Whom a commit would be by: ``Ada <ada@example.org>``.

        Raises:
            git_errors.GitError: Nobody has told Git.
        """
        done = await self._run(root, ["var", "GIT_AUTHOR_IDENT"])
        return done.text.rpartition(">")[0] + ">"

    async def switch(self, root: Path, branch: str) -> None:
        """Go on on a new branch from here; what is not committed comes along."""
        await self._run(root, ["switch", "--quiet", "--no-track", "--create", git_arguments.branch(branch)])

    async def put_branch(self, root: Path, branch: str, commit: str) -> None:
        """Make a branch of a commit, which is not checked out."""
        await self._run(root, ["branch", "--no-track", git_arguments.branch(branch), commit])

    async def commit(self, root: Path, message: str, *, files: Sequence[str] | None) -> str:
        """Commit files as they are in the work tree and nothing else; what is staged where none are given.

        Args:
            root: The work tree, or a directory in it.
            message: The whole message.
            files: Relative to ``root``; None for what is staged.

        Raises:
            git_errors.Rejected: A hook has said no.
        """
        if files is not None:
            for portion in _portions([each for each in files if os.path.lexists(root / each)]):
                # What Git does not know yet is made known, and its content is committed below like all others.
                await self._run(root, ["add", "--intent-to-add", "--", *portion])
        only = [] if files is None else ["--only", "--pathspec-from-file=-", "--pathspec-file-nul"]
        with scratch.directory("commit") as home:
            text = Path(home) / "message"
            text.write_text(message)
            arguments = ["commit", "--quiet", "--cleanup=strip", f"--file={text}", *only]
            stdin = "\0".join(files or ()).encode()
            done = await self._run(root, arguments, stdin=stdin, timeout=_HOOKS, check=False)
        if done.code != 0:
            raise git_errors.GitRejected(
                "commit", detail=git_errors.brief(done.stderr or done.text), target=str(root), stderr=done.stderr,
                hint="Usually a hook has said no: its own words are above, or come with git commit",
            )  # fmt: skip
        return await self.tip(root)

    async def tip(self, root: Path, revision: str = "HEAD") -> str:
        """The commit that a revision names."""
        done = await self._run(
            root, ["rev-parse", "--verify", "--quiet", f"{git_arguments.revision(revision)}^{{commit}}"]
        )
        return done.text.strip()

    async def fetch(self, root: Path, remote: str, branch: str) -> str:
        """Fetch a remote's branch, and give its commit; empty where the remote has no such branch."""
        kept = f"refs/remotes/{git_arguments.branch(remote)}/{git_arguments.branch(branch)}"
        arguments = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--", remote]
        try:
            await self._run(root, [*arguments, f"+refs/heads/{branch}:{kept}"], timeout=TRANSFER)
        except git_errors.GitNotFound:
            return ""
        return await self.tip(root, kept)

    async def push(self, root: Path, remote: str, branch: str, *, commit: str) -> None:
        """Make a commit the tip of a remote's branch, as far as nothing there is lost by it.

        Raises:
            git_errors.Rejected: The branch has other commits, or the remote has rules against it.
        """
        arguments = ["push", "--porcelain", "--no-follow-tags", "--", git_arguments.branch(remote)]
        done = await self._run(
            root, [*arguments, f"{commit}:refs/heads/{git_arguments.branch(branch)}"], timeout=TRANSFER, check=False
        )
        if done.code == 0:
            return
        refused = next((line for line in done.text.splitlines() if line.startswith("!")), "")
        if refused:
            detail = f"{refused.rpartition(chr(9))[2]} {git_errors.brief(done.stderr)}"
            raise git_errors.GitRejected("push", detail=detail, target=remote, stderr=done.stderr)
        raise git_errors.from_output("push", done.stderr, target=remote)

    @contextlib.asynccontextmanager
    async def beside(self, root: Path, revision: str) -> AsyncIterator[Path]:
        """A second work tree at a commit, on no branch, gone afterwards; the user's own is not touched."""
        await self._run(root, ["worktree", "prune"])
        with scratch.directory("tree") as home:
            tree = Path(home) / "tree"
            await self._run(root, ["worktree", "add", "--quiet", "--detach", str(tree), revision])
            try:
                yield tree
            finally:
                await self._run(root, ["worktree", "remove", "--force", str(tree)], check=False)

    async def merge(self, tree: Path, commit: str, message: str) -> str:
        """Merge a commit into what is checked out, and give the merge.

        Raises:
            Conflict: It cannot be merged by a program.
        """
        arguments = ["merge", "--quiet", "--no-ff", "--no-edit", "-m", message, commit]
        done = await self._run(tree, arguments, timeout=_HOOKS, check=False)
        if done.code != 0:
            raise await self._unmerged(tree, "merge", done)
        return await self.tip(tree)

    async def undo(self, tree: Path, message: str, *, base: str, commit: str) -> str:
        """Take back all that a commit has and its base has not, whatever came since; empty where that is done.

        Args:
            tree: A work tree at the branch in which it is taken back.
            message: The whole message.
            base: What was before.
            commit: What came of it.

        Raises:
            Conflict: Something has changed the same lines since.
        """
        back = await self._run(tree, ["commit-tree", f"{base}^{{tree}}", "-p", commit, "-m", "back"])
        done = await self._run(tree, ["cherry-pick", "--no-commit", back.text.strip()], check=False)
        if done.code != 0:
            raise await self._unmerged(tree, "revert", done)
        if (await self._run(tree, ["diff", "--cached", "--quiet", "HEAD"], check=False)).code == 0:
            return ""
        return await self.commit(tree, message, files=None)

    async def take(self, tree: Path, commit: str, files: Sequence[str]) -> None:
        """Put files into a work tree and its index as a commit has them; those that it has not are taken away.

        Args:
            tree: Its top.
            commit: Where they come from.
            files: From the top.
        """
        done = await self._run(tree, ["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", *files])
        there = set(done.text.split("\0"))
        if kept := [each for each in files if each in there]:
            await self._run(tree, ["checkout", "--quiet", commit, "--", *kept])
        if gone := [each for each in files if each not in there]:
            await self._run(tree, ["rm", "--quiet", "--force", "--ignore-unmatch", "--", *gone])

    async def _unmerged(self, tree: Path, name: str, done: ProgramAnswer) -> git_errors.GitError:
        listed = await self._run(tree, ["diff", "--name-only", "-z", "--diff-filter=U"], check=False)
        files = [each for each in listed.text.split("\0") if each]
        if files:
            return MergeConflict(name, files=files, target=str(tree))
        return git_errors.from_output(name, done.stderr or done.text, target=str(tree))

    async def _run(
        self, root: Path, arguments: Sequence[str], *, stdin: bytes = b"", timeout: float = 60.0, check: bool = True
    ) -> ProgramAnswer:
        environment = {**self._environ, **_SET}
        with contextlib.suppress(git_errors.NotARepository):
            _refuse_strange(root)
        try:
            done = await clients_command.run(
                [str(self._program), *arguments], timeout=timeout, env=environment, cwd=root, stdin=stdin, check=False,
                dies_with_parent=True, within=program_limits.FREE,
            )  # fmt: skip
        except errors.TimedOut as error:
            raise git_errors.GitTimedOut(arguments[0], detail=str(error), target=str(root)) from error
        except errors.Unreachable as error:
            raise errors.ToolError(str(error), hint="install git") from error
        stderr = remote_url.without_credentials(done.stderr)
        if check and done.code != 0:
            raise git_errors.from_output(arguments[0], stderr, target=str(root))
        return ProgramAnswer(done.code, done.stdout, stderr)


def _refuse_strange(root: Path) -> None:
    """Refuse a work tree whose ``.git`` leads to a repository that knows nothing of it: its hooks would run."""
    try:
        repository.locate(root)
    except git_errors.GitPointsElsewhere as error:
        raise errors.Refused(error.message, hint=error.hint) from error


def _portions(items: Sequence[str]) -> list[Sequence[str]]:
    return [items[start : start + 500] for start in range(0, len(items), 500)]
