"""Other repositories: asked, cloned, fetched from, pushed to; and whether their branches have got a change of ours."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import path_safety
from firstlight.clients.git import git_arguments, git_errors, git_output, git_program, trees
from firstlight.clients.git.git_program import READ, REMOTE, TRANSFER, GitSession, parsed, receiver
from firstlight.clients.git.history import PLAIN_DIFF
from firstlight.clients.git.work_tree_states import GitCommits
from firstlight.model import git, remote_url

_FETCH = (
    "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance", "--no-write-fetch-head",
)  # fmt: skip
_OUTCOMES: Mapping[str, git.PushOutcome] = {"*": "created", " ": "updated", "+": "forced", "=": "unchanged"}


class GitRemotes(GitCommits):
    """What is elsewhere."""

    async def ls_remote(
        self, url: str, *, credentials: git_program.Credentials | None = None, timeout: float = REMOTE
    ) -> git.RemoteRefs:
        """What a remote offers, and thereby whether it is there and lets us in.

        Raises:
            git_errors.Unreachable: Nothing answers.
            git_errors.Untrusted: Something answers, and cannot prove that it is the right one.
            git_errors.Unauthorised: It wants other credentials, or any.
            git_errors.NotFound: It has no such repository.
        """
        remote = self._url(url)
        async with self._nowhere() as session:
            return await self._ls_remote(session, remote, credentials, timeout=timeout)

    async def clone(
        self,
        url: str,
        into: Path,
        *,
        ref: str = "",
        depth: int = 0,
        credentials: git_program.Credentials | None = None,
        limits: path_safety.TreeLimits = path_safety.TREE_LIMITS,
        timeout: float = TRANSFER,
    ) -> str:
        """Clone a repository into a directory that is not there yet, and give the commit that is checked out.

        Args:
            url: The remote.
            into: The directory, which must not exist; the one that it is in must.
            ref: A branch, a tag, or a commit by its whole hash; the remote's default if it is not given.
            depth: How many commits of the past to fetch; 0 for all of them.
            credentials: What the remote is shown.
            limits: How much may be checked out.
            timeout: Seconds.

        Raises:
            errors.Refused: A link in the commit leads out of it, or there is too much.
        """
        remote = self._url(url)
        is_hash = git_arguments.is_hash(ref)
        if ref and not is_hash:
            git_arguments.branch(ref)
        shallow = [f"--depth={depth}"] if depth else []
        async with self._nowhere() as session:
            with path_safety.landing(into) as made:
                options = ["--quiet", "--template="]
                if is_hash:
                    await self._run(session, ["init", *options, "--", str(made.absolute())])
                else:
                    options += ["--no-checkout", "--no-recurse-submodules", "--no-hardlinks", *shallow]
                    options += [f"--branch={ref}"] if ref else []
                    await self._run(
                        session,
                        ["clone", *options, "--", remote.text, str(made.absolute())],
                        url=remote,
                        credentials=credentials,
                        timeout=timeout,
                    )
                # The repository is new and ours, so Git may as well obey its config.
                inside = dataclasses.replace(
                    session,
                    environment={**session.environment, "GIT_DIR": str(made.absolute() / ".git")},
                    cwd=made,
                    target=remote.text,
                )
                if is_hash:
                    await self._run(
                        inside,
                        [*_FETCH, *shallow, "--", remote.text, ref],
                        url=remote,
                        credentials=credentials,
                        timeout=timeout,
                    )
                    await self._run(inside, ["update-ref", "--no-deref", "HEAD", ref])
                    await self._run(inside, ["config", "remote.origin.url", remote.text])
                commit = await self._tip(inside)
                if commit:
                    trees.check_entries(
                        await self._ls_tree(inside, commit, timeout=timeout), limits, target=remote.text
                    )
                    await self._run(inside, ["reset", "--quiet", "--hard"], timeout=timeout)
                    path_safety.check_tree(made, limits=limits, skip={".git"})
        return commit

    async def fetch(
        self,
        path: Path,
        url: str,
        branch: str,
        *,
        remote: str = "origin",
        depth: int = 0,
        credentials: git_program.Credentials | None = None,
        timeout: float = TRANSFER,
    ) -> str:
        """Fetch a branch into ``refs/remotes/REMOTE/BRANCH`` of a repository, and give its commit."""
        source = self._url(url)
        kept = f"refs/remotes/{git_arguments.branch(remote)}/{git_arguments.branch(branch)}"
        shallow = [f"--depth={depth}"] if depth else []
        async with self._at(path, writes=True) as session:
            arguments = [*_FETCH, *shallow, "--", source.text, f"+refs/heads/{branch}:{kept}"]
            await self._run(session, arguments, url=source, credentials=credentials, timeout=timeout)
            return await self._resolve(session, kept)

    async def push(
        self,
        path: Path,
        url: str,
        branch: str,
        *,
        revision: str = "HEAD",
        expected: str | None = None,
        credentials: git_program.Credentials | None = None,
        timeout: float = TRANSFER,
    ) -> git.PushResult:
        """Make a commit the tip of a remote's branch, as far as nothing there is lost by it.

        Args:
            path: The repository.
            url: The remote.
            branch: The branch there.
            revision: The commit.
            expected: The commit that may be replaced, even if it is lost by it; empty for a branch that must be new.
            credentials: What the remote is shown.
            timeout: Seconds.

        Raises:
            git_errors.Rejected: The branch has other commits, or the remote has rules against it.
        """
        remote = self._url(url)
        ref = f"refs/heads/{git_arguments.branch(branch)}"
        if expected and not git_arguments.is_hash(expected):
            raise errors.UsageError("what may be replaced is named by its whole hash")
        lease = [] if expected is None else [f"--force-with-lease={ref}:{expected}"]
        async with self._at(path) as session:
            commit = await self._resolve(session, revision)
            options = ["--porcelain", "--no-verify", "--no-signed", "--recurse-submodules=no", "--no-follow-tags"]
            done = await self._run(
                session,
                ["push", *options, *lease, *receiver(remote), "--", remote.text, f"{commit}:{ref}"],
                url=remote,
                credentials=credentials,
                timeout=timeout,
                check=False,
            )
            try:
                flag, words = git_output.pushed(done.stdout, ref)
            except ValueError:
                raise git_errors.from_output("push", done.stderr, target=remote.text) from None
            if flag not in _OUTCOMES or done.code != 0:
                raise git_errors.GitRejected("push", detail=words, target=remote.text, stderr=done.stderr)
            return git.PushResult(branch, commit, _OUTCOMES[flag])

    async def is_pushed(
        self,
        path: Path,
        commit: str,
        url: str,
        branch: str,
        *,
        credentials: git_program.Credentials | None = None,
        timeout: float = TRANSFER,
    ) -> bool:
        """Whether a remote's branch has a commit, as the remote says now. Nothing is stored in the repository."""
        remote = self._url(url)
        git_arguments.branch(branch)
        async with self._at(path) as session:
            wanted = await self._resolve(session, commit)
            refs = await self._ls_remote(session, remote, credentials, timeout=REMOTE)
            tip = refs.branch(branch)
            if not tip or tip == wanted:
                return bool(tip)
            if not await self._has(session, tip):
                arguments = [*_FETCH, "--", remote.text, f"refs/heads/{branch}"]
                await self._run(session, arguments, url=remote, credentials=credentials, timeout=timeout)
            return await self._is_ancestor(session, wanted, tip)

    async def _ls_remote(
        self,
        session: GitSession,
        remote: remote_url.RemoteUrl,
        credentials: git_program.Credentials | None,
        *,
        timeout: float,
    ) -> git.RemoteRefs:
        arguments = ["ls-remote", "--quiet", "--symref", "--", remote.text]
        done = await self._run(session, arguments, url=remote, credentials=credentials, timeout=timeout)
        return parsed(git_output.remote_refs, done, name="ls-remote", target=remote.text)

    async def _has(self, session: GitSession, commit: str) -> bool:
        return (await self._run(session, ["cat-file", "-e", f"{commit}^{{commit}}"], check=False)).code == 0


# Whether a change has come into a branch: what is compared to know it again after a merge, a squash or a rebase.


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
