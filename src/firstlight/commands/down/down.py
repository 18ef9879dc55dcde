"""A test cluster taken down: its machines are wiped and boot into maintenance mode again. What others own is left."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import means as cli_means
from firstlight.cli import output, which_cluster, which_repo
from firstlight.clients import kube
from firstlight.commands.down.output_form import DownData, LeftAloneData, WipedData
from firstlight.drawing import safe
from firstlight.execute import access_files, cluster_access
from firstlight.execute import lease as execute_lease
from firstlight.execute.lease import SECONDS, Lease
from firstlight.execute.means import Means
from firstlight.execute.overrides import override_records
from firstlight.execute.world import World
from firstlight.journal import run_identity, state_files
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.platform import Platform
from firstlight.observe import machine_survey
from firstlight.observe.machine_survey import MachineAccess

WIPED = ("STATE", "EPHEMERAL")
"""Config and data; the installed system stays, and boots into maintenance mode."""
TIMEOUT = 300.0
POLL = 0.5
ANSWERS = SECONDS + 10.0
"""Seconds for the lease: a holder that was killed is waited for, an API that does not answer is not."""
GIVEN_BACK = 3.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class DownTarget:
    """What would be taken down."""

    cluster: Cluster
    ours: tuple[Machine, ...]
    """Machines that run with the keys of this cluster: only these are wiped."""
    left: tuple[MachineReport, ...]
    """The others: bare already, silent, or somebody else's."""
    way: MachineAccess


async def find(cluster: Cluster, means: Means) -> DownTarget:
    """The machines of a cluster, by whose they are now; nothing is changed.

    Raises:
        errors.Refused: There are no machines to wipe, or no keys to them, or a run of this computer works on them.
    """
    if not cluster.machines or any(each.id for each in cluster.machines):
        raise errors.Refused(
            f"{cluster.name} has no machines that firstlight could wipe",
            hint="Clusters of Omni are deleted there: omnictl cluster delete",
        )
    execute_lease.check_local_lock(means.state / cluster.name / "lock")
    world = World(
        cluster=cluster, programs=means.programs, resolve=means.resolve, state=means.state, reach=means.reach,
        talos_secrets=lambda: means.talos_secrets(cluster),
    )  # fmt: skip
    way = await cluster_access.ensure(world)
    reports = await machine_survey.look_at_all(cluster.machines, way)
    return DownTarget(
        cluster=cluster,
        ours=tuple(each.machine for each in reports if each.standing == MachineStanding.OURS),
        left=tuple(each for each in reports if each.standing != MachineStanding.OURS),
        way=way,
    )


async def take_down(found: DownTarget, means: Means, *, tell: Callable[[str], None]) -> None:
    """Wipe what was found, workers first: etcd's members are of no use to each other any more.

    Raises:
        errors.Refused: A run works on this cluster, here or elsewhere.
        errors.ClientError: A machine does not do it; it says which, and the others of its kind are wiped.
    """
    own = means.state / found.cluster.name
    async with _alone(found.cluster, means, tell) as still_alone:
        workers = [each for each in found.ours if each.role == MachineRole.WORKER]
        others = [each for each in found.ours if each.role != MachineRole.WORKER]
        for group in (workers, others):
            await still_alone()
            # All of them come to their end: a machine that was told to wipe itself does so, whatever another one says.
            ended = await asyncio.gather(*[_wipe(each, found.way, tell) for each in group], return_exceptions=True)
            _judge(group, ended, found.cluster)
        override_records.close_local(
            cluster=found.cluster.name, state=means.state, who=run_identity.who().rpartition(":")[0], now=means.now(),
            tell=tell,
        )  # fmt: skip
        # The next cluster of this name is another one.
        identity = own / "identity.json"
        state_files.check(identity)
        identity.unlink(missing_ok=True)


