"""Whole runs for tests: a small platform of the tests, a lab for it, and ``up`` on it, killed where it is told to."""

import asyncio
import dataclasses
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from firstlight.clients import command, talosctl
from firstlight.execute.loop import Result
from firstlight.execute.world import Programs
from firstlight.journal.writing import Journal
from firstlight.lab import directory, machine_settings
from firstlight.lab import lab as labs
from firstlight.lab import settings as lab_settings
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.event import Event, StepEnded, Writing
from firstlight.model.platform import Platform
from firstlight.model.reach import Reach
from firstlight.model.secret import Secret
from firstlight.operate import up
from firstlight.operate.means import Means, Wishes
from firstlight.render.cache import Cache
from firstlight.render.charts.credentials import Credentials
from firstlight.render.charts.fetching import Means as Fetching
from firstlight.render.charts.store import ChartStore
from firstlight.render.rendering import Renderer
from firstlight.render.tools import Programs as Renderers
from firstlight.repo import platform as platforms
from tests.labs import FAST

PLATFORMS = Path(__file__).parent / "platforms"
TOKEN = "a-token-of-the-tests"
DECLARED = "https://git.example.org/me/light"


class Killed(msgspec.Struct, frozen=True):
    """Where a run is killed: before the first write of a step, or after its end."""

    step: str
    moment: str

    def strikes(self, event: Event) -> bool:
        """Whether this is the moment."""
        kind = {Writing: "before", StepEnded: "after"}.get(type(event))
        return kind == self.moment and isinstance(event, Writing | StepEnded) and event.step == self.step


class Place(msgspec.Struct, frozen=True):
    """Everything that another process needs to run ``up`` on the same repo and lab."""

    root: str
    lab: str
    state: str
    kept: str
    programs: Mapping[str, str]
    reach: Mapping[str, str]
    api: str
    commit: str


@dataclasses.dataclass
class Stage:
    """A repo, a lab of bare machines for it, and the way to run ``up``."""

    lab: labs.Lab
    place: Place

    @property
    def platform(self) -> Platform:
        """What the repo declares."""
        return platforms.read(Path(self.place.root))

    async def up(
        self,
        *,
        tell: Callable[[Event], None] = lambda _: None,
        until: Phase | None = None,
        only: tuple[str, ...] = (),
        is_dry_run: bool = False,
        confirm: bool = False,
    ) -> Result:
        """One run in this process; what stands in its way fails the test."""
        return await run(
            self.place, tell=tell, until=until, only=only, is_dry_run=is_dry_run, confirm=lambda _: confirm
        )

    async def up_killed(self, at: Killed) -> int:
        """One run in a process of its own that is killed at a moment; its exit code."""
        program = [sys.executable, "-m", "tests.runs", msgspec.json.encode(self.place).decode()]
        done = await command.run(
            [*program, msgspec.json.encode(at).decode()], env={**os.environ, "GREETER_TOKEN": TOKEN}, check=False,
            timeout=300,
        )  # fmt: skip
        return done.code


async def stage(
    home: Path, programs: Mapping[str, Path], *, platform: str = "light", manifests: Mapping[str, Path],
    machines: tuple[machine_settings.Machine, ...], settings: lab_settings.Settings | None = None,
) -> Stage:  # fmt: skip
    """A lab of bare machines with Flux's programs and a Git server, and the platform committed to it.

    Args:
        home: A directory of the test's own.
        programs: Of the lab, and talosctl, helm and kustomize.
        platform: One of those beside this file.
        manifests: Files to add to the repo, by path: the engine's manifests.
        machines: Those of the lab, as the platform declares them.
        settings: Of the lab, besides.
    """
    root = home / "repo"
    shutil.copytree(PLATFORMS / platform, root)
    for path, source in manifests.items():
        shutil.copy(source, root / path)
    one = labs.Lab(directory.Directory(home / "lab"))
    wanted = msgspec.structs.replace(
        settings or FAST, machines=machines, nodes=(), actors=(settings or FAST).actors or ("flux",),
        talos=machine_settings.Talos(boot_seconds=0.1),
    )  # fmt: skip
    await one.up(programs, settings=wanted, owner=os.getpid())
    status = await one.status()
    sources = one.sources()
    repository = await sources.create_git(f"tests/{platform}")
    for file in (*root.rglob("*.yaml"), *root.rglob("*.yml")):
        text = file.read_text()
        if DECLARED in text:
            file.write_text(text.replace(DECLARED, repository.url))
    commit = (await sources.commit_directory(repository.name, root, message="the platform")).after
    endpoints = {each.address: each.endpoint for each in status.machines}
    return Stage(
        lab=one,
        place=Place(
            root=str(root), lab=str(one.home.path), state=str(home / "state"), kept=str(home / "talos-secrets"),
            programs={name: str(path) for name, path in programs.items()}, reach=endpoints,
            api=f"https://{status.loopback}:6443", commit=commit,
        ),
    )  # fmt: skip


def means(place: Place) -> Means:
    """How a run on a stage comes by the world."""
    programs = {name: Path(path) for name, path in place.programs.items()}

    async def open_renderer(platform: Platform) -> Renderer:
        fetching = Fetching(programs["helm"], None, Credentials(), frozenset())
        cache = Path(place.state).parent / "cache"
        return Renderer(
            platform, programs=Renderers(helm=programs["helm"], kustomize=programs["kustomize"]),
            store=ChartStore(cache / "charts", fetching, offline=True), cache=Cache(cache / "renders"),
        )  # fmt: skip

    async def talos_secrets(cluster: Cluster) -> Secret:
        kept = Path(place.kept)
        if not kept.exists():
            made = await talosctl.Talosctl(programs["talosctl"]).gen_secrets()
            part = kept.with_suffix(".part")
            part.write_bytes(made.reveal())
            part.replace(kept)
        return Secret(kept.read_bytes())

    async def resolve(reference: str) -> Secret:
        assert reference == "env:GREETER_TOKEN"
        return Secret(TOKEN)

    return Means(
        programs=Programs(talosctl=programs["talosctl"], helm=programs["helm"]), state=Path(place.state),
        open_renderer=open_renderer, resolve=resolve, talos_secrets=talos_secrets, revision=place.commit,
        reach=Reach(machines=place.reach, kubernetes=place.api), is_rehearsal=True,
    )  # fmt: skip


async def run(
    place: Place, *, tell: Callable[[Event], None], confirm: Callable[[str], bool] = lambda _: False,
    until: Phase | None = None, only: tuple[str, ...] = (), is_dry_run: bool = False,
) -> Result:  # fmt: skip
    """``up`` with its journal, as the command does it."""
    how = means(place)
    wishes = Wishes(cluster="", until=until, only=only, is_dry_run=is_dry_run)
    prepared = await up.prepare(platforms.read(Path(place.root)), wishes, how)
    assert not prepared.is_blocked, "\n".join(f"{each.message} {each.chain}" for each in prepared.problems)
    begun = up.started(prepared, wishes, how)
    journal = Journal.start(how.state, begun)

    def told(event: Event) -> None:
        journal.write(event)
        tell(event)

    try:
        return await up.run(prepared, wishes, how, begun=begun, tell=told, confirm=confirm)
    finally:
        journal.close()


def _main(place: Place, at: Killed) -> None:
    def tell(event: Event) -> None:
        if at.strikes(event):
            os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(run(place, tell=tell))


if __name__ == "__main__":
    _main(msgspec.json.decode(sys.argv[1], type=Place), msgspec.json.decode(sys.argv[2], type=Killed))
