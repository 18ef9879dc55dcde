"""A snapshot of etcd before control planes are touched: it holds every Secret, so it is kept encrypted or not at all.

It is encrypted for those who may read the cluster's Talos secrets: whoever has these can read etcd anyway.
"""

import datetime
import gzip
import os
from pathlib import Path

from firstlight import errors
from firstlight.clients import secret_errors
from firstlight.clients.sops import CONFIG, Sops
from firstlight.execute import cluster_keys, quorum, stowing
from firstlight.execute.change import Change
from firstlight.execute.walking import Stage
from firstlight.execute.world import World
from firstlight.gates import etcd as etcd_gate
from firstlight.model import reference as references
from firstlight.model.cluster import Cluster
from firstlight.model.node_upgrade import Refusal
from firstlight.model.secret import Secret
from firstlight.observe import machines as observed
from firstlight.operate import talos_secrets
from firstlight.render import private_directory
from firstlight.secrets import talos

ID = "etcd:snapshot"
_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory made there has a name that nobody can guess, and is ours
_WITHOUT = "Or go on without one: --no-snapshot"


async def refusal(cluster: Cluster, world: World, *, root: Path) -> Refusal | None:
    """Why no snapshot could be kept; None where one can."""
    if not os.access(_MEMORY, os.W_OK):
        return Refusal("a snapshot of etcd would be on a disk in the clear: there is no /dev/shm here", _WITHOUT)
    rule = rule_of(cluster, root)
    config = talos.rules(rule, root)
    if config is None:
        message = f"a snapshot of etcd is kept encrypted, and no {CONFIG} says for whom"
        return Refusal(message, f"Write one with a rule for {rule.relative_to(root)}. {_WITHOUT}")
    if world.programs.sops is None:
        return Refusal("a snapshot of etcd is kept encrypted, and sops is not there", _WITHOUT)
    try:
        with private_directory.made("etcd") as home:
            await _encrypted(Secret(b"a try"), home / "try", world, rule=rule, config=config)
    except secret_errors.SecretError as error:
        return Refusal(f"a snapshot of etcd cannot be encrypted: {error.message}", f"{error.hint} {_WITHOUT}".strip())
    return None


def stage(cluster: Cluster, *, root: Path, now: float) -> Stage:
    """A snapshot, taken from a member that is well, and kept beside the journal."""
    rule = rule_of(cluster, root)
    written = datetime.datetime.fromtimestamp(now, datetime.UTC).strftime("%Y%m%dT%H%M%SZ")

    async def look(world: World) -> Change | None:
        path = world.state / cluster.name / "etcd" / f"{written}.snapshot.gz.sops"
        return Change(writes=(f"keep a snapshot of etcd: {path.name}",), perform=lambda: _keep(path, world, rule, root))

    return Stage(id=ID, name="snapshot of etcd", look=look)


def rule_of(cluster: Cluster, root: Path) -> Path:
    """The file whose rule in .sops.yaml counts: the cluster's Talos secrets."""
    reference = references.parse(talos_secrets.reference_of(cluster, root))
    if isinstance(reference, references.Sops):
        return root / reference.path
    return root / "talos" / cluster.name / talos.NAME


async def _keep(path: Path, world: World, rule: Path, root: Path) -> None:
    config = talos.rules(rule, root)
    if config is None:
        raise errors.Refused(f"there is no {CONFIG} any more", hint=_WITHOUT)
    way = await cluster_keys.ensure(world)
    reports = await observed.look_at_all(quorum.control_planes(world), way, with_etcd=True)
    well = [each.machine for each in reports if etcd_gate.is_well(each)]
    if not well:
        raise errors.Refused("no member of etcd is well: nothing is upgraded", hint="firstlight doctor")
    with private_directory.made("etcd") as home:
        taken = await way.admin.etcd_snapshot(way.at(well[0]), home / "snapshot")
        packed = Secret(gzip.compress(taken.path.read_bytes(), compresslevel=6))
        await _encrypted(packed, home / "encrypted", world, rule=rule, config=config)
        stowing.write((home / "encrypted").read_bytes(), path)
    world.tell(ID, f"{taken.keys} keys at revision {taken.revision}: sops decrypt {path} | gunzip > etcd.snapshot")


async def _encrypted(content: Secret, into: Path, world: World, *, rule: Path, config: Path) -> None:
    assert world.programs.sops is not None
    await Sops(world.programs.sops).encrypt_into(content, into, rule=rule, config=config, about="the snapshot of etcd")