@contextlib.asynccontextmanager
async def _alone(
    cluster: Cluster, means: Means, tell: Callable[[str], None]
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Held while machines are wiped: the lock of this computer, and the cluster's lease as far as its API answers.

    What it gives is asked before each write. A cluster that is broken can be taken down, too.
    """
    own = means.state / cluster.name
    with execute_lease.local_lock(own / "lock", who=f"{run_identity.who()}: firstlight down"):
        config = _kept(own / "kubeconfig")
        if config is None:
            tell("there is no way to the API: whether a run elsewhere works on this cluster is not known")
            yield _nobody_to_ask
            return
        async with kube.Client(config, agent="down") as client:
            lease = Lease(client, holder=execute_lease.holder_name("down"), now=means.now, tell=tell)

            async def claim() -> None:
                try:
                    async with asyncio.timeout(ANSWERS):
                        is_new = await lease.claim()
                except (errors.ClientError, TimeoutError):
                    tell("the API does not answer: whether a run elsewhere works on this cluster is not known")
                    return
                if is_new:
                    await _copied(client, cluster, means, tell)

            try:
                yield claim
            finally:
                # Where the API is gone with its machines, there is nothing left to give back.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(GIVEN_BACK):
                        await lease.release()


async def _copied(client: kube.Client, cluster: Cluster, means: Means, tell: Callable[[str], None]) -> None:
    """Keep records of overrides that go with the cluster; one that cannot be read keeps nobody from going on."""
    try:
        async with asyncio.timeout(ANSWERS):
            await override_records.copy_all(client, cluster=cluster.name, state=means.state)
    except (errors.FirstlightError, TimeoutError) as error:
        tell(f"which overrides are open is not known: {str(error) or 'the API does not answer'}")


async def _nobody_to_ask() -> None:
    pass


def _kept(path: Path) -> kube.ClientConfig | None:
    """The way to the API that ``up`` has left."""
    try:
        return access_files.kept_kubeconfig(path) if state_files.is_file(path) else None
    except errors.ConfigError:
        return None


def _judge(group: Sequence[Machine], ended: Sequence[BaseException | None], cluster: Cluster) -> None:
    """One error for all machines that failed; what nobody expects is passed on."""
    failed = {}
    for machine, error in zip(group, ended, strict=True):
        if isinstance(error, errors.FirstlightError):
            failed[machine.name] = error
        elif error is not None:
            raise error
    if failed:
        raise errors.ClientError(
            "; ".join(f"{name} was not wiped: {error.message}" for name, error in failed.items()),
            target=", ".join(failed),
            hint=f"The others of them are bare. Run it again: firstlight down {cluster.name}",
        )


async def _wipe(machine: Machine, way: MachineAccess, tell: Callable[[str], None]) -> None:
    tell(f"{machine.name}: is told to wipe itself")
    await way.admin.reset(
        way.at(machine), graceful=False, reboot=True, wipe="system-disk", system_labels=WIPED, wait=False
    )  # fmt: skip
    try:
        async with asyncio.timeout(TIMEOUT):
            while True:
                if (await machine_survey.look_at(machine, way)).standing == MachineStanding.MAINTENANCE:
                    break
                await asyncio.sleep(POLL)
    except TimeoutError:
        message = f"it is not in maintenance mode after {TIMEOUT:g} s"
        raise errors.ClientError(message, target=machine.name, hint="Look at its console.") from None
    tell(f"{machine.name}: is wiped, in maintenance mode")


# The command: what is wiped is told, and confirmed by typing the name.


def command(root: Path | None, name: str, *, confirm: str, form: str) -> int:
    """Wipe the machines of a cluster of a repo; return the exit code."""
    return asyncio.run(confirm_and_wipe(which_repo.platform(root), name, confirm, form))


async def confirm_and_wipe(platform: Platform, name: str, confirm: str, form: str = "text") -> int:
    """Say what is wiped, ask for the name, and wipe it; return the exit code."""
    means = await cli_means.user_means(platform, keep=False)
    try:
        found = await find(which_cluster.cluster_of(platform, name), means)
    finally:
        await means.close()
    # Of a JSON answer standard output is the answer alone.
    where = sys.stderr if form == "json" else sys.stdout

    def say(text: str) -> None:
        print(safe.text(text), file=where, flush=True)

    for each in found.left:
        say(f"  {each.machine.name:16} left alone: {each.standing}{f', {each.why}' if each.why else ''}")
    for machine in found.ours:
        say(f"  {machine.name:16} {machine.address:16} will be wiped: config, etcd, everything on it")
    if found.ours:
        _confirmed(name, confirm)
        await take_down(found, means, tell=lambda text: say(f"  {text}"))
    many = f"{len(found.ours)} machines are" if len(found.ours) != 1 else "1 machine is"
    text = f"{many} bare again; next: firstlight up {safe.text(found.cluster.name)}"
    output.answer(form, text if found.ours else "there is nothing to wipe", _data(found))
    return 0


def _data(found: DownTarget) -> DownData:
    left: list[LeftAloneData] = [
        {"name": each.machine.name, "standing": str(each.standing), "why": each.why} for each in found.left
    ]
    wiped: list[WipedData] = [{"name": each.name, "address": each.address} for each in found.ours]
    return {"cluster": found.cluster.name, "wiped": wiped, "left": left}


def _confirmed(name: str, given: str) -> None:
    if not given and sys.stdin.isatty():
        asked = f"Type the name of the cluster to wipe {name}'s machines"
        given = click.prompt(asked, default="", show_default=False, err=True)
    if given != name:
        raise errors.Refused("not confirmed: nothing was wiped", hint=f"Type the name, or give --confirm {name}.")
