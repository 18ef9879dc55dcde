"""Work on the machines of a lab for tests: the cluster as a repo declares it, and walks on it, killed if told to."""

import asyncio
import contextlib
import dataclasses
import io
import os
import shutil
import signal
import sys
import unittest.mock
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from firstlight.cli import main
from firstlight.cli import means as cli_means
from firstlight.clients import command
from firstlight.commands.node import maintain
from firstlight.commands.node.drain_rules import DrainOptions
from firstlight.execute import lease, live_cluster
from firstlight.execute import walk as execute_walk
from firstlight.execute.loop import RunResult
from firstlight.execute.means import Means
from firstlight.execute.walk import Walk, WalkStage
from firstlight.execute.world import RunPrograms
from firstlight.model.cluster import AddressBook, Cluster, Machine, MachineRole, Network
from firstlight.model.event import Event, Judged, StepEnded, Told, Writing
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.render.component_renderer import Renderer
from firstlight.repo import platform_reader
from tests import machines as tests_machines

PLACE = Place("firstlight.yaml", 1)


class Ground(msgspec.Struct, frozen=True):
    """Everything that another process needs to work on the same machines."""

    program: str
    secrets: str
    """The file that has them."""
    machines: Mapping[str, str]
    """Declared addresses by name."""
    reach: Mapping[str, str]
    api: str
    state: str
    sops: str = ""


@dataclasses.dataclass
class Walked:
    """What came of a walk."""

    result: RunResult
    events: list[Event]
    asked: list[str]

    @property
    def writes(self) -> list[str]:
        """Everything that was written, in its order."""
        return [text for each in self.events if isinstance(each, Writing) for text in each.writes]

    @property
    def told(self) -> list[str]:
        """Everything that was told, verdicts included."""
        return [
            each.text if isinstance(each, Told) else each.reason
            for each in self.events
            if isinstance(each, Told | Judged)
        ]

    @property
    def failures(self) -> list[str]:
        """Why stages have not passed."""
        ended = [each for each in self.events if isinstance(each, StepEnded)]
        return [each.reason for each in ended if each.verdict not in ("passed", "skipped")]


def ground(one: tests_machines.Cluster, home: Path) -> Ground:
    """The way to a lab of machines, with a directory for what is known of it."""
    home.mkdir(exist_ok=True)
    secrets = home / "secrets.yaml"
    secrets.write_bytes(one.secrets.reveal())
    reach = {one.declared[name]: one.loopbacks[name] for name in one.declared}
    return Ground(
        program=str(one.program), secrets=str(secrets), machines=dict(one.declared), reach=reach, api=one.api,
        state=str(home / "state"),
    )  # fmt: skip


def repo(place: Ground, root: Path, *, patches: Mapping[str, str] = {}) -> Platform:
    """A repo that declares the machines as they are, with more patches for some of them, by name."""
    root.mkdir(exist_ok=True)
    for number, text in enumerate([tests_machines.BARE, tests_machines.INLINE, tests_machines.GRACE]):
        (root / f"planes-{number}.yaml").write_text(text)
    lines = ["apiVersion: firstlight.dev/v1alpha1", "kind: Platform", "metadata: {name: lab}", "gitops: {engine: flux}"]
    # As the configs of the machines were made: by fields, which newer ones take as they are.
    lines += ["clusters:", "  lab:", "    talos: v1.13.0", "    kubernetes: v1.36.0"]
    lines += [f"    network: {{endpoint: {place.api!r}}}"]
    lines += [
        "    talosSecrets: env:UNUSED",
        "    controlPlane: {patches: [planes-0.yaml, planes-1.yaml, planes-2.yaml]}",
        "    machines:",
    ]
    for name, address in place.machines.items():
        role = "worker" if name.startswith("worker") else "controlplane"
        (root / f"{name}.yaml").write_text(patches.get(name, "machine: {}\n"))
        image = tests_machines.IMAGE
        lines.append(
            f"      - {{name: {name}, address: {address}, role: {role}, image: {image!r}, patches: [{name}.yaml]}}"
        )
    (root / "firstlight.yaml").write_text("\n".join(lines) + "\n")
    return platform_reader.read(root)


