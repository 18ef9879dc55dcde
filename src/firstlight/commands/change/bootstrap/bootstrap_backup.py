"""What is kept before bootstrap changes anything: a snapshot of etcd, and the configs that machines have.

Both hold every secret of the cluster, so that they are written encrypted, for those who can read its Talos secrets, and
not at all where nothing says for whom. How to get at them: docs/change.md.
"""

from pathlib import Path

from firstlight import errors
from firstlight.commands.backup import backup_contents, backup_manifest, encryption, etcd_snapshot
from firstlight.commands.change.ongoing_change import OngoingChange
from firstlight.execute import durable_store
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.verdict import Passed, Skipped, Verdict
from firstlight.render import private_directory

_WITHOUT = "--no-backup REASON"


def stage(carrying: OngoingChange, cluster: Cluster, *, with_configs: bool) -> WalkStage:
    """The backup, made once for a change: what a second run would keep is not what was there before.

    Args:
        carrying: The change.
        cluster: Its cluster.
        with_configs: Whether machine configs change.
    """
    snapshot, configs = paths(carrying, cluster)

    async def look(world: World) -> PendingChange | None:
        if why_not(carrying, cluster):
            return None
        await require(carrying, cluster, world)
        writes = [] if snapshot.exists() else [f"keep etcd of {cluster.name}, encrypted: {_shown(carrying, snapshot)}"]
        if with_configs and not configs.exists():
            writes.append(f"keep the machine configs of {cluster.name}, encrypted: {_shown(carrying, configs)}")

        async def perform() -> None:
            if not snapshot.exists():
                kept = etcd_snapshot.stage(cluster, root=carrying.root, now=carrying.record.begun)
                change = await kept.look(world)
                assert change is not None
                await change.perform()
            if with_configs and not configs.exists():
                await _keep_configs(carrying, cluster, configs, world)

        return PendingChange(writes=tuple(writes), perform=perform) if writes else None

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        kept = [_shown(carrying, each) for each in (snapshot, configs) if each.exists()]
        verdict: Verdict = Passed(f"kept in {', '.join(kept)}") if kept else Skipped(why_not(carrying, cluster))
        on_verdict(verdict)
        return verdict, ""

    return WalkStage(
        id=f"{cluster.name}:backup", name=f"back {cluster.name} up", what="etcd, machine configs", phase=Phase.MACHINE,
        look=look, wait=wait,
    )  # fmt: skip


def paths(carrying: OngoingChange, cluster: Cluster) -> tuple[Path, Path]:
    """Where the snapshot of a change and its machine configs are, or will be."""
    state, begun = carrying.means.state, carrying.record.begun
    configs = state / cluster.name / "machine-configs" / f"{backup_manifest.stamp(begun)}.yaml.sops"
    return etcd_snapshot.place(state, cluster.name, begun), configs


def why_not(carrying: OngoingChange, cluster: Cluster) -> str:
    """Why there is no backup; empty where one is made."""
    if carrying.record.without_backup:
        return f"no backup: {carrying.record.without_backup}"
    if carrying.is_reverting:
        return "no backup: it is taken back, and what was there before it was kept then"
    return "" if cluster.machines else "no backup: the repo has no machines of this cluster"


async def require(carrying: OngoingChange, cluster: Cluster, world: World) -> None:
    """See that a backup can be made.

    Raises:
        errors.Refused: Nothing says for whom it would be encrypted, and nobody said to go without.
    """
    if why_not(carrying, cluster):
        return
    if cluster.omni_template:
        message = f"etcd of {cluster.name} is Omni's to back up"
        raise errors.Refused(message, hint=f"See that Omni does, and say so: {_WITHOUT}")
    found = await etcd_snapshot.refusal(cluster, world, root=carrying.root, without=_WITHOUT)
    if found is not None:
        raise errors.Refused(found.message, hint=found.fix)


async def _keep_configs(carrying: OngoingChange, cluster: Cluster, file: Path, world: World) -> None:
    """The configs of all machines that answer, in one file; it touches no disk before it is encrypted."""
    by = encryption.encryption_of(cluster, world.programs, root=carrying.root)
    held = await backup_contents.collect_configs(world)
    for name, why in held.silent.items():
        world.tell(f"{cluster.name}:backup", f"the config of {name} is not kept: {why}")
    with private_directory.create("etcd") as home:
        await by.encrypt(held.content, home / "configs", about="the machine configs")
        durable_store.write_beside_journal((home / "configs").read_bytes(), file)


def _shown(carrying: OngoingChange, file: Path) -> str:
    return str(file.relative_to(carrying.root)) if file.is_relative_to(carrying.root) else str(file)
