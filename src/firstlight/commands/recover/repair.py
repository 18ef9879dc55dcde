"""A kubeconfig or talosconfig that was lost, made again from the Talos secrets."""

import dataclasses
import datetime
import shlex
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from firstlight import errors
from firstlight.cli import means as cli_means
from firstlight.cli import output, screen
from firstlight.cli.follow_run import follow_walk
from firstlight.cli.output import Form
from firstlight.commands.backup import backup_signature, backup_store
from firstlight.commands.node import add, machine_lookup
from firstlight.commands.recover import component_repair, etcd_restore, incident, rebuild
from firstlight.commands.up import carry_out, up
from firstlight.commands.verify import text as verify_text
from firstlight.drawing import table
from firstlight.errors import ExitCode
from firstlight.execute import access_files, live_cluster
from firstlight.execute import means as execute_means
from firstlight.execute.means import Means, RunRequest
from firstlight.execute.walk import Walk, WalkStage
from firstlight.journal import state_files
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.platform import Platform
from firstlight.plan import cluster_facts


async def remake_kubeconfig(cluster: Cluster, means: Means, *, tell: Callable[[str], None]) -> tuple[Path, ...]:
    """Fetch a kubeconfig, and keep it with the talosconfig where ``up`` does; the API need not answer.

    Raises:
        errors.Refused: There are no keys, or the machines are of another cluster.
        errors.Unreachable: No control plane gives one.
    """
    async with live_cluster.reached(cluster, means, is_api_needed=False) as world:
        if world.kubeconfig is None:
            raise errors.Unreachable(
                f"no control plane of {cluster.name} gives a kubeconfig",
                hint=f"See what is wrong with them: firstlight recover {cluster.name}",
            )
        access_files.keeping(world, means, tell=tell)()
    return _written(means.state / cluster.name, "kubeconfig", "talosconfig")


async def remake_talosconfig(cluster: Cluster, means: Means) -> tuple[Path, ...]:
    """Make a talosconfig; no machine need answer.

    Raises:
        errors.Refused: There are no keys, or an entry of the same name is another cluster's.
    """
    async with live_cluster.unconnected(cluster, means) as world:
        found = (await live_cluster.way(world)).talosconfig
    own = means.state / cluster.name / "talosconfig"
    state_files.check(own)
    own.unlink(missing_ok=True)
    now = datetime.datetime.fromtimestamp(means.now(), datetime.UTC)
    for path in (own, *([means.merged_into[1]] if means.merged_into else [])):
        access_files.merge_talosconfig(path, found, now=now)
    return _written(own.parent, "talosconfig")


def _written(folder: Path, *names: str) -> tuple[Path, ...]:
    return tuple(folder / each for each in names if (folder / each).is_file())


# One option of ``firstlight recover`` carried out: by ``up`` where that is what helps, else by a walk.


COMMAND = "recover"
_TARGETS = {"rerun": "PHASE, COMPONENT or secrets", "pending-release": "NAMESPACE/NAME", "rebuild-machine": "MACHINE"}
NEWEST = "etcd-restore"
"""Done to the newest backup, unless another is named."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecoverRequest:
    """What was typed."""

    option: str
    what: str
    is_dry_run: bool
    is_yes: bool
    timeout: float
    form: Form
    signers: tuple[str, ...] = ()
    """Whose backups are restored besides one's own, by fingerprint."""
    unsigned: tuple[str, ...] = ()
    """Backups and files that are restored although nobody signed them, by name."""
    pin: str = ""
    """The certificate that the console of the machine shows, by fingerprint."""
    is_merged: bool = False
    """Whether access is also added to the user's own files."""
    kubeconfig: Path | None = None
    is_offline: bool = False


def check(cluster: Cluster, wishes: RecoverRequest) -> None:
    """See that an option has what it is done to, and no other has.

    Raises:
        errors.UsageError: It does not.
    """
    target = _TARGETS.get(wishes.option, "")
    if target and not wishes.what:
        hint = f"Write --on {target}; firstlight recover {cluster.name} names it."
        raise errors.UsageError(f"{wishes.option} on what?", hint=hint)
    if wishes.option and wishes.what and not target and wishes.option != NEWEST:
        raise errors.UsageError(f"{wishes.option} is done to the whole cluster", hint="Leave out --on.")
    if (wishes.signers or wishes.unsigned) and wishes.option != NEWEST:
        raise errors.UsageError(
            f"--signer and --trust-unsigned are for --do {NEWEST}", hint="Nothing else opens a backup."
        )


