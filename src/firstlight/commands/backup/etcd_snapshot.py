"""A snapshot of etcd, taken through Talos from a member that is well. It holds every Secret: see ``sealing``."""

import dataclasses
import gzip
from pathlib import Path

from firstlight import errors
from firstlight.commands.backup import backup_manifest, encryption
from firstlight.commands.backup.encryption import BackupEncryption
from firstlight.execute import cluster_access, durable_store, gate_wait
from firstlight.execute.walk import WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import etcd
from firstlight.model import machine as model_machine
from firstlight.model.cluster import Cluster, Machine
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.secret import Secret
from firstlight.observe import machine_survey
from firstlight.render import private_directory

ID = "etcd:snapshot"
SUFFIX = ".snapshot.gz.sops"


@dataclasses.dataclass(frozen=True, kw_only=True)
class TakenSnapshot:
    """A snapshot, and whose it is."""

    machine: Machine
    snapshot: model_machine.EtcdSnapshot


async def refusal(cluster: Cluster, world: World, *, root: Path, without: str) -> Diagnostic | None:
    """Why no snapshot could be kept; None where one can.

    Args:
        cluster: Of which cluster.
        world: Its programs.
        root: The repo.
        without: How to go on without one: ``--no-snapshot``.
    """
    found = await encryption.encryption_refusal(cluster, world.programs, root=root)
    if found is None:
        return None
    fix = f"{found.fix} Or go on without one: {without}".strip()
    return dataclasses.replace(found, message=f"a snapshot of etcd: {found.message}", fix=fix)


def stage(cluster: Cluster, *, root: Path, now: float) -> WalkStage:
    """A snapshot, taken from a member that is well, and kept beside the journal."""

    async def look(world: World) -> PendingChange | None:
        path = place(world.state, cluster.name, now)
        return PendingChange(
            writes=(f"keep a snapshot of etcd: {path.name}",), perform=lambda: _keep(path, cluster, world, root)
        )

    return WalkStage(id=ID, name="snapshot of etcd", look=look)


def place(state: Path, cluster: str, now: float) -> Path:
    """Where the snapshot of a moment is kept."""
    return state / cluster / "etcd" / f"{backup_manifest.stamp(now)}{SUFFIX}"


async def take(world: World, into: Path) -> TakenSnapshot:
    """Take one, in the clear, into a private place.

    Raises:
        errors.Refused: No member is well.
        errors.ClientError: The machine does not give it.
    """
    way = await cluster_access.ensure(world)
    reports = await machine_survey.look_at_all(gate_wait.control_planes(world), way, with_etcd=True)
    well = [each.machine for each in reports if etcd.is_well(each)]
    if not well:
        raise errors.Refused(
            f"no member of etcd of {world.cluster.name} is well: no snapshot can be taken",
            hint=f"What is wrong: firstlight doctor {world.cluster.name}",
        )
    return TakenSnapshot(machine=well[0], snapshot=await way.admin.etcd_snapshot(way.at(well[0]), into))


async def seal(snapshot: Path, into: Path, by: BackupEncryption) -> None:
    """Pack a snapshot and encrypt it."""
    packed = Secret(gzip.compress(snapshot.read_bytes(), compresslevel=6))
    await by.encrypt(packed, into, about="the snapshot of etcd")


async def _keep(path: Path, cluster: Cluster, world: World, root: Path) -> None:
    by = encryption.encryption_of(cluster, world.programs, root=root)
    with private_directory.create("etcd") as home:
        taken = (await take(world, home / "snapshot")).snapshot
        await seal(taken.path, home / "encrypted", by)
        durable_store.write_beside_journal((home / "encrypted").read_bytes(), path)
    world.tell(ID, f"{taken.keys} keys at revision {taken.revision}: sops decrypt {path} | gunzip > etcd.snapshot")
