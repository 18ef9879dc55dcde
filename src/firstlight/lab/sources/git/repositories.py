"""The bare repositories on disk: made whole, found by name, gone at once."""

import re
import secrets
import shutil
from pathlib import Path

from firstlight import errors
from firstlight.lab.sources import names
from firstlight.lab.sources.access import Sealed
from firstlight.lab.sources.declared import Declared, Git
from firstlight.lab.sources.git import program
from firstlight.lab.sources.home import Home

NOBODY = re.compile(r"0{40,64}")
"""Where a ref comes from that is new, and goes to that is deleted."""


class Repositories:
    """All of them."""

    def __init__(self, home: Home, declared: Declared) -> None:
        self._home = home
        self._declared = declared

    def path(self, name: str) -> Path:
        """Where a repository is."""
        return self._home.git / f"{name}.git"

    def environment(self, name: str = "", **more: str) -> dict[str, str]:
        """Git's environment, in a repository if one is named."""
        inside = {"GIT_DIR": str(self.path(name))} if name else {}
        return program.environment(self._home.scratch, **inside, **more)

    def exists(self, name: str) -> bool:
        """Whether it was made, and is declared."""
        return name in self._declared.git and self.path(name).is_dir()

    def get(self, name: str) -> Git:
        """Its declaration.

        Raises:
            errors.UsageError: It was not declared.
        """
        if name not in self._declared.git:
            raise errors.UsageError(f"no Git repository {name!r}", hint=", ".join(sorted(self._declared.git)))
        return self._declared.git[name]

    def declare(self, name: str, access: Sealed | None, *, branch: str) -> str:
        """Say that there is one, and who may use it if that is given; it need not be made yet. The plain name."""
        name = names.git(name)
        known = self._declared.git.get(name, Git(branch=names.branch(branch)))
        if known.branch != branch:
            raise errors.UsageError(f"the default branch of {name} is {known.branch}, and stays it")
        self._declared.git[name] = Git(known.access if access is None else access, branch, known.webhooks)
        self._declared.save()
        return name

    async def make(self, name: str) -> None:
        """Make one that is declared, if it is not there."""
        if self.path(name).is_dir():
            return
        new = self._home.scratch / f"git-{secrets.token_hex(8)}"
        # An empty template: no sample hooks, no description.
        await program.run(
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
        listed = await program.run("for-each-ref", "--format=%(objectname) %(refname)", env=self.environment(name))
        pairs = (line.split(" ", 1) for line in listed.stdout.decode(errors="replace").splitlines())
        return {ref: commit for commit, ref in pairs}

    def tidy(self) -> None:
        """Remove what pushes left behind that were killed with an earlier process."""
        for name in self._declared.git:
            for left in (self.path(name) / "objects").glob("*-??????"):
                if left.name.startswith(("incoming-", "tmp_objdir-")):
                    shutil.rmtree(left, ignore_errors=True)
