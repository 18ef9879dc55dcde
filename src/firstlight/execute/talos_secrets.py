"""The Talos secrets of a cluster: read where they are kept, or made, which is right only once in the life of a cluster.

A file that is merely missing is no reason to make others: machines that run with the old ones would be lost. So they
are made only where Git knows none, no cluster was seen here before, and every machine stands there without a config.
And no two clusters have the same: with one's keys the other could be read and written.
"""

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients.git import Git, NotARepository
from firstlight.clients.git.repository import locate
from firstlight.clients.sops import SopsClient
from firstlight.clients.talosctl import Talosctl
from firstlight.execute import cluster_identity
from firstlight.gates import machine_stage
from firstlight.model import secret_reference
from firstlight.model.cluster import AddressBook, Cluster, Machine, MachineRole
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.platform import Platform
from firstlight.model.secret import Resolve, Secret
from firstlight.observe import machine_survey
from firstlight.secrets import talos_bundle

PATIENCE = 60.0
"""Seconds in which every machine must have said that it is in maintenance mode."""
POLL = 1.0
_RESTORE = "Restore the file (git checkout HEAD -- FILE, or from a backup), or name where they are in talosSecrets."


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TalosSecretsMaker:
    """What new secrets are made with, and where it is looked first whether they may be."""

    talosctl: Path
    sops: Path
    git: Path | None
    state: Path
    """``.firstlight`` of the repo."""
    reach: AddressBook = dataclasses.field(default_factory=AddressBook)
    keep: bool = True
    """Whether they are written down; a dry run forgets them."""
    patience: float = PATIENCE


async def talos_secrets_of(
    cluster: Cluster, platform: Platform, *, resolve: Resolve, making: TalosSecretsMaker
) -> Secret:
    """The Talos secrets of a cluster: read where they are kept, or made and kept encrypted.

    Raises:
        errors.Refused: Another cluster has the same ones, or new ones must not be made.
    """
    reference = reference_of(cluster, platform.root)
    _refuse_shared(cluster, platform, reference)
    found = await talos_bundle.load(reference, resolve)
    if found is not None:
        await _refuse_twins(cluster, platform, found, resolve)
        return found
    path = _path(reference)
    await _refuse_known(cluster, platform.root, reference, making)
    if making.keep:
        await _refuse_configured(cluster, making)
    made = await Talosctl(making.talosctl).gen_secrets()
    if making.keep:
        await talos_bundle.keep(platform.root / path, made, SopsClient(making.sops), root=platform.root)
    return made


async def check_talos_secrets(
    cluster: Cluster, platform: Platform, *, resolve: Resolve, making: TalosSecretsMaker
) -> None:
    """See that a run could read the Talos secrets of a cluster, or make and keep them; nothing is written.

    Machines that do not answer are not waited for: that is told of them anyway.

    Raises:
        errors.FirstlightError: It could not.
    """
    reference = reference_of(cluster, platform.root)
    _refuse_shared(cluster, platform, reference)
    found = await talos_bundle.load(reference, resolve)
    if found is not None:
        await _refuse_twins(cluster, platform, found, resolve)
        return
    path = _path(reference)
    await _refuse_known(cluster, platform.root, reference, making)
    reports = await asyncio.gather(*(_seen(each, making) for each in cluster.machines))
    _refuse_machines(cluster, [each for each in reports if each.standing is MachineStanding.FOREIGN])
    trial = await Talosctl(making.talosctl).gen_secrets()
    await talos_bundle.encrypt(platform.root / path, trial, SopsClient(making.sops), root=platform.root)


def reference_of(cluster: Cluster, root: Path) -> str:
    """Where the secrets of a cluster are, or will be."""
    return cluster.talos_secrets or talos_bundle.usual(root, cluster.name, machines=_declared_in(cluster))


def _declared_in(cluster: Cluster) -> str:
    return cluster.machines[0].place.path if cluster.machines else ""


def _path(reference: str) -> str:
    """The file that is to be made for a reference."""
    parsed = secret_reference.parse(reference)
    if not isinstance(parsed, secret_reference.SopsReference) or parsed.key:
        raise errors.Refused(
            f"{reference}: there is nothing, and Talos secrets are made only as a file of their own",
            hint="Write sops:FILE without a key, or put them there: talosctl gen secrets",
        )
    return parsed.path


def _others(cluster: Cluster, platform: Platform) -> list[Cluster]:
    """The other clusters that have Talos secrets of their own."""
    return [each for each in platform.clusters if each.name != cluster.name and has_own(each)]


def has_own(cluster: Cluster) -> bool:
    """Whether a cluster has Talos secrets of its own, which are not Omni's or in whole machine configs."""
    is_bare = bool(cluster.machines) and not cluster.talosconfig
    return not cluster.omni_template and (bool(cluster.talos_secrets) or is_bare)


def _refuse_shared(cluster: Cluster, platform: Platform, reference: str) -> None:
    for other in _others(cluster, platform):
        if reference_of(other, platform.root) == reference:
            raise _shared(cluster, other, f"both have theirs in {reference}")


