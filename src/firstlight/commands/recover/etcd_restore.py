"""etcd brought back where it has lost its quorum or its data: restored on the first control plane, the others join.

As Talos says for a disaster: the control planes are emptied (``EPHEMERAL``; their configs stay), the first declared one
is bootstrapped from a snapshot, the others join by themselves. Then everything that remembers what the API said begins
anew, since resource versions have gone backwards.

Walk these stages in a world that is not connected (``reaching.unconnected``): the lease of a run lies in the very etcd
that is wiped. Killed anywhere and run again they go on; ``etcd_record`` says how far it is.
"""

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.commands.backup import encryption, etcd_snapshot
from firstlight.commands.backup.backup_signature import SignerTrust
from firstlight.commands.node import machine_ready
from firstlight.commands.node.machine_ready import ExpectedMachine
from firstlight.commands.recover import client_restarts, etcd_recovery
from firstlight.commands.recover.etcd_recovery import EtcdRecovery, OpenedSnapshot
from firstlight.execute import cluster_access, durable_store
from firstlight.execute.actions import kubeconfig
from firstlight.execute.gate_wait import POLL
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import etcd, machine_stage
from firstlight.model import machine as model_machine
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.machine_report import EtcdData, MachineReport, MachineStanding
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict
from firstlight.model.work import FetchKubeconfig
from firstlight.observe import machine_survey
from firstlight.observe.machine_survey import MachineAccess
from firstlight.render import private_directory

TIMEOUT = 1800.0
"""Seconds for machines to reboot, and for members to join: servers take ten minutes to check their memory."""
LABELS = ("EPHEMERAL",)
"""What is wiped: etcd's data, images and logs of pods. The config stays, on STATE."""
_AGAIN = "Run the same command again: it goes on."


def stages(
    cluster: Cluster, *, source: Path | None, root: Path, now: float, timeout: float = TIMEOUT,
    trusted: SignerTrust | None = None,
) -> tuple[WalkStage, ...]:  # fmt: skip
    """The stages, in their order.

    Args:
        cluster: As declared.
        source: A backup's directory or a snapshot's file; None for what a member that is left has, where etcd has
            only lost its quorum.
        root: The repo, whose .sops.yaml says for whom what is left of etcd is encrypted.
        now: When it was asked for.
        timeout: Seconds for each wait.
        trusted: Whose backups are restored; nobody's if it is not given.
    """
    one = _Recovery(cluster, source, root, now=now, timeout=timeout, trusted=trusted or SignerTrust())
    back = [one.back(each) for each in cluster.machines]
    restarts = client_restarts.stages(cluster, timeout=timeout)
    return (
        WalkStage(id="etcd:check", name="what is restored, and onto what", look=one.check),
        WalkStage(id="etcd:keep", name="what is left of etcd", look=one.keep),
        WalkStage(id="etcd:wipe", name="etcd wiped", look=one.wipe),
        WalkStage(id="etcd:restore", name="etcd restored", look=one.restore, wait=one.is_restored),
        WalkStage(id="etcd:members", name="the others join", wait=one.have_joined),
        WalkStage(id="etcd:api", name="the API answers", look=one.connect),
        client_restarts.kubelets(cluster),
        restarts[0],
        *back,
        dataclasses.replace(restarts[1], needs=tuple(each.id for each in back) or ("etcd:network",)),
        restarts[2],
        WalkStage(id="etcd:done", name="the recovery is over", wait=one.end),
    )


