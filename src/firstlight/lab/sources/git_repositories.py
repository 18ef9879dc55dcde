"""The bare repositories on disk: made whole, found by name, gone at once."""

import dataclasses
import os
import re
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients import command, program_path
from firstlight.clients.sandbox import program_limits
from firstlight.lab import lab_directory
from firstlight.lab.sources import source_names
from firstlight.lab.sources.declarations import DeclaredGitRepository, DeclaredSources, SealedAccess, SourcesHome

NOBODY = re.compile(r"0{40,64}")
"""Where a ref comes from that is new, and goes to that is deleted."""


@dataclasses.dataclass(frozen=True)
class RefUpdate:
    """A ref that a push moves; an absent side is forty zeros."""

    ref: str
    before: str
    after: str


class BareRepositories:
    """All of them."""

    def __init__(self, home: SourcesHome, declared: DeclaredSources) -> None:
        self._home = home
        self._declared = declared

    @property
    def root(self) -> Path:
        """The directory that all of them are in."""
        return self._home.git

    @property
    def hooks(self) -> Path:
        """The hooks of pushes over HTTP."""
        return self._home.hooks

    def push_log(self) -> Path:
        """A new name for the file in which a push leaves what it moved."""
        return self._home.scratch / f"push-{secrets.token_hex(8)}"

    def path(self, name: str) -> Path:
        """Where a repository is."""
        return self._home.git / f"{name}.git"

    def environment(self, name: str = "", **more: str) -> dict[str, str]:
        """Git's environment, in a repository if one is named."""
        inside = {"GIT_DIR": str(self.path(name))} if name else {}
        return git_environment(self._home.scratch, **inside, **more)

    def exists(self, name: str) -> bool:
        """Whether it was made, and is declared."""
        return name in self._declared.git and self.path(name).is_dir()

    def get(self, name: str) -> DeclaredGitRepository:
        """Its declaration.

        Raises:
            errors.UsageError: It was not declared.
        """
        if name not in self._declared.git:
            raise errors.UsageError(f"no Git repository {name!r}", hint=", ".join(sorted(self._declared.git)))
        return self._declared.git[name]

    def declare(self, name: str, access: SealedAccess | None, *, branch: str) -> str:
        """Say that there is one, and who may use it if that is given; it need not be made yet. The plain name."""
        name = source_names.git_name(name)
        known = self._declared.git.get(name, DeclaredGitRepository(branch=source_names.branch_name(branch)))
        if known.branch != branch:
            raise errors.UsageError(f"the default branch of {name} is {known.branch}, and stays it")
        self._declared.git[name] = DeclaredGitRepository(
            known.access if access is None else access, branch, known.webhooks
        )
        self._declared.save()
        return name

    async def make(self, name: str) -> None:
        """Make one that is declared, if it is not there."""
        if self.path(name).is_dir():
            return
        new = self._home.scratch / f"git-{secrets.token_hex(8)}"
        # An empty template: no sample hooks, no description.
        await run_git(
            "init", "--quiet", "--bare", "--template=", f"--initial-branch={self.get(name).branch}", str(new),
            env=self.environment(),
        )  # fmt: skip
        path = self.path(name)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.is_dir():  # somebody else was faster
            shutil.rmtree(new)
        else:
            new.rename(path)

    def delete(self, name: str) -> None:
        """Take it away, with its declaration."""
        self.get(name)
        gone = self._home.scratch / f"git-{secrets.token_hex(8)}"
        if self.path(name).is_dir():
            self.path(name).rename(gone)
        del self._declared.git[name]
        self._declared.save()
        shutil.rmtree(gone, ignore_errors=True)

    async def refs(self, name: str) -> dict[str, str]:
        """Every ref, and the object that it names."""
        if not self.exists(name):
            return {}
        listed = await run_git("for-each-ref", "--format=%(objectname) %(refname)", env=self.environment(name))
        pairs = (line.split(" ", 1) for line in listed.stdout.decode(errors="replace").splitlines())
        return {ref: commit for commit, ref in pairs}

    async def prepare(self) -> None:
        """Write the hook, and remove what pushes left behind that were killed with an earlier process.

        Raises:
            errors.LabError: Git's server program is not installed.
        """
        programs = first_line((await run_git("--exec-path", env=self.environment())).stdout)
        if not (Path(programs) / "git-http-backend").exists():
            raise errors.LabError("git http-backend is not installed; Alpine has it in the package git-daemon")
        lab_directory.write_whole(self.hooks / "post-receive", _POST_RECEIVE, mode=0o700)
        for name in self._declared.git:
            for left in (self.path(name) / "objects").glob("*-??????"):
                if left.name.startswith(("incoming-", "tmp_objdir-")):
                    shutil.rmtree(left, ignore_errors=True)


# What a push moved: git says it to its post-receive hook, and the hook leaves it in a file.


PUSH_LOG = "FIRSTLIGHT_PUSH_LOG"
"""The variable that names the file."""
_POST_RECEIVE = f'#!/bin/sh\nexec cat >"${PUSH_LOG}"\n'.encode()


def take_updates(log: Path) -> tuple[RefUpdate, ...]:
    """Read the file of a push, and remove it; nothing if the push moved nothing."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return ()
    log.unlink()
    words = (line.split(" ", 2) for line in lines)
    return tuple(RefUpdate(ref, before, after) for before, after, ref in words)


# How the real git is run: with a clean environment, no configuration and no hooks but ours, and nothing left running.


PUSH_LIMIT = 2 << 30
"""Bytes of one push."""
_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "receive.autogc": "false",
    "receive.maxInputSize": str(PUSH_LIMIT),
    # As the large hosts do it: clients fetch a commit that they know from elsewhere, or a part of the content.
    "uploadpack.allowAnySHA1InWant": "true",
    "uploadpack.allowFilter": "true",
}


def git_argv(*arguments: str) -> list[str]:
    """A command line."""
    return ["git", *(part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")), *arguments]


def git_environment(scratch: Path, **more: str) -> dict[str, str]:
    """All that git gets to see of ours."""
    return {
        "PATH": program_path.clean(os.environ.get("PATH", os.defpath)),
        "HOME": str(scratch),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "firstlight lab",
        "GIT_AUTHOR_EMAIL": "lab@firstlight.invalid",
        "GIT_COMMITTER_NAME": "firstlight lab",
        "GIT_COMMITTER_EMAIL": "lab@firstlight.invalid",
        **more,
    }


async def run_git(
    *arguments: str, env: Mapping[str, str], stdin: bytes = b"", check: bool = True, timeout: float = 120
) -> command.Completed:
    """Run it to its end.

    Raises:
        errors.CommandFailed: It exited with an error, and ``check`` is set.
    """
    return await command.run(
        git_argv(*arguments), env=env, stdin=stdin, check=check, timeout=timeout, within=program_limits.READER
    )


def first_line(output: bytes) -> str:
    """What a command printed, when it printed one line."""
    return output.decode().strip()
