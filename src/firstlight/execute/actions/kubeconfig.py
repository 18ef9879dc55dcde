"""Comes by the way to the Kubernetes API, and makes sure that it is this cluster's before anything is written."""

import asyncio
import dataclasses
import time
import urllib.parse
from collections.abc import Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import command, kube, talosctl
from firstlight.clients.kube.kube_errors import CertificateProblem
from firstlight.execute import cluster_access, cluster_identity
from firstlight.execute.world import PendingChange, World
from firstlight.model.cluster import Machine
from firstlight.model.secret import Secret
from firstlight.model.work import FetchKubeconfig
from firstlight.observe.machine_survey import PATIENCE, MachineAccess

SERVES = 600.0
"""Seconds for the API to answer: images of the control plane are pulled, and etcd elects."""
POLL = 1.0


async def look(task: FetchKubeconfig, world: World, step: str) -> PendingChange | None:
    """Connect; there is never anything to write.

    Raises:
        errors.Refused: It is another cluster than the Talos secrets say, or than it was.
        errors.Unreachable: No control plane gives a kubeconfig, or the API does not answer.
    """
    planes = [each for each in task.control_planes if each.address and not task.omni]
    if task.omni and world.kubeconfig is None:
        world.kubeconfig = await cluster_access.fetch_omni_kubeconfig(task.omni, world)
    if planes:
        way = await cluster_access.ensure(world)
        world.kubeconfig = await _fetched(planes, world, way)
        if not world.authority:
            world.authority = await _authority(planes, way)
    if world.kubeconfig is None:
        raise errors.Refused(
            f"{world.cluster.name} has no machines that could be asked for a kubeconfig, and none was given",
            hint="Give the one that you have: --kubeconfig FILE",
        )
    # What Omni gives a person has a plugin that signs in: it comes from the user's own program, not from a repo.
    config = parsed(world.kubeconfig, allow_exec=bool(task.omni))
    world.is_exec = config.exec_plugin is not None
    if planes:
        cluster_identity.check_authority(config.certificate_authority, world.authority)
    await world.connect(redirected(config, world.reach.kubernetes))
    cluster_identity.check_uid(world, await _uid(world, step))
    world.on_reached()
    return None


def parsed(kubeconfig: Secret, *, allow_exec: bool = False) -> kube.ClientConfig:
    """A kubeconfig that is not in a file."""
    with command.memory_file(kubeconfig) as file:
        config = kube.load(Path(file.path), allow_exec=allow_exec)
    return dataclasses.replace(config, source="the kubeconfig of the cluster")


def redirected(config: kube.ClientConfig, url: str) -> kube.ClientConfig:
    """The same API at another address; its certificate must still have the name of the declared one."""
    if not url:
        return config
    name = config.server_name or urllib.parse.urlsplit(config.server).hostname or ""
    return dataclasses.replace(config, server=url.rstrip("/"), server_name=name)


async def _fetched(machines: Sequence[Machine], world: World, way: MachineAccess) -> Secret:
    """From the first control plane that gives one; one that is bare for a while, or a stranger, is passed over."""
    deadline = time.monotonic() + world.patience
    while True:
        last: talosctl.TalosError | None = None
        strange: errors.Refused | None = None
        for machine in machines:
            try:
                return await way.admin.kubeconfig(way.at(machine), timeout=PATIENCE)
            except (talosctl.TalosUntrusted, talosctl.TalosUnauthorised) as error:
                refused = errors.Refused(f"{machine.name} is not of this cluster: {error}", hint=error.hint)
                strange = strange or refused
            except talosctl.TalosError as error:
                last = error
        if strange is not None and (last is None or time.monotonic() >= deadline):
            raise strange
        if time.monotonic() >= deadline:
            assert last is not None
            raise errors.Unreachable(f"no control plane gives a kubeconfig: {last}", hint=last.hint) from last
        await asyncio.sleep(POLL)


async def _authority(machines: Sequence[Machine], way: MachineAccess) -> bytes:
    """Of a cluster whose secrets are in whole configs: what a machine has that the talosconfig trusts."""
    for machine in machines:
        try:
            return cluster_access.config_authority(await way.admin.machine_config(way.at(machine)))
        except talosctl.TalosError:
            continue
    return b""


async def _uid(world: World, step: str) -> str:
    """The UID of kube-system, once the API answers."""
    deadline = time.monotonic() + SERVES
    said = ""
    while True:
        try:
            return str((await world.kube.get("v1", "Namespace", "kube-system"))["metadata"]["uid"])
        except kube.KubeUntrusted as error:
            if error.problem is not CertificateProblem.UNKNOWN_AUTHORITY:
                raise errors.Refused(f"the Kubernetes API cannot be trusted: {error}", hint=error.hint) from error
            raise errors.Refused(
                f"the Kubernetes API shows a certificate that this cluster's authority did not sign: {error}",
                hint="Check the endpoint: another cluster may answer there.",
            ) from error
        except (kube.NotFound, kube.ServerError, kube.Forbidden, errors.Unreachable, errors.TimedOut) as error:
            if time.monotonic() >= deadline:
                raise
            if said != type(error).__name__:
                said = type(error).__name__
                world.tell(step, f"the API does not answer yet: {error}")
            await asyncio.sleep(POLL)