async def do(platform: Platform, cluster: Cluster, means: Means, wishes: RecoverRequest) -> int:
    """Carry an option out, with an incident record; the exit code."""
    if wishes.is_dry_run:
        return await DOING[wishes.option](platform, cluster, means, wishes)
    return await incident.recorded(
        lambda: DOING[wishes.option](platform, cluster, means, wishes),
        cluster,
        means,
        option=f"{wishes.option} {wishes.what}".rstrip(),
    )


async def _kubeconfig(platform: Platform, cluster: Cluster, means: Means, wishes: RecoverRequest) -> int:
    if wishes.is_dry_run:
        return _would(cluster, means, wishes, "kubeconfig", "talosconfig")
    said: list[str] = []
    found = await remake_kubeconfig(cluster, means, tell=said.append)
    for each in said:
        print(each, file=sys.stderr)
    return _recover_doing_written(cluster, found, wishes, wanted="kubeconfig")


async def _talosconfig(platform: Platform, cluster: Cluster, means: Means, wishes: RecoverRequest) -> int:
    if wishes.is_dry_run:
        return _would(cluster, means, wishes, "talosconfig")
    return _recover_doing_written(cluster, await remake_talosconfig(cluster, means), wishes, wanted="talosconfig")


def _would(cluster: Cluster, means: Means, wishes: RecoverRequest, *names: str) -> int:
    paths = [str(means.state / cluster.name / each) for each in names]
    data = {"cluster": cluster.name, "option": wishes.option, "would": paths}
    output.answer(wishes.form, "\n".join(f"would write {each}" for each in paths), data)
    return 0


def _recover_doing_written(cluster: Cluster, paths: tuple[Path, ...], wishes: RecoverRequest, *, wanted: str) -> int:
    names = [str(each) for each in paths]
    text = "\n".join(f"{each} is written" for each in names)
    output.answer(wishes.form, text, {"cluster": cluster.name, "option": wishes.option, "written": names})
    return 0 if any(each.name == wanted for each in paths) else 1


async def _rerun(platform: Platform, cluster: Cluster, means: Means, wishes: RecoverRequest) -> int:
    if wishes.what in {each.value for each in Phase}:
        asked = RunRequest(cluster=cluster.name, until=Phase(wishes.what), is_dry_run=wishes.is_dry_run)
    else:
        # Not beyond what bootstrap brings: whether Git takes it over, and there is an engine yet, is another question.
        phases = {
            each.name: each.phase for each in platform.components_of(cluster.name) if cluster_facts.in_bootstrap(each)
        }
        only = (wishes.what,)
        asked = RunRequest(
            cluster=cluster.name, only=only, until=phases.get(wishes.what), is_dry_run=wishes.is_dry_run
        )  # fmt: skip
    return await _up(platform, means, wishes, asked)


async def _pending_release(platform: Platform, cluster: Cluster, means: Means, wishes: RecoverRequest) -> int:
    async with live_cluster.reached(cluster, means) as world:
        is_kept = component_repair.is_kept_release(wishes.what, platform.components_of(cluster.name))
        await component_repair.refuse_owned_release(wishes.what, world.kube, is_kept=is_kept)
    whole = await up.prepare(platform, RunRequest(cluster=cluster.name), means, is_checked=False)
    step = component_repair.step_of(wishes.what, whole)
    # Not beyond the release: whether Git takes it over is another question.
    asked = RunRequest(cluster=cluster.name, only=(step.component,), until=step.phase, is_dry_run=wishes.is_dry_run)
    return await _up(platform, means, wishes, asked)


async def _up(platform: Platform, means: Means, wishes: RecoverRequest, asked: execute_means.RunRequest) -> int:
    with screen.doing(is_shown=wishes.form == "text") as say:
        prepared = await up.prepare(platform, asked, means, say=say)
    if prepared.is_blocked:
        carry_out.tell_problems(prepared, wishes.form)
        return ExitCode.BLOCKED
    return (await carry_out.carry_out(prepared, asked, means, yes=wishes.is_yes, form=wishes.form)).exit_code


async def _restored(platform: Platform, cluster: Cluster, means: Means, wishes: RecoverRequest) -> int:
    with screen.doing(is_shown=wishes.form == "text") as say:
        say(f"rendering {component_repair.ROLES[wishes.option]} of {cluster.name}")
        ready = await component_repair.prepare_restore(platform, cluster, means, role=wishes.option)
    if ready.prepared.is_blocked:
        carry_out.tell_problems(ready.prepared, wishes.form)
        return ExitCode.BLOCKED
    return await _walked(cluster, means, wishes, component_repair.restore_stages(ready), revision=ready.scene.revision)


