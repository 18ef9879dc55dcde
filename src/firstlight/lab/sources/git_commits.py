"""Commits that are made on the server: files in, a new commit on a branch out, with no working tree anywhere."""

import asyncio
import dataclasses
import re
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from firstlight import errors
from firstlight.lab.sources import git_repositories, source_names
from firstlight.lab.sources.declarations import SourcesHome
from firstlight.lab.sources.git_repositories import NOBODY, BareRepositories, RefUpdate
from firstlight.lab.sources.oci_artifacts import SourceFile

NO_OBJECT = "0" * 40
_ATTEMPTS = 5
"""How often a commit is made anew because somebody else moved the branch."""


class CommitMaker:
    """Makes them."""

    def __init__(self, home: SourcesHome, repositories: BareRepositories) -> None:
        self._home = home
        self._repositories = repositories
        self._lock = asyncio.Lock()

    async def commit(
        self, name: str, files: Mapping[str, SourceFile | None], *, branch: str, message: str, replace: bool
    ) -> RefUpdate:
        """Put files on a branch; one that is None is removed.

        Args:
            name: The repository.
            files: By path.
            branch: Made if it is not there.
            message: That of the commit.
            replace: Whether files that are not given are removed.

        Returns:
            How the branch moved: not at all if it had just these files.
        """
        ref = f"refs/heads/{source_names.branch_name(branch)}"
        for path in files:
            source_names.file_path(path)
        folder = self._home.scratch / f"commit-{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        env = self._repositories.environment(name, GIT_INDEX_FILE=str(folder / "index"))
        try:
            async with self._lock:
                listing = await self._blobs(files, folder, env)
                for _ in range(_ATTEMPTS):
                    update = await self._attempt(ref, listing, message, replace, env)
                    if update is not None:
                        return update
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        raise errors.LabError(f"{branch} of {name} moves all the time; the commit was given up")

    async def tag(self, name: str, tag: str, target: str) -> RefUpdate:
        """Let a tag name a commit, a branch or another tag; it may have named something else before."""
        env = self._repositories.environment(name)
        ref = f"refs/tags/{source_names.branch_name(tag)}"
        before = await self._resolve(ref, env)
        after = await self._resolve(f"{source_names.branch_name(target)}^{{commit}}", env)
        if after == NO_OBJECT:
            raise errors.UsageError(f"{name} has no commit {target!r}")
        moved = await git_repositories.run_git("update-ref", ref, after, before, env=env, check=False)
        if moved.code != 0:
            raise errors.LabError(f"tag {tag} of {name} was changed by somebody else at the same time")
        return RefUpdate(ref, before, after)

    async def _blobs(self, files: Mapping[str, SourceFile | None], folder: Path, env: Mapping[str, str]) -> bytes:
        """Store the contents; the lines that put them into an index."""
        there = [(path, file) for path, file in files.items() if file is not None]
        paths = [folder / str(number) for number in range(len(there))]
        for path, (_, file) in zip(paths, there, strict=True):
            path.write_bytes(file.content)
        stored = await git_repositories.run_git(
            "hash-object", "-w", "--no-filters", "--stdin-paths", env=env,
            stdin="".join(f"{path}\n" for path in paths).encode(),
        )  # fmt: skip
        hashes = stored.stdout.decode().split()
        lines = [f"{file.mode} {hash_}\t{path}\0" for hash_, (path, file) in zip(hashes, there, strict=True)]
        # Removals first: what was a directory may be a file now, and the other way round.
        gone = [f"0 {NO_OBJECT}\t{path}\0" for path, file in files.items() if file is None]
        return "".join([*gone, *lines]).encode()

    async def _attempt(
        self, ref: str, listing: bytes, message: str, replace: bool, env: Mapping[str, str]
    ) -> RefUpdate | None:
        before = await self._resolve(ref, env)
        is_new = before == NO_OBJECT
        await git_repositories.run_git("read-tree", *(["--empty"] if is_new or replace else [before]), env=env)
        if listing:
            await git_repositories.run_git(
                "update-index", "-z", "--add", "--replace", "--index-info", env=env, stdin=listing
            )
        tree = git_repositories.first_line((await git_repositories.run_git("write-tree", env=env)).stdout)
        if not is_new and tree == await self._resolve(f"{before}^{{tree}}", env):
            return RefUpdate(ref, before, before)
        parents = [] if is_new else ["-p", before]
        made = await git_repositories.run_git(
            "commit-tree", tree, *parents, env=env, stdin=f"{message.strip() or '-'}\n".encode()
        )
        after = git_repositories.first_line(made.stdout)
        moved = await git_repositories.run_git("update-ref", ref, after, before, env=env, check=False)
        return RefUpdate(ref, before, after) if moved.code == 0 else None

    @staticmethod
    async def _resolve(what: str, env: Mapping[str, str]) -> str:
        found = await git_repositories.run_git("rev-parse", "--quiet", "--verify", what, env=env, check=False)
        return git_repositories.first_line(found.stdout) if found.code == 0 else NO_OBJECT


# What a push brought, read from the repository: the commits that webhooks tell of.


MOST_COMMITS = 20
"""Commits that are told of one by one, as the large hosts do it."""
_FORMAT = "%x01%H%x02%an%x02%ae%x02%cI%x02%B%x03"
_RECORD = re.compile(rb"\x01(?=[0-9a-f]{40,64}\x02)")


@dataclasses.dataclass(frozen=True)
class PushedCommit:
    """One commit, with the files that it touched."""

    id: str
    author: str
    email: str
    time: str
    message: str
    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


async def pushed_commits(repositories: BareRepositories, name: str, update: RefUpdate) -> tuple[PushedCommit, ...]:
    """Those that an update brought, the oldest first; of a new ref only its last."""
    if NOBODY.fullmatch(update.after):
        return ()
    is_new = bool(NOBODY.fullmatch(update.before))
    span = (
        ["--max-count=1", update.after]
        if is_new
        else [f"--max-count={MOST_COMMITS}", f"{update.before}..{update.after}"]
    )
    logged = await git_repositories.run_git(
        "log", "-z", "--first-parent", "-m", "--no-renames", "--root", "--name-status", f"--format={_FORMAT}", *span,
        "--", env=repositories.environment(name), check=False,
    )  # fmt: skip
    return tuple(reversed(parse_log(logged.stdout))) if logged.code == 0 else ()


async def is_forced(repositories: BareRepositories, name: str, update: RefUpdate) -> bool:
    """Whether what was there before is no longer part of the history."""
    if NOBODY.fullmatch(update.before) or NOBODY.fullmatch(update.after):
        return False
    env = repositories.environment(name)
    return (
        await git_repositories.run_git("merge-base", "--is-ancestor", update.before, update.after, env=env, check=False)
    ).code != 0


def parse_log(output: bytes) -> list[PushedCommit]:
    """The commits of a log in our format."""
    found = []
    for record in _RECORD.split(output)[1:]:
        head, _, names = record.partition(b"\x03")
        texts = head.decode(errors="replace").split("\x02", 4)
        fields = [part for part in names.decode(errors="replace").strip("\n").split("\0") if part.strip("\n")]
        pairs = list(zip(fields[0::2], fields[1::2], strict=False))

        def touched(letters: str, pairs: list[tuple[str, str]] = pairs) -> tuple[str, ...]:
            return tuple(path for status, path in pairs if status.strip("\n")[:1] in letters)

        found.append(
            PushedCommit(
                texts[0], texts[1], texts[2], texts[3], texts[4].strip("\n"), touched("A"), touched("MT"), touched("D")
            )
        )  # fmt: skip
    return found
