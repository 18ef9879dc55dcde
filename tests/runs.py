"""Whole runs for tests: a small platform of the tests, a lab for it, and ``up`` on it, killed where it is told to."""

import asyncio
import contextlib
import dataclasses
import io
import os
import resource
import shutil
import signal
import sys
import unittest.mock
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from firstlight import errors
from firstlight.cli import main
from firstlight.cli import means as cli_means
from firstlight.clients import command, kube
from firstlight.clients import talosctl as clients_talosctl
from firstlight.commands.up import up as up_room
from firstlight.execute import lease, walk
from firstlight.execute.loop import RunResult
from firstlight.execute.means import Means, RunRequest
from firstlight.execute.world import RunPrograms
from firstlight.journal.journal_writer import Journal
from firstlight.lab import lab_directory, lab_settings, running_lab
from firstlight.lab.machines import machine_settings
from firstlight.lab.sources.declarations import Access
from firstlight.model.cluster import AddressBook, Cluster
from firstlight.model.component import Phase
from firstlight.model.event import Event, StepEnded, Writing
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.render.chart_fetch import ChartCredentials, FetchClients
from firstlight.render.chart_store import ChartStore
from firstlight.render.component_renderer import Renderer
from firstlight.render.render_cache import RenderCache
from firstlight.render.renderer_programs import RendererPrograms
from firstlight.repo import platform_reader
from tests.labs import FAST

Talos = Literal["1.12", "1.13"]
"""Whose way with inline manifests machines have."""
PLATFORMS = Path(__file__).parent / "platforms"
TOKEN = "a-token-of-the-tests"
DECLARED = "https://git.example.org/me/light"
TOOLS = ["talosctl", "lab-machine", "helm", "kustomize", "source-controller", "kustomize-controller", "helm-controller"]
MACHINES = (machine_settings.VirtualMachine(name="cp-1", address="10.9.0.11"),)
"""Those that the light platform declares."""
RESTLESS = frozenset(
    {
        "Pod",
        "Event",
        "Lease",
        "EndpointSlice",
        "Endpoints",
        "CertificateSigningRequest",
        "Node",
        "CSINode",
        "ControllerRevision",
        "IPAddress",
    }
)
"""Kinds whose objects have names or contents that no two clusters have alike."""


class Killed(msgspec.Struct, frozen=True):
    """Where a run is killed: before the first write of a step, or after its end."""

    step: str
    moment: str
    signal: int = signal.SIGKILL

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


class Limits(msgspec.Struct, frozen=True):
    """What a run in a process of its own is about, and how much it may take."""

    until: Phase | None = None
    only: tuple[str, ...] = ()
    is_full: bool = False
    """Whether the disk is full from that moment on, in place of the signal: not even a whole line has room."""
    lease_seconds: int = lease.SECONDS


