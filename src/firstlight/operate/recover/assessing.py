"""A cluster looked at by every way that still leads to it, and what can be done about what is broken."""

import base64
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path

import yaml

from firstlight import errors
from firstlight.clients import kube, talosctl
from firstlight.execute import identity, kept_access
from firstlight.execute.actions import kubeconfig as fetching
from firstlight.journal import directory
from firstlight.model.cluster import Cluster, MachineRole
from firstlight.model.platform import Platform
from firstlight.model.recovery import Assessment
from firstlight.model.secret import Secret
from firstlight.observe.doctor import api
from firstlight.observe.machines import PATIENCE, Way
from firstlight.operate import reaching
from firstlight.operate.backup import shelf
from firstlight.operate.doctor import looking
from firstlight.operate.doctor.looking import Examined, Known, Ways
from firstlight.operate.means import Means
from firstlight.plan import build
from firstlight.policy.recovering import judging
from firstlight.policy.recovering.ground import AtHand, Ground


@dataclasses.dataclass(frozen=True, kw_only=True)
class Assessed:
    """What was seen, and what can be done."""

    examined: Examined
    assessment: Assessment


async def assess(
    platform: Platform, cluster: Cluster, means: Means, *, patience: float = looking.PATIENCE
) -> Assessed:  # fmt: skip
    """Look at everything that answers; nothing is written anywhere.

    Args:
        platform: The repo.
        cluster: The cluster.
        means: How it is reached.
        patience: Seconds for which something may be unfinished without being broken.

    Raises:
        errors.Refused: Another cluster answers than the one that was written down.
    """
    known = Known.of(platform, cluster, state=means.state, problems=build.build(platform, cluster).problems)
    async with reached(cluster, means) as ways:
        found = await looking.examine(known, ways, now=means.now, patience=patience)
    hand = AtHand(
        has_keys=ways.way is not None, lost=lost(cluster, means),
        dns=next((each.name for each in platform.components_of(cluster.name) if each.role == "dns"), ""),
        was_here=bool(identity.known(means.state, cluster.name)),
        snapshots=sum(each.manifest is not None for each in shelf.kept(shelf.home(means.state, cluster.name))),
    )  # fmt: skip
    ground = Ground(scene=found.scene, diagnosis=found.diagnosis, hand=hand)
    return Assessed(examined=found, assessment=judging.assess(ground))


@contextlib.asynccontextmanager
async def reached(cluster: Cluster, means: Means) -> AsyncIterator[Ways]:
    """Every way to a cluster; where there is none, why not.

    Raises:
        errors.Refused: The API is that of another cluster.
    """
    way, no_keys = await _machines(cluster, means)
    config, no_api = await _config(cluster, means, way)
    ways = Ways(way=way, no_keys=no_keys, no_api=no_api, program=means.programs.talosctl, reach=means.reach)
    if config is None:
        yield ways
        return
    async with kube.Client(config, policy=api.POLICY, agent="recover") as client:
        # One that does not answer is what is to be recovered; another one than is meant is not.
        with contextlib.suppress(errors.ClientError):
            await _check(client, cluster, means)
        yield dataclasses.replace(ways, client=client)


def lost(cluster: Cluster, means: Means) -> tuple[str, ...]:
    """Which of the files that ``up`` leaves are not there, or of no use any more."""
    if not cluster.machines or cluster.omni_template:
        return ()
    own = means.state / cluster.name
    found = []
    if means.kubeconfig is None and not directory.is_file(own / "kubeconfig"):
        found.append("kubeconfig")
    if not _is_valid(own / "talosconfig", means.now()):
        found.append("talosconfig")
    return tuple(found)


async def _machines(cluster: Cluster, means: Means) -> tuple[Way | None, str]:
    """By the Talos secrets, else by the talosconfig that ``up`` has left."""
    if not cluster.machines or means.programs.talosctl is None:
        return None, ""
    try:
        async with reaching.unconnected(cluster, means) as world:
            return await reaching.way(world), ""
    except errors.FirstlightError as error:
        kept = means.state / cluster.name / "talosconfig"
        if not directory.is_file(kept):
            return None, f"no keys for them ({error.message})"
        talosconfig = kept_access.talosconfig(kept)
        return Way(program=means.programs.talosctl, talosconfig=talosconfig, reach=means.reach), ""


async def _config(cluster: Cluster, means: Means, way: Way | None) -> tuple[kube.Config | None, str]:
    """The kubeconfig that was given, else the one that ``up`` has left, else what a control plane gives."""
    kept = means.state / cluster.name / "kubeconfig"
    try:
        if means.kubeconfig is not None:
            found = fetching.parsed(means.kubeconfig)
        elif directory.is_file(kept):
            found = kept_access.kubeconfig(kept)
        elif way is not None:
            found = fetching.parsed(await _fetched(cluster, way))
        else:
            return None, "there is no kubeconfig, and no way to machines that could give one"
    except errors.Refused:
        raise
    except errors.FirstlightError as error:
        return None, error.message
    return fetching.redirected(found, means.reach.kubernetes), ""


async def _fetched(cluster: Cluster, way: Way) -> Secret:
    last: talosctl.TalosError | None = None
    for machine in cluster.machines:
        if machine.role is MachineRole.CONTROL_PLANE and machine.address:
            try:
                return await way.admin.kubeconfig(way.at(machine), timeout=PATIENCE)
            except talosctl.TalosError as error:
                last = error
    raise errors.Unreachable(f"no control plane gives a kubeconfig{f': {last}' if last else ''}")


async def _check(client: kube.Client, cluster: Cluster, means: Means) -> None:
    known = identity.known(means.state, cluster.name)
    if not known:
        return
    found = await client.get("v1", "Namespace", "kube-system", metadata_only=True)
    if found["metadata"]["uid"] != known:
        raise errors.Refused(
            f"{client.config.server} is not {cluster.name}: its kube-system has another UID than was written down",
            hint=f"Check the kubeconfig. If the cluster was made anew on purpose, delete {means.state / cluster.name}"
            "/identity.json.",
        )


def _is_valid(path: Path, now: float) -> bool:
    """Whether a talosconfig is there, and its certificate has not expired."""
    if not directory.is_file(path):
        return False
    try:
        value = yaml.load(directory.read(path), Loader=yaml.CSafeLoader)
        until = api.pem_until(base64.b64decode(value["contexts"][value["context"]]["crt"]))
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError):  # binascii's error is a ValueError
        return False
    return until is not None and until > now