async def _rebuild_machine(platform: Platform, cluster: Cluster, means: Means, wishes: RecoverRequest) -> int:
    _, found = machine_lookup.machine_of(platform, wishes.what, cluster=cluster.name)
    await add.check_joinable(found, cluster, means)
    stages = rebuild.machine_stages(platform, cluster, found, timeout=wishes.timeout)
    return await _walked(cluster, means, wishes, stages)


async def _etcd(platform: Platform, cluster: Cluster, means: Means, wishes: RecoverRequest) -> int:
    machine_lookup.refuse_omni(cluster)
    source: Path | None = None
    if wishes.option == NEWEST:
        named = Path(wishes.what)
        is_path = bool(wishes.what) and (named.exists() or named.is_absolute())
        source = (
            named.resolve()
            if is_path
            else Path(backup_store.find(backup_store.home(means.state, cluster.name), wishes.what).path)
        )
        wishes = dataclasses.replace(wishes, what=str(source) if is_path else source.name)
    trusted = await backup_signature.trust(signers=wishes.signers, unsigned=wishes.unsigned)
    stages = etcd_restore.stages(
        cluster, source=source, root=platform.root, now=means.now(), timeout=wishes.timeout, trusted=trusted
    )
    return await _walked(cluster, means, wishes, stages, is_api_there=False)


async def _walked(
    cluster: Cluster, means: Means, wishes: RecoverRequest, stages: tuple[WalkStage, ...], *, revision: str = "",
    is_api_there: bool = True,
) -> int:  # fmt: skip
    on = f" --on {wishes.what}" if wishes.what else ""
    on += "".join(f" --signer {each}" for each in wishes.signers)
    on += "".join(f" --trust-unsigned {shlex.quote(each)}" for each in wishes.unsigned)
    walk = Walk(
        cluster=cluster, command=COMMAND, again=f"{cluster.name} --do {wishes.option}{on}", stages=stages,
        is_dry_run=wishes.is_dry_run, revision=revision,
    )  # fmt: skip
    # The lease lies in etcd, which some do not leave as it was.
    reached = live_cluster.reached(cluster, means) if is_api_there else live_cluster.unconnected(cluster, means)
    async with reached as world:
        return (await follow_walk(walk, world, means, yes=wishes.is_yes, form=wishes.form)).exit_code


async def _rebuild(platform: Platform, cluster: Cluster, means: Means, wishes: RecoverRequest) -> int:
    asked = RunRequest(cluster=cluster.name, is_dry_run=wishes.is_dry_run)
    with screen.doing(is_shown=wishes.form == "text") as say:
        say("everything is looked for in the commit and the secrets alone")
        # What is rehearsed is a copy of the commit, and has dummies for secrets.
        missing = () if means.is_rehearsal else await rebuild.proof(
            platform, cluster, means, means_of=lambda there: cli_means.user_means(there, keep=False)
        )  # fmt: skip
        prepared = await up.prepare(platform, asked, means, say=say)
    # That all control planes are bare is what it is for.
    others = [each for each in prepared.problems if each.code != "cluster-gone"]
    prepared = dataclasses.replace(prepared, problems=tuple(dict.fromkeys((*others, *missing))))
    if prepared.is_blocked:
        carry_out.tell_problems(prepared, wishes.form)
        return ExitCode.BLOCKED
    if not wishes.is_dry_run:
        await rebuild.set_aside(cluster, means)
    code = (await carry_out.carry_out(prepared, asked, means, yes=wishes.is_yes, form=wishes.form)).exit_code
    if code or wishes.is_dry_run:
        return code
    found = await rebuild.verify(prepared, means)
    if wishes.form == "text":
        print(verify_text.text(found, columns=table.terminal_columns()))
    return 0 if found.is_fine else 1


DOING: Mapping[str, Callable[[Platform, Cluster, Means, RecoverRequest], Awaitable[int]]] = {
    "kubeconfig": _kubeconfig,
    "talosconfig": _talosconfig,
    "rerun": _rerun,
    "pending-release": _pending_release,
    "cni": _restored,
    "engine": _restored,
    "rebuild-machine": _rebuild_machine,
    "etcd-quorum": _etcd,
    "etcd-restore": _etcd,
    "rebuild": _rebuild,
}
"""All options that need no person."""
