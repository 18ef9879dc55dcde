"""Commits that are made on the server: files in, a new commit on a branch out, with no working tree anywhere."""

import asyncio
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from firstlight import errors
from firstlight.lab.sources import names
from firstlight.lab.sources.files import File
from firstlight.lab.sources.git import program
from firstlight.lab.sources.git.pkt_line import Update
from firstlight.lab.sources.git.repositories import Repositories
from firstlight.lab.sources.home import Home

NOTHING = "0" * 40
_ATTEMPTS = 5
"""How often a commit is made anew because somebody else moved the branch."""


class Commits:
    """Makes them."""

    def __init__(self, home: Home, repositories: Repositories) -> None:
        self._home = home
        self._repositories = repositories
        self._lock = asyncio.Lock()

    async def commit(
        self, name: str, files: Mapping[str, File | None], *, branch: str, message: str, replace: bool
    ) -> Update:
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
        ref = f"refs/heads/{names.branch(branch)}"
        for path in files:
            names.file(path)
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

    async def tag(self, name: str, tag: str, target: str) -> Update:
        """Let a tag name a commit, a branch or another tag; it may have named something else before."""
        env = self._repositories.environment(name)
        ref = f"refs/tags/{names.branch(tag)}"
        before = await self._resolve(ref, env)
        after = await self._resolve(f"{names.branch(target)}^{{commit}}", env)
        if after == NOTHING:
            raise errors.UsageError(f"{name} has no commit {target!r}")
        moved = await program.run("update-ref", ref, after, before, env=env, check=False)
        if moved.code != 0:
            raise errors.LabError(f"tag {tag} of {name} was changed by somebody else at the same time")
        return Update(ref, before, after)

    async def _blobs(self, files: Mapping[str, File | None], folder: Path, env: Mapping[str, str]) -> bytes:
        """Store the contents; the lines that put them into an index."""
        there = [(path, file) for path, file in files.items() if file is not None]
        paths = [folder / str(number) for number in range(len(there))]
        for path, (_, file) in zip(paths, there, strict=True):
            path.write_bytes(file.content)
        stored = await program.run(
            "hash-object", "-w", "--no-filters", "--stdin-paths", env=env,
            stdin="".join(f"{path}\n" for path in paths).encode(),
        )  # fmt: skip
        hashes = stored.stdout.decode().split()
        lines = [f"{file.mode} {hash_}\t{path}\0" for hash_, (path, file) in zip(hashes, there, strict=True)]
        # Removals first: what was a directory may be a file now, and the other way round.
        gone = [f"0 {NOTHING}\t{path}\0" for path, file in files.items() if file is None]
        return "".join([*gone, *lines]).encode()

    async def _attempt(
        self, ref: str, listing: bytes, message: str, replace: bool, env: Mapping[str, str]
    ) -> Update | None:
        before = await self._resolve(ref, env)
        is_new = before == NOTHING
        await program.run("read-tree", *(["--empty"] if is_new or replace else [before]), env=env)
        if listing:
            await program.run("update-index", "-z", "--add", "--replace", "--index-info", env=env, stdin=listing)
        tree = program.first_line((await program.run("write-tree", env=env)).stdout)
        if not is_new and tree == await self._resolve(f"{before}^{{tree}}", env):
            return Update(ref, before, before)
        parents = [] if is_new else ["-p", before]
        made = await program.run("commit-tree", tree, *parents, env=env, stdin=f"{message.strip() or '-'}\n".encode())
        after = program.first_line(made.stdout)
        moved = await program.run("update-ref", ref, after, before, env=env, check=False)
        return Update(ref, before, after) if moved.code == 0 else None

    @staticmethod
    async def _resolve(what: str, env: Mapping[str, str]) -> str:
        found = await program.run("rev-parse", "--quiet", "--verify", what, env=env, check=False)
        return program.first_line(found.stdout) if found.code == 0 else NOTHING
