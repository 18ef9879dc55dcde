"""A cluster looked at by every way that still leads to it, and what can be done about what is broken."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path

import yaml

from firstlight import errors
from firstlight.cli import means as cli_means
from firstlight.cli import output, which_cluster, which_repo
from firstlight.clients import kube, talosctl
from firstlight.commands.backup import backup_store
from firstlight.commands.doctor import examine
from firstlight.commands.doctor.examine import DeclaredCluster, DoctorAccess, Examination
from firstlight.commands.recover import options, repair, text
from firstlight.commands.recover.assessment import Assessment, LocalMeans, RecoveryContext
from firstlight.commands.recover.repair import RecoverRequest
from firstlight.drawing import table
from firstlight.execute import access_files, cluster_identity, live_cluster
from firstlight.execute.actions import kubeconfig
from firstlight.execute.means import Means
from firstlight.journal import state_files
from firstlight.model.cluster import Cluster, MachineRole
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.observe.cluster import kubernetes_survey
from firstlight.observe.machine_survey import PATIENCE, MachineAccess
from firstlight.plan import build

BROKEN = 2
BLIND = 3
"""Exit codes of an assessment."""


async def assess_or_repair(name: str, wishes: RecoverRequest, *, root: Path | None) -> int:
    """Assess a cluster, or carry the chosen option out; the exit code.

    Args:
        name: The cluster; empty where there is only one.
        wishes: What was typed.
        root: The repo.

    Raises:
        errors.UsageError: The option lacks what it is done to, or takes nothing.
        errors.Refused: Another cluster answers than the one that was written down.
    """
    platform = which_repo.platform(root)
    cluster = which_cluster.cluster_of(platform, name)
    repair.check(cluster, wishes)
    pins = {wishes.what: wishes.pin} if wishes.pin else {}
    means = await cli_means.user_means(
        platform, offline=wishes.is_offline, fingerprints=pins, keep=False, merge=wishes.is_merged,
        kubeconfig=wishes.kubeconfig,
    )  # fmt: skip
    try:
        if wishes.option:
            return await repair.do(platform, cluster, means, wishes)
        found = (await assess(platform, cluster, means)).assessment
    finally:
        await means.close()
    shown = text.text(found, now=means.now(), columns=table.terminal_columns())
    output.answer(wishes.form, shown, text.data(found))
    if found.is_blind:
        return BLIND
    return BROKEN if found.causes else 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class AssessedCluster:
    """What was seen, and what can be done."""

    examined: Examination
    assessment: Assessment


async def assess(
    platform: Platform, cluster: Cluster, means: Means, *, patience: float = examine.PATIENCE
) -> AssessedCluster:  # fmt: skip
    """Look at everything that answers; nothing is written anywhere.

    Args:
        platform: The repo.
        cluster: The cluster.
        means: How it is reached.
        patience: Seconds for which something may be unfinished without being broken.

    Raises:
        errors.Refused: Another cluster answers than the one that was written down.
    """
    known = DeclaredCluster.of(platform, cluster, state=means.state, problems=build.build(platform, cluster).problems)
    async with reached(cluster, means) as ways:
        found = await examine.examine(known, ways, now=means.now, patience=patience)
    hand = LocalMeans(
        has_keys=ways.way is not None,
        lost=lost(cluster, means),
        dns=next((each.name for each in platform.components_of(cluster.name) if each.role == "dns"), ""),
        was_here=bool(cluster_identity.known(means.state, cluster.name)),
        snapshots=sum(
            each.manifest is not None for each in backup_store.kept(backup_store.home(means.state, cluster.name))
        ),
    )
    ground = RecoveryContext(scene=found.scene, diagnosis=found.diagnosis, hand=hand)
    return AssessedCluster(examined=found, assessment=options.judge(ground))


@contextlib.asynccontextmanager
async def reached(cluster: Cluster, means: Means) -> AsyncIterator[DoctorAccess]:
    """Every way to a cluster; where there is none, why not.

    Raises:
        errors.Refused: The API is that of another cluster.
    """
    way, no_keys = await _machines(cluster, means)
    config, no_api = await _config(cluster, means, way)
    ways = DoctorAccess(
        way=way, no_keys=no_keys, no_api=no_api, program=means.programs.talosctl_for(cluster), reach=means.reach
    )
    if config is None:
        yield ways
        return
    async with kube.Client(config, policy=kubernetes_survey.POLICY, agent="recover") as client:
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
    if means.kubeconfig is None and not state_files.is_file(own / "kubeconfig"):
        found.append("kubeconfig")
    if not _is_valid(own / "talosconfig", means.now()):
        found.append("talosconfig")
    return tuple(found)


async def _machines(cluster: Cluster, means: Means) -> tuple[MachineAccess | None, str]:
    """By the Talos secrets, else by the talosconfig that ``up`` has left."""
    if not cluster.machines or means.programs.talosctl_for(cluster) is None:
        return None, ""
    try:
        async with live_cluster.unconnected(cluster, means) as world:
            return await live_cluster.way(world), ""
    except errors.FirstlightError as error:
        kept = means.state / cluster.name / "talosconfig"
        if not state_files.is_file(kept):
            return None, f"no keys for them ({error.message})"
        program, talosconfig = means.programs.talosctl_for(cluster), access_files.kept_talosconfig(kept)
        assert program is not None
        return MachineAccess(program=program, talosconfig=talosconfig, reach=means.reach), ""


async def _config(cluster: Cluster, means: Means, way: MachineAccess | None) -> tuple[kube.ClientConfig | None, str]:
    """The kubeconfig that was given, else the one that ``up`` has left, else what a control plane gives."""
    kept = means.state / cluster.name / "kubeconfig"
    try:
        if means.kubeconfig is not None:
            found = kubeconfig.parsed(means.kubeconfig)
        elif state_files.is_file(kept):
            found = access_files.kept_kubeconfig(kept)
        elif way is not None:
            found = kubeconfig.parsed(await _fetched(cluster, way))
        else:
            return None, "there is no kubeconfig, and no way to machines that could give one"
    except errors.Refused:
        raise
    except errors.FirstlightError as error:
        return None, error.message
    return kubeconfig.redirected(found, means.reach.kubernetes), ""


async def _fetched(cluster: Cluster, way: MachineAccess) -> Secret:
    last: talosctl.TalosError | None = None
    for machine in cluster.machines:
        if machine.role is MachineRole.CONTROL_PLANE and machine.address:
            try:
                return await way.admin.kubeconfig(way.at(machine), timeout=PATIENCE)
            except talosctl.TalosError as error:
                last = error
    raise errors.Unreachable(f"no control plane gives a kubeconfig{f': {last}' if last else ''}")


async def _check(client: kube.Client, cluster: Cluster, means: Means) -> None:
    known = cluster_identity.known(means.state, cluster.name)
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
    if not state_files.is_file(path):
        return False
    try:
        value = yaml.load(state_files.read(path), Loader=yaml.CSafeLoader)
        until = kubernetes_survey.pem_until(base64.b64decode(value["contexts"][value["context"]]["crt"]))
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError):  # binascii's error is a ValueError
        return False
    return until is not None and until > now