async def _refuse_twins(cluster: Cluster, platform: Platform, found: Secret, resolve: Resolve) -> None:
    """A copy of another cluster's file. Only files are compared: others would ask a person to sign in."""
    own = talos_bundle.cluster_id(found)
    for other in _others(cluster, platform):
        reference = reference_of(other, platform.root)
        theirs = None
        with contextlib.suppress(errors.FirstlightError):  # whoever runs this may have no key to it
            if isinstance(
                secret_reference.parse(reference), secret_reference.SopsReference | secret_reference.FileReference
            ):
                theirs = await talos_bundle.load(reference, resolve)
        if theirs is not None and talos_bundle.cluster_id(theirs) == own:
            raise _shared(cluster, other, f"{reference} has the same cluster.id")


def _shared(cluster: Cluster, other: Cluster, why: str) -> errors.Refused:
    return errors.Refused(
        f"{cluster.name} and {other.name} would share their Talos secrets: {why}",
        hint="Let firstlight.yaml say for each where they are: clusters.NAME.talosSecrets: sops:talos/NAME.sops.yaml",
    )


async def _refuse_known(cluster: Cluster, root: Path, reference: str, making: TalosSecretsMaker) -> None:
    """See that nothing tells of secrets that were there before."""
    if uid := cluster_identity.known(making.state, cluster.name):
        raise errors.Refused(
            f"the Talos secrets of {cluster.name} are not there ({reference}), and the cluster was seen before "
            f"(kube-system has the UID {uid}): new ones would not open it",
            hint=f"{_RESTORE} If it is to be made anew, delete {making.state / cluster.name / 'identity.json'}.",
        )
    path = _path(reference)
    places = (
        (path,) if cluster.talos_secrets else talos_bundle.places(root, cluster.name, machines=_declared_in(cluster))
    )
    for each in dict.fromkeys((path, *places)):
        if await _is_in_git(root, each, making.git):
            raise errors.Refused(
                f"{each}: Git has the Talos secrets of {cluster.name}, and they are missing in the work tree",
                hint=_RESTORE.replace("FILE", each),
            )


async def _is_in_git(root: Path, file: str, program: Path | None) -> bool:
    try:
        locate(root)
        if program is None:
            raise errors.ToolError(
                "git is needed to see whether there were Talos secrets before", hint="Install git, and run again."
            )
        return await Git(program).knows(root, file)
    except NotARepository:
        return False


async def _refuse_configured(cluster: Cluster, making: TalosSecretsMaker) -> None:
    """See that every machine is without a config; a worker that is off holds nobody up."""
    deadline = time.monotonic() + making.patience
    while True:
        reports = await asyncio.gather(*(_seen(each, making) for each in cluster.machines))
        in_the_way = [each for each in reports if _is_in_the_way(each)]
        if not in_the_way:
            return
        is_over = time.monotonic() >= deadline
        if is_over or any(each.standing is MachineStanding.FOREIGN for each in in_the_way):
            _refuse_machines(cluster, in_the_way)
        await asyncio.sleep(POLL)


def _refuse_machines(cluster: Cluster, in_the_way: Sequence[MachineReport]) -> None:
    """Refuse to make secrets beside machines that may need the ones that are missing."""
    if not in_the_way:
        return
    what = "; ".join(f"{each.machine.name} {_state(each)}" for each in in_the_way)
    raise errors.Refused(
        f"there are no Talos secrets of {cluster.name}, and new ones are not made: {what}",
        hint="Machines with a config need the secrets that they have: name where they are in talosSecrets. "
        "Else boot every control plane into maintenance mode first.",
    )


async def _seen(machine: Machine, making: TalosSecretsMaker) -> MachineReport:
    return await machine_survey.look_without_keys(machine, making.talosctl, reach=making.reach)


def _is_in_the_way(report: MachineReport) -> bool:
    if report.machine.role is MachineRole.CONTROL_PLANE:
        return report.standing is not MachineStanding.MAINTENANCE
    return report.standing is MachineStanding.FOREIGN


def _state(report: MachineReport) -> str:
    return "has a config" if report.standing is MachineStanding.FOREIGN else machine_stage.state_of(report)


# Keys of a cluster that only this work tree has: whoever cleans it has lost the cluster.


async def untracked_keys_note(cluster: Cluster, root: Path, *, git: Path | None) -> str:
    """What to do about keys that Git does not have; empty where it has them, or there are none, or nobody can tell.

    Args:
        cluster: Whose keys.
        root: The repo.
        git: The program; without it nobody can tell.
    """
    if git is None or not has_own(cluster):
        return ""
    try:
        parsed = secret_reference.parse(reference_of(cluster, root))
        if not isinstance(parsed, secret_reference.SopsReference) or not (root / parsed.path).is_file():
            return ""
        locate(root)
        if await Git(git).knows(root, parsed.path):
            return ""
    except errors.FirstlightError:  # no work tree of Git, or one that cannot be read
        return ""
    return (
        f"commit {parsed.path}: the keys of {cluster.name}, encrypted. Git does not have the file, and who loses it "
        f"has lost the cluster: git add {parsed.path} && git commit"
    )
