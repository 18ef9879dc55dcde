"""What a run leaves behind and says, however it ends: the ways in, and that keys must be committed."""

import asyncio
import contextlib
import dataclasses
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.commands.up import up as up_room
from firstlight.execute.loop import RunResult
from firstlight.execute.means import Means, RunRequest
from firstlight.execute.world import RunPrograms, World
from firstlight.gates.gate_parts import GateContext
from firstlight.model import event
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.place import Place
from firstlight.model.plan import Plan
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.model.verdict import Passed
from firstlight.model.work import Work
from tests.unit.execute.test_access_files_user_files import kubeconfig, secret, talosconfig

KEYS = "talos/infra/secrets.sops.yaml"
HERE = Place("firstlight.yaml", 1)
CLUSTER = Cluster(
    name="infra", place=HERE, talos_secrets=f"sops:{KEYS}",
    machines=(Machine(name="cp-1", role=MachineRole.CONTROL_PLANE, place=HERE, address="10.5.0.2"),),
)  # fmt: skip
Carry = Callable[[World], Any]


@dataclasses.dataclass
class Run:
    """A run in a repo of the test's own, of which the steps are one function."""

    root: Path
    monkeypatch: pytest.MonkeyPatch
    told: list[event.Event] = dataclasses.field(default_factory=list)
    merged: tuple[Path, Path] | None = None

    @property
    def own(self) -> Path:
        return self.root / ".firstlight" / "infra"

    @property
    def notes(self) -> list[str]:
        """What was said of the run as a whole."""
        return [each.text for each in self.told if isinstance(each, event.Told) and not each.step]

    def git(self, *words: str) -> None:
        subprocess.run([shutil.which("git") or "git", "-C", str(self.root), *words], check=True, capture_output=True)

    def keys(self) -> None:
        (self.root / KEYS).parent.mkdir(parents=True, exist_ok=True)
        (self.root / KEYS).write_text("encrypted: yes\n")

    async def up(self, carry: Carry, *, is_dry_run: bool = False, is_rehearsal: bool = False) -> None:
        """``up`` whose loop does what is given."""

        class Loop:
            def __init__(self, work: Work, world: World, **_: Any) -> None:
                self._world = world

            async def run(self) -> RunResult:
                await carry(self._world)
                return RunResult(outcomes={"machine:kubeconfig": Passed("")}, writes=0)

        async def resolve(reference: str) -> Secret:
            return Secret(reference)

        async def made(_: Cluster) -> Secret:
            self.keys()
            return Secret("keys")

        self.monkeypatch.setattr(up_room, "Loop", Loop)
        nothing: Any = None
        means = Means(
            programs=RunPrograms(), state=self.root / ".firstlight", open_renderer=nothing, resolve=resolve,
            talos_secrets=made, git=Path(shutil.which("git") or "git"), merged_into=self.merged, now=lambda: 1.77e9,
            is_rehearsal=is_rehearsal,
        )  # fmt: skip
        prepared = up_room.PreparedRun(
            platform=Platform(name="x", root=self.root, engine=None, clusters=(CLUSTER,), components=()),
            cluster=CLUSTER, work=Work(cluster=CLUSTER, plan=Plan(cluster="infra", steps=()), tasks={}),
            ground=GateContext(cluster=CLUSTER, revision="", objects={}), problems=(),
        )  # fmt: skip
        wishes = RunRequest(cluster="infra", is_dry_run=is_dry_run)
        begun = up_room.started(prepared, wishes, means)
        await up_room.run(prepared, wishes, means, begun=begun, tell=self.told.append, confirm=lambda _: False)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    found = Run(tmp_path / "repo", monkeypatch)
    found.root.mkdir()
    found.git("init", "--quiet")
    return found


def reach(world: World) -> None:
    """What the kubeconfig step does when the API is this cluster's."""
    world.kubeconfig, world.talosconfig = secret(kubeconfig()), secret(talosconfig())
    world.on_reached()


class TestAccess:
    @pytest.mark.parametrize("end", [asyncio.CancelledError, KeyboardInterrupt, errors.FirstlightError])
    async def test_a_run_that_does_not_come_to_its_end_has_left_the_ways_in(
        self, run: Run, end: type[BaseException]
    ) -> None:
        async def carry(world: World) -> None:
            reach(world)
            raise end("x")

        with contextlib.suppress(end):
            await run.up(carry)

        assert {each.name for each in run.own.iterdir()} == {"kubeconfig", "talosconfig"}
        assert isinstance(run.told[-1], event.RunEnded)

    async def test_they_are_there_while_the_run_waits_and_are_written_once(self, run: Run, tmp_path: Path) -> None:
        run.merged = (tmp_path / "mine", tmp_path / "mine-talos")

        async def carry(world: World) -> None:
            reach(world)
            assert (run.own / "kubeconfig").stat().st_mode & 0o777 == 0o600
            assert run.merged is not None
            assert all(each.is_file() for each in run.merged)
            (run.own / "kubeconfig").unlink()
            reach(world)  # machines are written to later, and the API is looked for once more

        await run.up(carry)

        assert not (run.own / "kubeconfig").exists()

    async def test_those_of_the_cluster_before_are_replaced(self, run: Run) -> None:
        run.own.mkdir(parents=True)
        (run.own / "kubeconfig").write_text("clusters: [{name: infra, cluster: {certificate-authority-data: old}}]\n")

        async def carry(world: World) -> None:
            reach(world)

        await run.up(carry)

        assert "old" not in (run.own / "kubeconfig").read_text()
        assert not run.notes

    async def test_a_dry_run_leaves_nothing(self, run: Run) -> None:
        async def carry(world: World) -> None:
            reach(world)

        await run.up(carry, is_dry_run=True)

        assert not run.own.exists()

    async def test_a_cluster_that_was_not_reached_has_no_ways_in(self, run: Run) -> None:
        async def carry(world: World) -> None:
            world.kubeconfig = secret(kubeconfig())

        await run.up(carry)

        assert not run.own.exists()


class TestKeys:
    async def test_new_ones_are_spoken_of_at_once_and_when_the_run_is_interrupted(self, run: Run) -> None:
        async def carry(world: World) -> None:
            assert world.talos_secrets is not None
            await world.talos_secrets()
            assert len(run.notes) == 1
            await world.talos_secrets()
            assert len(run.notes) == 1
            raise asyncio.CancelledError

        with pytest.raises(asyncio.CancelledError):
            await run.up(carry)

        assert len(run.notes) == 2
        assert run.notes[1].startswith(f"commit {KEYS}: the keys of infra, encrypted.")
        assert f"git add {KEYS} && git commit" in run.notes[1]
        assert isinstance(run.told[-1], event.RunEnded)

    @pytest.mark.parametrize("is_failed", [False, True], ids=["done", "failed"])
    async def test_later_runs_repeat_it_until_git_has_them(self, run: Run, is_failed: bool) -> None:
        async def carry(_: World) -> None:
            if is_failed:
                raise errors.FirstlightError("x")

        run.keys()
        with contextlib.suppress(errors.FirstlightError):
            await run.up(carry)
        assert len(run.notes) == 1
        run.git("add", KEYS)
        run.told.clear()

        with contextlib.suppress(errors.FirstlightError):
            await run.up(carry)

        assert not run.notes

    async def test_a_rehearsal_has_keys_of_its_own(self, run: Run) -> None:
        async def carry(_: World) -> None:
            pass

        run.keys()
        await run.up(carry, is_rehearsal=True)

        assert not run.notes
