"""Changes carried through for tests: a clone of a small platform whose cluster is a lab, and the command on it."""

import asyncio
import contextlib
import dataclasses
import io
import os
import shutil
import signal
import subprocess
import sys
import unittest.mock
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from firstlight.cli import main
from firstlight.cli import means as cli_means
from firstlight.commands.change import record_store
from firstlight.execute.means import Means
from firstlight.execute.world import RunPrograms
from firstlight.model.cluster import Cluster
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.render.chart_fetch import ChartCredentials, FetchClients
from firstlight.render.chart_store import ChartStore
from firstlight.render.component_renderer import Renderer
from firstlight.render.render_cache import RenderCache
from firstlight.render.renderer_programs import RendererPrograms
from tests.runs import Told

AUTHOR = {
    "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Clone:
    """A clone of a platform, and the way to its cluster."""

    root: Path
    kubeconfig: Path
    programs: Mapping[str, Path]

    def git(self, *arguments: str) -> str:
        """Run git in it, as the user does."""
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, env={**os.environ, **AUTHOR}, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def write(self, path: str, *content: object) -> None:
        """Put a file of the work tree: text as it is, objects as YAML."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        first = content[0]
        file.write_text(first if isinstance(first, str) else yaml.safe_dump_all(content))

    async def change(self, *arguments: str) -> Told:
        """``firstlight change``, as it is typed."""
        return await self.run("change", *arguments)

    async def run(self, command: str, *arguments: str) -> Told:
        """A command in a thread of this process, as it is typed, with the means of the tests."""

        async def given(*_: object, **__: object) -> Means:
            return means(self)

        def run() -> Told:
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main.run([command, arguments[0], "--repo", str(self.root), *arguments[1:]])
            return Told(code, out.getvalue(), err.getvalue())

        with unittest.mock.patch.object(cli_means, "user_means", given), unittest.mock.patch.dict(os.environ, AUTHOR):
            return await asyncio.to_thread(run)

    def records(self) -> list[dict[str, Any]]:
        """All records, the oldest first."""
        found = sorted((self.root / ".firstlight" / "changes").glob("*.json"))
        return [msgspec.json.decode(each.read_bytes()) for each in found]

    def program(self, *arguments: str) -> list[str]:
        """The command line of the same in a process of its own, which can be killed."""
        place = {
            "root": str(self.root), "kubeconfig": str(self.kubeconfig),
            "programs": {name: str(path) for name, path in self.programs.items()},
        }  # fmt: skip
        return [sys.executable, "-m", "tests.changing", msgspec.json.encode(place).decode(), *arguments]


def cloned(url: str, root: Path, files: Mapping[str, object], **given: Any) -> Clone:
    """A clone with files committed and pushed to an empty remote.

    Args:
        url: The remote.
        root: A directory that is not there yet.
        files: Text as it is, objects and lists of them as YAML.
        given: The kubeconfig and programs of the clone.
    """
    root.mkdir(parents=True)
    made = Clone(root=root, **given)
    made.git("init", "--quiet", "--initial-branch=main")
    for path, content in files.items():
        made.write(path, *(content if isinstance(content, list) else [content]))
    made.write(".gitignore", ".firstlight/\n")
    made.git("add", "--all")
    made.git("commit", "--quiet", "--message=the platform")
    made.git("remote", "add", "origin", url)
    made.git("push", "--quiet", "--set-upstream", "origin", "main")
    return made


def again(clone: Clone, root: Path) -> Clone:
    """Another clone of the same remote, as a colleague has it."""
    url = clone.git("remote", "get-url", "origin")
    subprocess.run(["git", "clone", "--quiet", url, str(root)], check=True)
    return dataclasses.replace(clone, root=root)


def means(clone: Clone) -> Means:
    """How a command on a clone comes by the world."""

    async def open_renderer(platform: Platform) -> Renderer:
        cache = clone.root.parent / "cache"
        fetching = FetchClients(clone.programs["helm"], None, ChartCredentials(), frozenset())
        return Renderer(
            platform, programs=RendererPrograms(helm=clone.programs["helm"], kustomize=clone.programs["kustomize"]),
            store=ChartStore(cache / "charts", fetching, offline=True), cache=RenderCache(cache / "renders"),
        )  # fmt: skip

    async def nothing(_: object) -> Secret:
        raise AssertionError("a change through Git needs no secrets")

    async def no_secrets(_: Cluster) -> Secret:
        return await nothing(_)

    return Means(
        programs=RunPrograms(helm=clone.programs["helm"]),
        state=clone.root / ".firstlight",
        open_renderer=open_renderer,
        resolve=nothing,
        talos_secrets=no_secrets,
        git=Path(shutil.which("git") or "git"),
        kubeconfig=Secret(clone.kubeconfig.read_bytes()) if clone.kubeconfig.exists() else None,
    )


def _kill_at(moment: str, step: str) -> None:
    """End this process where a step begins, or where it is done and nobody has written that down."""
    name = {"before": "begin", "after": "end"}.get(moment, "")
    if not name:
        return
    method = getattr(record_store.ChangeRecordStore, name)

    def killed(keeper: record_store.ChangeRecordStore, id: str, **fields: str) -> None:
        if moment == "before":
            method(keeper, id, **fields)
        if id == step:
            os.kill(os.getpid(), signal.SIGKILL)
        if moment == "after":
            method(keeper, id, **fields)

    setattr(record_store.ChangeRecordStore, name, killed)


def _main(place: str, *arguments: str) -> int:
    given = msgspec.json.decode(place)
    programs = {name: Path(path) for name, path in given["programs"].items()}
    clone = Clone(root=Path(given["root"]), kubeconfig=Path(given["kubeconfig"]), programs=programs)
    _kill_at(*os.environ.get("KILLED_AT", "never:").split(":", 1))
    told = asyncio.run(clone.change(*arguments))
    sys.stderr.write(told.err)
    sys.stdout.write(told.out)
    return told.code


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