def declared(place: Ground) -> Cluster:
    """The cluster as a repo declares it."""
    roles = {True: MachineRole.WORKER, False: MachineRole.CONTROL_PLANE}
    machines = tuple(
        Machine(name=name, role=roles[name.startswith("worker")], place=PLACE, address=address)
        for name, address in place.machines.items()
    )
    return Cluster(name="lab", place=PLACE, machines=machines, network=Network(endpoint=place.api))


def machine(place: Ground, name: str) -> Machine:
    """One of its machines."""
    return next(each for each in declared(place).machines if each.name == name)


def means(place: Ground) -> Means:
    """How work on it comes by the world."""

    async def open_renderer(platform: Platform) -> Renderer:
        raise AssertionError("nothing is rendered")

    async def resolve(reference: str) -> Secret:
        raise AssertionError(reference)

    async def talos_secrets(cluster: Cluster) -> Secret:
        return Secret(Path(place.secrets).read_bytes())

    return Means(
        programs=RunPrograms(talosctl=Path(place.program), sops=Path(place.sops) if place.sops else None),
        state=Path(place.state), open_renderer=open_renderer, resolve=resolve, talos_secrets=talos_secrets,
        reach=AddressBook(machines=place.reach, kubernetes=place.api),
        git=Path(shutil.which("git") or "git"),
    )  # fmt: skip


async def walk(
    place: Ground, stages: Sequence[WalkStage], *, tell: Callable[[Event], None] = lambda _: None, is_yes: bool = True
) -> Walked:
    """Carry stages out as a command does, without its screen and its journal."""
    events: list[Event] = []
    asked: list[str] = []

    def told(event: Event) -> None:
        events.append(event)
        tell(event)

    def confirm(danger: str) -> bool:
        asked.append(danger)
        return is_yes

    how = means(place)
    one = Walk(cluster=declared(place), command="node", again="", stages=tuple(stages))
    begun = execute_walk.started(one, how)
    async with live_cluster.reached(one.cluster, how) as world:
        world.patience = 30.0
        result = await execute_walk.run(one, world, how, begun=begun, tell=told, confirm=confirm)
    return Walked(result, events, asked)


@dataclasses.dataclass(frozen=True)
class Answered:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The answer as JSON."""
        return msgspec.json.decode(self.out)


async def typed(place: Ground, root: Path, *arguments: str) -> Answered:
    """``firstlight node`` in a thread of this process, as it is typed, with the means of the tests."""

    async def given(*_: object, **__: object) -> Means:
        return means(place)

    def run() -> Answered:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main.run(["node", *arguments, "--repo", str(root)])
        return Answered(code, out.getvalue(), err.getvalue())

    with unittest.mock.patch.object(cli_means, "user_means", given):
        return await asyncio.to_thread(run)


class At(msgspec.Struct, frozen=True):
    """Where a walk is killed: before the first write of a stage, or after its end."""

    machine: str
    stage: str
    moment: str

    def strikes(self, event: Event) -> bool:
        """Whether this is the moment."""
        kind = {Writing: "before", StepEnded: "after"}.get(type(event))
        step = f"{self.machine}:{self.stage}"
        return kind == self.moment and isinstance(event, Writing | StepEnded) and event.step == step


async def killed(place: Ground, at: At) -> None:
    """A machine maintained in a process of its own that is killed at a moment."""
    given = [msgspec.json.encode(each).decode() for each in (place, at)]
    done = await command.run(
        [sys.executable, "-m", "tests.nodes", *given], env={**os.environ}, check=False, timeout=120
    )
    assert done.code == -signal.SIGKILL, done.stderr


def _main(place: Ground, at: At) -> None:
    def tell(event: Event) -> None:
        if at.strikes(event):
            os.kill(os.getpid(), signal.SIGKILL)

    lease.SECONDS = 2
    asked = maintain.NodeMaintainOptions(drain=DrainOptions(may_lose_scratch=True))
    stages = maintain.maintain_stages(machine(place, at.machine), asked)
    found = asyncio.run(walk(place, stages, tell=tell))
    sys.exit(0 if found.result.is_complete else str(found.failures))


if __name__ == "__main__":
    _main(msgspec.json.decode(sys.argv[1], type=Ground), msgspec.json.decode(sys.argv[2], type=At))