@dataclasses.dataclass(frozen=True)
class Told:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The answer as JSON."""
        return msgspec.json.decode(self.out)


@dataclasses.dataclass
class Stage:
    """A repo, a lab of bare machines for it, and the way to run ``up``."""

    lab: running_lab.Lab
    place: Place

    @property
    def platform(self) -> Platform:
        """What the repo declares."""
        return platform_reader.read(Path(self.place.root))

    async def up(
        self,
        *,
        tell: Callable[[Event], None] = lambda _: None,
        until: Phase | None = None,
        only: tuple[str, ...] = (),
        is_dry_run: bool = False,
        confirm: bool = False,
    ) -> RunResult:
        """One run in this process; what stands in its way fails the test."""
        return await run(
            self.place, tell=tell, until=until, only=only, is_dry_run=is_dry_run, confirm=lambda _: confirm
        )

    async def handover(self, *arguments: str) -> Told:
        """``firstlight handover`` in a thread of this process, as it is typed, with the means of the tests."""

        async def given(*_: object, **__: object) -> Means:
            return means(self.place)

        def run() -> Told:
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main.run(["handover", "--repo", self.place.root, *arguments])
            return Told(code, out.getvalue(), err.getvalue())

        with unittest.mock.patch.object(cli_means, "user_means", given):
            return await asyncio.to_thread(run)

    @property
    def certificate(self) -> str:
        """Where the certificate is."""
        return str(Path(self.place.state) / self.platform.clusters[0].name / "certificate.json")

    def talosctl(self) -> clients_talosctl.Talosctl:
        """The real one, as an administrator of the cluster."""
        config = Path(self.place.state) / self.platform.clusters[0].name / "talosconfig"
        return clients_talosctl.Talosctl(Path(self.place.programs["talosctl"]), talosconfig=Secret(config.read_bytes()))

    async def up_killed(self, at: Killed) -> int:
        """One run in a process of its own that is killed at a moment; its exit code."""
        return (await command.run(self.program(at), env={**os.environ}, check=False, timeout=300)).code

    def program(self, at: Killed, limits: "Limits | None" = None) -> list[str]:
        """The command line of a run in a process of its own."""
        given = [msgspec.json.encode(each).decode() for each in (self.place, at, limits or Limits())]
        return [sys.executable, "-m", "tests.runs", *given]


async def stage(
    home: Path, programs: Mapping[str, Path], *, platform: str = "light", manifests: Mapping[str, Path],
    machines: tuple[machine_settings.VirtualMachine, ...], settings: lab_settings.LabSettings | None = None,
    talos: Talos = "1.13",
) -> Stage:  # fmt: skip
    """A lab of bare machines with Flux's programs and a Git server, and the platform committed to it.

    Args:
        home: A directory of the test's own.
        programs: Of the lab, and talosctl, helm and kustomize.
        platform: One of those beside this file.
        manifests: Files to add to the repo, by path: the engine's manifests.
        machines: Those of the lab, as the platform declares them.
        settings: Of the lab, besides.
        talos: As which one machines treat inline manifests.
    """
    root = home / "repo"
    shutil.copytree(PLATFORMS / platform, root)
    for path, source in manifests.items():
        (root / path).parent.mkdir(exist_ok=True)
        shutil.copy(source, root / path)
    one = running_lab.Lab(lab_directory.LabDirectory(home / "lab"))
    wanted = msgspec.structs.replace(
        settings or FAST, machines=machines, nodes=(), actors=(settings or FAST).actors or ("flux",),
        talos=machine_settings.TalosBehaviour(boot_seconds=0.1, manifests=talos),
    )  # fmt: skip
    await one.up(programs, settings=wanted, owner=os.getpid())
    status = await one.status()
    sources = one.sources()
    repository = await sources.create_git(f"tests/{platform}", access=Access(anonymous="write"))
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
        fetching = FetchClients(programs["helm"], None, ChartCredentials(), frozenset())
        cache = Path(place.state).parent / "cache"
        return Renderer(
            platform, programs=RendererPrograms(helm=programs["helm"], kustomize=programs["kustomize"]),
            store=ChartStore(cache / "charts", fetching, offline=True), cache=RenderCache(cache / "renders"),
        )  # fmt: skip

    async def talos_secrets(cluster: Cluster) -> Secret:
        kept = Path(place.kept)
        if not kept.exists():
            made = await clients_talosctl.Talosctl(programs["talosctl"]).gen_secrets()
            part = kept.with_suffix(".part")
            part.write_bytes(made.reveal())
            part.replace(kept)
        return Secret(kept.read_bytes())

    async def resolve(reference: str) -> Secret:
        assert reference == "env:GREETER_TOKEN"
        return Secret(TOKEN)

    return Means(
        programs=RunPrograms(talosctl=programs["talosctl"], helm=programs["helm"]), state=Path(place.state),
        open_renderer=open_renderer, resolve=resolve, talos_secrets=talos_secrets, revision=place.commit,
        reach=AddressBook(machines=place.reach, kubernetes=place.api), is_rehearsal=True,
        git=Path(shutil.which("git") or "git"),
    )  # fmt: skip


async def run(
    place: Place, *, tell: Callable[[Event], None], confirm: Callable[[str], bool] = lambda _: False,
    until: Phase | None = None, only: tuple[str, ...] = (), is_dry_run: bool = False,
) -> RunResult:  # fmt: skip
    """``up`` with its journal, as the command does it."""
    how = means(place)
    wishes = RunRequest(cluster="", until=until, only=only, is_dry_run=is_dry_run)
    prepared = await up_room.prepare(platform_reader.read(Path(place.root)), wishes, how)
    assert not prepared.is_blocked, "\n".join(f"{each.message} {each.evidence}" for each in prepared.problems)
    begun = up_room.started(prepared, wishes, how)
    with walk.alone(prepared.cluster, how, who=begun.who), Journal.start(how.state, begun) as journal:

        def told(event: Event) -> None:
            journal.write(event)
            tell(event)

        return await up_room.run(prepared, wishes, how, begun=begun, tell=told, confirm=confirm)


async def state(stage: Stage) -> Mapping[str, Any]:
    """Everything in a cluster, without what no two clusters have alike."""
    found: dict[str, Any] = {}
    async with kube.Client(kube.load(stage.lab.kubeconfig)) as client:
        for resource in (await client.catalog(refresh=True)).resources.values():
            if resource.kind in RESTLESS or "list" not in resource.verbs:
                continue
            for each in (await client.list(resource.api_version, resource.kind)).items:
                name = f"{resource.kind} {each['metadata'].get('namespace', '')}/{each['metadata']['name']}"
                if _is_alike(name):
                    found[name] = _owners(each)
    return found


def _is_alike(name: str) -> bool:
    return not name.startswith(
        ("ConfigMap kube-system/firstlight", "ReplicaSet ", "Secret kube-system/", "Namespace /kube-")
    )


def _owners(obj: Mapping[str, Any]) -> Iterable[str]:
    """Who owns what of an object; that of a Secret is compared, too, by way of its fields only."""
    return sorted(
        f"{each['manager']} {each['operation']} {each.get('subresource', '')} {each.get('fieldsV1')}"
        for each in obj["metadata"].get("managedFields") or ()
        if each.get("subresource") != "status"
    )


def _main(place: Place, at: Killed, limits: Limits) -> None:
    def tell(event: Event) -> None:
        if at.strikes(event) and limits.is_full:
            _fill(max(each.stat().st_size for each in Path(place.state).glob("runs/*.jsonl")) + 20)
        elif at.strikes(event):
            os.kill(os.getpid(), at.signal)

    lease.SECONDS = limits.lease_seconds
    if limits.is_full and at.moment == "start":
        _fill(100)
    try:
        result = asyncio.run(run(place, tell=tell, until=limits.until, only=limits.only))
    except errors.FirstlightError as error:
        sys.exit(f"{error.message}\n{error.hint}")
    sys.exit(0 if result.is_complete else str(result.outcomes))


def _fill(size: int) -> None:
    """Let no file become larger than this any more; files in memory are files, too, so not before it must be."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


if __name__ == "__main__":
    _main(
        msgspec.json.decode(sys.argv[1], type=Place),
        msgspec.json.decode(sys.argv[2], type=Killed),
        msgspec.json.decode(sys.argv[3], type=Limits),
    )
