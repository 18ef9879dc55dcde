"""The user's clone of the repo and the branch that the engine follows, as the clone reaches it."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from firstlight import errors
from firstlight.clients.git import Git
from firstlight.clients.git.own import OwnGit
from firstlight.gates import revisions
from firstlight.model.cluster import Cluster


@dataclasses.dataclass(frozen=True, kw_only=True)
class Repository:
    """The clone, and what of its remote the engine follows."""

    git: Git
    """For looking: it obeys nothing of the clone."""
    own: OwnGit
    """For what the user would type."""
    root: Path
    """The repo: the clone's top, or a directory in it."""
    prefix: str
    """Where the repo lies in the clone: empty, or with a slash at its end."""
    remote: str
    url: str
    """Of the remote, without credentials."""
    followed: str
    """The branch that the engine follows."""

    @property
    def tracked(self) -> str:
        """The remote's branch as the clone calls it."""
        return f"{self.remote}/{self.followed}"

    def inside(self, files: Iterable[str]) -> list[str]:
        """Files of the repo from the clone's top."""
        return [f"{self.prefix}{each}" for each in files]

    async def fetched(self) -> str:
        """The tip of the followed branch as the remote has it now.

        Raises:
            errors.Refused: There is no such branch.
            git_errors.GitError: The remote does not answer, or says no.
        """
        tip = await self.own.fetch(self.root, self.remote, self.followed)
        if not tip:
            raise errors.Refused(
                f"the engine follows {self.followed}, which {self.remote} ({self.url}) does not have",
                hint=f"Push it: git push {self.remote} HEAD:{self.followed}; or name another one as gitops.branch.",
            )
        return tip


async def of(root: Path, clusters: Iterable[Cluster], git: Path | None) -> Repository:
    """The clone around a repo.

    Args:
        root: The repo.
        clusters: Those that follow it; all must follow the same branch.
        git: The program.

    Raises:
        errors.Refused: There is no clone or no remote, or the clusters follow different branches.
    """
    if git is None:
        raise errors.ToolError("a change is carried through Git, which is not installed", hint="install git")
    own, looking = OwnGit(git), Git(git)
    head = await looking.head(root)
    top = (head.work_tree or root).resolve()
    below = root.resolve().relative_to(top).as_posix() if root.resolve().is_relative_to(top) else "."
    found = await own.remotes(root)
    if not found:
        raise errors.Refused(
            "this clone has no remote, so that no engine can get what is committed here",
            hint="git remote add origin URL",
        )
    following = [each for each in clusters if each.engine is not None]
    branches = {each.branch or "main" for each in following} or {"main"}
    if len(branches) > 1:
        raise errors.Refused(
            f"the clusters follow different branches: {', '.join(sorted(branches))}",
            hint="Carry it through one cluster after the other: firstlight change start --cluster NAME",
        )
    urls = [each.url for each in following]
    same = [each for each in found if any(revisions.is_same_repository(each.url, url) for url in urls)]
    chosen = next(iter([*same, *(each for each in found if each.name == "origin"), *found]))
    return Repository(
        git=looking, own=own, root=root, prefix="" if below == "." else f"{below}/", remote=chosen.name,
        url=chosen.url, followed=branches.pop(),
    )  # fmt: skip
