"""Faults for drills: what can be broken in a lab on purpose, and the option that must repair it."""

import asyncio
import base64
import dataclasses
import datetime
import gzip
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import text
from firstlight.execute.applying import helm_releases
from firstlight.execute.machine_gates import POLL
from firstlight.lab.lab import Lab
from firstlight.model.cluster import Cluster, Engine, Machine, MachineRole
from firstlight.model.component import Phase
from firstlight.model.machine_report import EtcdData, Standing
from firstlight.model.work import Install
from firstlight.observe import machines as observed
from firstlight.operate import reaching
from firstlight.operate.down import WIPED
from firstlight.operate.means import Means
from firstlight.operate.recover.etcd import LABELS as EPHEMERAL
from firstlight.operate.up import Prepared

WIPING = 300.0
"""Seconds for a machine to be bare."""
HOUR = 3600.0
_CONTROLLER = {Engine.FLUX: "kustomize-controller", Engine.ARGOCD: "argocd-repo-server"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ground:
    """A lab in which a cluster was brought up."""

    lab: Lab
    prepared: Prepared
    means: Means

    @property
    def cluster(self) -> Cluster:
        """The cluster, as declared."""
        return self.prepared.cluster


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that can be broken."""

    id: str
    what: str
    how: str
    """How it is made, in words."""
    option: str
    """The option that repairs it."""
    make: Callable[[Ground], Awaitable[str]]
    """Breaks it; what the option is to be done to.

    Raises:
        errors.Refused: The cluster has nothing of that kind to break.
    """
    until: Phase | None = None
    """How far the cluster is brought up before; all the way if it is not given."""


def _client(ground: Ground) -> kube.Client:
    return kube.Client(kube.load(ground.lab.kubeconfig), agent="drill")


async def _pending_release(ground: Ground) -> str:
    """As Helm leaves it when it is killed in the middle of an upgrade: a revision more, which is pending."""
    work = ground.prepared.work
    found = [one for each in work.tasks.values() if isinstance(each, Install) for one in each.releases]
    async with _client(ground) as client:
        for release in found:
            kept = await helm_releases.last(client, release.name, release.namespace)
            if kept is not None and kept.status == "deployed":
                live = await client.get("v1", "Secret", kept.secret, namespace=release.namespace)
                await client.create(_pending(live, kept.revision + 1), manager="helm")
                return f"{release.namespace}/{release.name}"
    raise errors.Refused(f"bootstrap installs no Helm release in {ground.cluster.name}")


def _pending(live: Mapping[str, Any], revision: int) -> dict[str, Any]:
    began = time.time() - HOUR
    release = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(live["data"]["release"]))))
    stamp = datetime.datetime.fromtimestamp(began, datetime.UTC).isoformat()
    release |= {"version": revision, "info": {**release["info"], "status": "pending-upgrade", "last_deployed": stamp}}
    packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(release).encode()))).decode()
    name, namespace = text(live, "metadata", "name").rpartition(".")[0], text(live, "metadata", "namespace")
    labels = {"owner": "helm", "name": release["name"], "status": "pending-upgrade", "version": str(revision)}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": live["type"],
        "metadata": {
            "name": f"{name}.v{revision}",
            "namespace": namespace,
            "labels": {**labels, "modifiedAt": str(int(began))},
        },
        "data": {"release": packed},
    }


async def _lost_machine(ground: Ground) -> str:
    """The last control plane: the first one may be where everybody reaches the API."""
    planes = _planes(ground)
    if len(planes) < 3:
        raise errors.Refused(
            f"{ground.cluster.name} has {len(planes)} control plane{'s' if len(planes) > 1 else ''}: with fewer than "
            "three none may be lost"
        )
    await _wiped([planes[-1]], ground)
    return planes[-1].name


async def _all_machines(ground: Ground) -> str:
    await _wiped(list(ground.cluster.machines), ground)
    return ""


def _planes(ground: Ground) -> list[Machine]:
    return [each for each in ground.cluster.machines if each.role is MachineRole.CONTROL_PLANE]


async def _wiped(machines: list[Machine], ground: Ground) -> None:
    """As if their disks were new: they do not leave etcd before, and their nodes stay."""
    async with reaching.unconnected(ground.cluster, ground.means) as world:
        way = await reaching.way(world)
    for each in machines:
        await way.admin.reset(
            way.at(each), graceful=False, reboot=True, wipe="system-disk", system_labels=WIPED, wait=False
        )
    deadline = time.monotonic() + WIPING
    for each in machines:
        while (await observed.look_at(each, way)).standing is not Standing.MAINTENANCE:
            if time.monotonic() > deadline:
                raise errors.TimedOut(f"{each.name} is not in maintenance mode after {WIPING:g} s")
            await asyncio.sleep(POLL)


async def _etcd_data(ground: Ground) -> str:
    """A snapshot is taken, then the data of all members is gone; configs stay."""
    path = ground.lab.home.path / "before-the-drill.snapshot"
    planes = _planes(ground)
    if not planes:
        raise errors.Refused(f"{ground.cluster.name} has no control planes here")
    async with reaching.unconnected(ground.cluster, ground.means) as world:
        way = await reaching.way(world)
    await way.admin.etcd_snapshot(way.at(planes[0]), path)
    for each in planes:
        await way.admin.reset(
            way.at(each), graceful=False, reboot=True, wipe="system-disk", system_labels=EPHEMERAL, wait=False
        )
    deadline = time.monotonic() + WIPING
    for each in planes:
        while (await observed.look_at(each, way, with_etcd=True)).etcd.data is not EtcdData.NONE:
            if time.monotonic() > deadline:
                raise errors.TimedOut(f"etcd on {each.name} is not empty after {WIPING:g} s")
            await asyncio.sleep(POLL)
    return str(path)


async def _files(ground: Ground) -> str:
    for name in ("kubeconfig", "talosconfig"):
        (ground.means.state / ground.cluster.name / name).unlink(missing_ok=True)
    return ""


async def _talosconfig(ground: Ground) -> str:
    (ground.means.state / ground.cluster.name / "talosconfig").unlink(missing_ok=True)
    return ""


async def _foundation(ground: Ground) -> str:
    wanted = [
        each for each in ground.prepared.platform.secrets if each.cluster in ("", ground.cluster.name)
    ]  # fmt: skip
    if not wanted:
        raise errors.Refused(f"{ground.cluster.name} has no foundation secrets")
    async with _client(ground) as client:
        await client.delete("v1", "Secret", wanted[0].name, namespace=wanted[0].namespace)
    return "secrets"


async def _engine(ground: Ground) -> str:
    engine = ground.cluster.engine
    if engine is None:
        raise errors.Refused(f"{ground.cluster.name} has no engine")
    async with _client(ground) as client:
        for each in (await client.list("apps/v1", "Deployment")).items:
            if text(each, "metadata", "name") == _CONTROLLER[engine]:
                space = text(each, "metadata", "namespace")
                await client.delete("apps/v1", "Deployment", _CONTROLLER[engine], namespace=space)
                return ""
    raise errors.Refused(f"there is no {_CONTROLLER[engine]} in {ground.cluster.name}")


FAULTS: Mapping[str, Fault] = {
    each.id: each
    for each in (
        Fault(id="kubeconfig", what="kubeconfig and talosconfig are lost", how="both files deleted",
              option="kubeconfig", make=_files),
        Fault(id="talosconfig", what="the talosconfig is lost", how="the file deleted", option="talosconfig",
              make=_talosconfig),
        Fault(id="foundation", what="a foundation secret is gone", how="the Secret deleted", option="rerun",
              make=_foundation),
        Fault(id="pending-release", what="a Helm release is pending", option="pending-release", make=_pending_release,
              how="a revision more, left as by a Helm that was killed an hour ago; before the handover",
              until=Phase.CORE),
        Fault(id="engine", what="the engine is broken", how="one of its controllers deleted", option="engine",
              make=_engine),
        Fault(id="control-plane", what="a control-plane machine is lost", option="rebuild-machine", make=_lost_machine,
              how="wiped, without leaving etcd"),
        Fault(id="etcd", what="etcd's data is lost", option="etcd-restore", make=_etcd_data,
              how="a snapshot taken, then the data of all members wiped"),
        Fault(id="everything", what="the whole cluster is lost", how="all machines wiped", option="rebuild",
              make=_all_machines),
    )
}  # fmt: skip
"""All of them, by id."""
