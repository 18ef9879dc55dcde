"""How a change came into a branch: what is compared to know it again after a merge, a squash or a rebase."""

from collections.abc import Sequence
from pathlib import Path

from firstlight.clients.git import git_arguments
from firstlight.clients.git.git_program import READ, GitSession
from firstlight.clients.git.history import PLAIN_DIFF
from firstlight.clients.git.remotes import GitRemotes


class GitLanding(GitRemotes):
    """What tells whether a branch has a change, whatever its commits are called there."""

    async def first_parents(
        self, path: Path, base: str, head: str, *, limit: int = 1000, timeout: float = READ
    ) -> tuple[str, ...]:
        """What a branch was, commit by commit, since a base: the oldest first, without what merges brought along."""
        async with self._at(path) as session:
            revisions = [await self._resolve(session, head), f"^{await self._resolve(session, base)}"]
            arguments = ["rev-list", "--first-parent", f"--max-count={limit}", *revisions, "--"]
            found = (await self._run(session, arguments, timeout=timeout)).text.split()
        return tuple(reversed(found))

    async def since(self, path: Path, base: str, head: str, *, timeout: float = READ) -> frozenset[str]:
        """The commits of a branch that have a commit in their past, and that one itself."""
        async with self._at(path) as session:
            first = await self._resolve(session, base)
            tip = await self._resolve(session, head)
            done = await self._run(session, ["rev-list", "--ancestry-path", tip, f"^{first}", "--"], timeout=timeout)
        return frozenset([first, *done.text.split()])

    async def patch_id(self, path: Path, base: str, head: str, *, timeout: float = READ) -> str:
        """What two commits differ in as one word, wherever in its files it stands; empty where it is nothing."""
        async with self._at(path) as session:
            older, newer = await self._resolve(session, base), await self._resolve(session, head)
            # As text, whatever attributes call it: of two binary files Git says only that they differ.
            options = ["--patch", "--text", "--full-index", "--no-renames", *PLAIN_DIFF]
            patch = await self._run(session, ["diff", *options, older, newer, "--"], timeout=timeout)
            if not patch.stdout:
                return ""
            done = await self._run(session, ["patch-id", "--stable"], stdin=patch.stdout, timeout=timeout)
        return done.text.partition(" ")[0]

    async def file_ids(self, path: Path, revision: str, files: Sequence[str]) -> dict[str, str]:
        """What files hold in a commit, each as one word with its mode; those that it does not have are left out.

        Args:
            path: The repository.
            revision: The commit.
            files: From the top of the repository.
        """
        async with self._at(path) as session:
            return await self._ids(session, await self._resolve(session, revision), files)

    async def _ids(self, session: GitSession, commit: str, files: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        wanted = [git_arguments.path(each) for each in files]
        for start in range(0, len(wanted), 500):
            arguments = ["ls-tree", "-z", "--full-tree", commit, "--", *wanted[start : start + 500]]
            for line in (await self._run(session, arguments)).text.split("\0"):
                entry, _, name = line.partition("\t")
                if name:
                    found[name] = entry
        return found