class _Recovery:
    """What the stages share."""

    def __init__(
        self, cluster: Cluster, source: Path | None, root: Path, *, now: float, timeout: float, trusted: SignerTrust
    ) -> None:
        self._cluster = cluster
        self._source = source
        self._root = root
        self._now = now
        self._timeout = timeout
        self._trusted = trusted
        self._opened: OpenedSnapshot | None = None

    @property
    def _planes(self) -> tuple[Machine, ...]:
        return tuple(each for each in self._cluster.machines if each.role is MachineRole.CONTROL_PLANE)

    async def check(self, world: World) -> PendingChange | None:
        """Everything that speaks against it, before anything is wiped; one question about all of it."""
        record = self._record(world)
        if record is not None and record.source == str(self._source or ""):
            return None
        if record is not None:
            _refuse_another(record, self._cluster)
        way = await cluster_access.ensure(world)
        reports = await machine_survey.look_at_all(self._planes, way, with_etcd=True)
        there = _answering(reports, self._cluster)
        what = await self._described(reports, world)
        danger = (
            f"etcd of {self._cluster.name} is made anew from {what}; etcd's data on {', '.join(there)} is wiped, and "
            f"{'it reboots' if len(there) == 1 else 'they reboot'}"
        )

        async def perform() -> None:
            kept = record.kept if record is not None else ""
            begun = EtcdRecovery(source=str(self._source or ""), begun=self._now, planes=there, kept=kept)
            etcd_recovery.write(begun, world.state, self._cluster.name)

        return PendingChange(writes=("begin to recover etcd",), perform=perform, danger=danger)

    async def keep(self, world: World) -> PendingChange | None:
        """What is left of etcd is kept, encrypted, before it is wiped: it may be newer than any backup."""
        record = self._require(world)
        if record.phase != "wiping" or record.kept:
            return None
        way = await cluster_access.ensure(world)
        reports = await machine_survey.look_at_all(self._members(record), way, with_etcd=True)
        left = [
            each.machine
            for each in reports
            if each.standing is MachineStanding.OURS and each.etcd.data is EtcdData.SOME
        ]
        if not left:
            if self._source is None:
                raise errors.Refused("no member is left that has data", hint="Restore a backup: firstlight backup list")
            return None
        path = etcd_snapshot.place(world.state, self._cluster.name, self._now)

        async def perform() -> None:
            if await self._kept(left, path, world, way):
                changed = dataclasses.replace(self._require(world), kept=str(path))
                etcd_recovery.write(changed, world.state, self._cluster.name)

        return PendingChange(writes=(f"keep what is left of etcd: {path.name}",), perform=perform)

    async def wipe(self, world: World) -> PendingChange | None:
        """Every control plane that answers is emptied; one that joined again, since another lived on, once more."""
        record = self._require(world)
        if record.phase != "wiping":
            return None
        way = await cluster_access.ensure(world)
        members = self._members(record)
        reports = await machine_survey.look_at_all(members, way, with_etcd=True)
        names = [each.machine.name for each in reports if each.etcd.data is not EtcdData.NONE]
        if not names:
            return None
        await self._snapshot(world)  # what cannot be opened any more must not cost what is left
        return PendingChange(
            writes=tuple(f"wipe {LABELS[0]} of {each}" for each in names),
            perform=lambda: _wiped(members, way, world, timeout=self._timeout),
        )

    async def restore(self, world: World) -> PendingChange | None:
        """On the first declared control plane, and only there: a second bootstrap would be a split brain."""
        record = self._require(world)
        if record.phase == "restored":
            return None
        way = await cluster_access.ensure(world)
        first = self._planes[0]
        reports = await machine_survey.look_at_all(self._members(record), way, with_etcd=True)
        has_data = [each.machine.name for each in reports if each.etcd.data is not EtcdData.NONE]
        if record.phase == "restoring" and first.name in has_data:
            # All were empty when it began, so that this is what was restored; the answer to the call was lost.
            return PendingChange(
                writes=(f"write down that {first.name} is restored",), perform=lambda: self._restored(world)
            )
        if has_data:
            raise errors.Refused(f"etcd is not restored: {', '.join(has_data)} is not empty", hint=_AGAIN)
        opened = await self._snapshot(world)

        async def perform() -> None:
            self._write(world, phase="restoring")
            await _bootstrapped(first, opened.path, way, world, timeout=self._timeout)
            await self._restored(world)

        return PendingChange(
            writes=(f"restore etcd on {first.name}: {len(opened.store.keys)} keys at {opened.store.revision}",),
            perform=perform,
        )

    async def _restored(self, world: World) -> None:
        self._write(world, phase="restored", restored=time.time())

    async def is_restored(self, world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        """Wait until the first member is well by itself."""
        return await self._well(self._planes[:1], world, on_verdict)

    async def have_joined(self, world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        """Wait until every control plane that was emptied is a member."""
        record = self._require(world)
        away = [each.name for each in self._planes if each.name not in record.planes]
        if away:
            world.tell(
                "etcd:members",
                f"{', '.join(away)} was not there: with its old data it joins nobody. When it is back, wipe it: "
                f"talosctl reset --graceful=false --reboot --system-labels-to-wipe={LABELS[0]}",
            )
        return await self._well(self._members(record), world, on_verdict)

    async def connect(self, world: World) -> PendingChange | None:
        """Come by the API, and see that it is the same cluster's as before."""
        if not world.is_connected:
            planes = tuple(each for each in self._planes if each.name in self._require(world).planes)
            return await kubeconfig.look(FetchKubeconfig(control_planes=planes), world, "etcd:api")
        return None

    def back(self, machine: Machine) -> WalkStage:
        """A machine is well again; one that did not answer before is not waited for."""

        async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
            if machine.name not in self._require(world).planes:
                report = await machine_survey.look_at(machine, await cluster_access.ensure(world))
                if report.standing is not MachineStanding.OURS:
                    return Skipped(f"{machine.name} {machine_stage.state_of(report)}"), ""
            return await machine_ready.wait_ready(
                machine, world, on_verdict, expected=ExpectedMachine(), timeout=self._timeout
            )

        return WalkStage(id=f"{machine.name}:back", name=f"{machine.name} is well", wait=wait, needs=("etcd:network",))

    async def end(self, world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        """Write down that it is over."""
        self._write(world, phase="done")
        return Passed(), ""

    def _record(self, world: World) -> EtcdRecovery | None:
        return etcd_recovery.read(world.state, self._cluster.name)

    def _require(self, world: World) -> EtcdRecovery:
        found = self._record(world)
        if found is None:
            raise errors.Refused("somebody has taken the record of this recovery away", hint="Begin anew.")
        return found

    def _write(self, world: World, **changes: object) -> None:
        changed = dataclasses.replace(self._require(world), **changes)  # type: ignore[arg-type]
        etcd_recovery.write(changed, world.state, self._cluster.name)

    def _members(self, record: EtcdRecovery) -> tuple[Machine, ...]:
        return tuple(each for each in self._planes if each.name in record.planes)

    async def _described(self, reports: Sequence[MachineReport], world: World) -> str:
        """What etcd is restored from, opened to see that it can be."""
        if self._source is None:
            left = [each.machine.name for each in reports if each.etcd.data is EtcdData.SOME]
            if not left:
                raise errors.Refused(
                    f"no control plane of {self._cluster.name} has data of etcd",
                    hint="Restore a backup: firstlight backup list",
                )
            refused = await encryption.encryption_refusal(self._cluster, world.programs, root=self._root)
            if refused is not None:
                raise errors.Refused(f"what is left of etcd: {refused.message}", hint=refused.fix)
            return f"what {' or '.join(left)} still has"
        opened = await self._snapshot(world)
        world.tell("etcd:check", f"{self._source.name}: {opened.says}")
        return (
            f"{self._source.name} ({len(opened.store.keys)} keys at revision {opened.store.revision}; {opened.says}): "
            "what was written since then is lost"
        )

    async def _snapshot(self, world: World) -> OpenedSnapshot:
        """What is restored, opened once."""
        if self._opened is None:
            source = self._source or Path(self._require(world).kept)
            trusted = self._trusted if self._source is not None else None
            self._opened = await etcd_recovery.opened(source, world, trusted=trusted, now=self._now)
        return self._opened

    async def _kept(self, left: Sequence[Machine], path: Path, world: World, way: MachineAccess) -> bool:
        """Keep the newest of what members have; whether there was any."""
        with private_directory.create("etcd") as home:
            taken: list[model_machine.EtcdSnapshot] = []
            for each in left:
                try:
                    taken.append(await way.admin.etcd_snapshot(way.at(each), home / each.name))
                except talosctl.TalosError as error:
                    world.tell("etcd:keep", f"{each.name} gives no snapshot: {error.detail}")
            try:
                if not taken:
                    raise errors.Refused("no member gives what it has", hint="firstlight backup list")
                by = encryption.encryption_of(self._cluster, world.programs, root=self._root)
                newest = max(taken, key=lambda each: each.revision)
                await etcd_snapshot.seal(newest.path, home / "encrypted", by)
                durable_store.write_beside_journal((home / "encrypted").read_bytes(), path)
            except errors.FirstlightError as error:
                if self._source is None:
                    raise
                world.tell("etcd:keep", f"what is left of etcd is not kept: {error.message}")
                return False
        world.tell("etcd:keep", f"{newest.keys} keys at revision {newest.revision}: {path}")
        return True

    async def _well(
        self, machines: Sequence[Machine], world: World, on_verdict: OnVerdict
    ) -> tuple[Verdict, str]:  # fmt: skip
        way = await cluster_access.ensure(world)
        deadline = time.monotonic() + self._timeout
        last: Verdict | None = None
        while True:
            verdict = etcd.judge(await machine_survey.look_at_all(machines, way, with_etcd=True))
            if verdict != last:
                last = verdict
                on_verdict(verdict)
            if isinstance(verdict, Passed | Failed) or time.monotonic() >= deadline:
                return verdict, "" if isinstance(verdict, Passed) else f"See: talosctl logs etcd. {_AGAIN}"
            await asyncio.sleep(POLL)


def _refuse_another(record: EtcdRecovery, cluster: Cluster) -> None:
    """Something else may be chosen as long as nothing was restored."""
    if record.phase != "wiping":
        before = record.source or "what a member had"
        raise errors.Refused(
            f"a recovery of {cluster.name} from {before} is under way, and etcd was restored from it",
            hint="Let it come to its end first, with the same command as before.",
        )


def _answering(reports: Sequence[MachineReport], cluster: Cluster) -> tuple[str, ...]:
    """The control planes that are made anew.

    Raises:
        errors.Refused: The first is not there; or so many are away that they could be a second etcd when they are back.
    """
    if not reports:
        raise errors.Refused(f"the repo has no control planes of {cluster.name}")
    strange = [each for each in reports if each.standing is MachineStanding.FOREIGN]
    if strange:
        raise errors.Refused(f"{strange[0].machine.name}: {strange[0].why}")
    first = reports[0]
    if first.standing is not MachineStanding.OURS:
        raise errors.Refused(
            f"etcd is restored on {first.machine.name}, the first control plane that is declared, and it "
            f"{machine_stage.state_of(first)}",
            hint="Bring it back, or give it its config: firstlight up. One that is gone for good is taken out of the "
            "repo first.",
        )
    there = tuple(each.machine.name for each in reports if each.standing is MachineStanding.OURS)
    away = [each.machine.name for each in reports if each.standing is MachineStanding.ABSENT]
    if len(away) > len(reports) // 2:
        raise errors.Refused(
            f"{', '.join(away)} do not answer: with the data that they have they would be a second etcd when they are "
            "back",
            hint="Bring them back, or take those that are gone for good out of the repo.",
        )
    return there


async def _wiped(members: Sequence[Machine], way: MachineAccess, world: World, *, timeout: float) -> None:
    """Wipe all of them at once, and wait until every one is back and empty.

    Raises:
        errors.TimedOut: One is not.
    """
    deadline = time.monotonic() + timeout
    sent: dict[str, str] = {}
    while True:
        reports = await machine_survey.look_at_all(members, way, with_etcd=True)
        full = [each for each in reports if each.etcd.data is not EtcdData.NONE]
        if not full and all(each.standing is MachineStanding.OURS for each in reports):
            return
        await asyncio.gather(
            *(_reset(each, way, world, sent) for each in full if each.standing is MachineStanding.OURS)
        )
        if time.monotonic() >= deadline:
            said = "; ".join(f"{each.machine.name} {machine_stage.state_of(each)}" for each in full)
            raise errors.TimedOut(f"etcd is not empty everywhere: {said}", target=full[0].machine.name if full else "")
        await asyncio.sleep(POLL)


async def _reset(report: MachineReport, way: MachineAccess, world: World, sent: dict[str, str]) -> None:
    """Wipe one that has data, once in each of its boots."""
    machine = report.machine
    with contextlib.suppress(talosctl.TalosError):  # it is on its way down or up: the next look tells
        boot = await way.admin.boot_id(way.at(machine))
        if sent.get(machine.name) == boot or (report.etcd.data is EtcdData.UNKNOWN and machine.name in sent):
            return
        await way.admin.reset(
            way.at(machine), graceful=False, reboot=True, wipe="system-disk", system_labels=LABELS, wait=False
        )
        sent[machine.name] = boot
        world.tell("etcd:wipe", f"{machine.name} wipes its {LABELS[0]}, and reboots")


async def _bootstrapped(first: Machine, path: Path, way: MachineAccess, world: World, *, timeout: float) -> None:
    """Give the snapshot to the first machine; it may say for a while that it is not ready."""
    deadline = time.monotonic() + timeout
    said = ""
    while True:
        try:
            await way.admin.bootstrap(way.at(first), recover_from=path)
        except talosctl.TalosAlreadyDone:
            world.tell("etcd:restore", f"{first.name}: etcd has data already")
            return
        except (talosctl.TalosNotReady, talosctl.TalosUnreachable, talosctl.TalosTimedOut) as error:
            if time.monotonic() >= deadline:
                raise
            if error.detail != said:
                said = error.detail
                world.tell("etcd:restore", f"{first.name}: not ready yet: {said}")
            await asyncio.sleep(POLL)
        else:
            return
