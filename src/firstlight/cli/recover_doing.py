"""One option of ``firstlight recover`` carried out: by ``up`` where that is what helps, else by a walk."""

import dataclasses
import shlex
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from firstlight import errors
from firstlight.cli import output, screen

if TYPE_CHECKING:
    from firstlight.cli.following import Form
    from firstlight.execute.walking import Stage
    from firstlight.model.cluster import Cluster
    from firstlight.model.platform import Platform
    from firstlight.operate import means as meanses
    from firstlight.operate.means import Means

COMMAND = "recover"
BLOCKED = 3
_TARGETS = {"rerun": "PHASE, COMPONENT or secrets", "pending-release": "NAMESPACE/NAME", "rebuild-machine": "MACHINE"}
NEWEST = "etcd-restore"
"""Done to the newest backup, unless another is named."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wishes:
    """What was typed."""

    option: str
    what: str
    is_dry_run: bool
    is_yes: bool
    timeout: float
    form: "Form"
    signers: tuple[str, ...] = ()
    """Whose backups are restored besides one's own, by fingerprint."""
    unsigned: tuple[str, ...] = ()
    """Backups and files that are restored although nobody signed them, by name."""


def check(cluster: "Cluster", wishes: Wishes) -> None:
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


async def do(platform: "Platform", cluster: "Cluster", means: "Means", wishes: Wishes) -> int:
    """Carry an option out; the exit code."""
    return await DOING[wishes.option](platform, cluster, means, wishes)


async def _kubeconfig(platform: "Platform", cluster: "Cluster", means: "Means", wishes: Wishes) -> int:
    from firstlight.operate.recover import files

    if wishes.is_dry_run:
        return _would(cluster, means, wishes, "kubeconfig", "talosconfig")
    said: list[str] = []
    found = await files.kubeconfig(cluster, means, tell=said.append)
    for each in said:
        print(each, file=sys.stderr)
    return _written(cluster, found, wishes, wanted="kubeconfig")


async def _talosconfig(platform: "Platform", cluster: "Cluster", means: "Means", wishes: Wishes) -> int:
    from firstlight.operate.recover import files

    if wishes.is_dry_run:
        return _would(cluster, means, wishes, "talosconfig")
    return _written(cluster, await files.talosconfig(cluster, means), wishes, wanted="talosconfig")


def _would(cluster: "Cluster", means: "Means", wishes: Wishes, *names: str) -> int:
    paths = [str(means.state / cluster.name / each) for each in names]
    data = {"cluster": cluster.name, "option": wishes.option, "would": paths}
    output.answer(wishes.form, "\n".join(f"would write {each}" for each in paths), data)
    return 0


def _written(cluster: "Cluster", paths: "tuple[Path, ...]", wishes: Wishes, *, wanted: str) -> int:
    names = [str(each) for each in paths]
    text = "\n".join(f"{each} is written" for each in names)
    output.answer(wishes.form, text, {"cluster": cluster.name, "option": wishes.option, "written": names})
    return 0 if any(each.name == wanted for each in paths) else 1


async def _rerun(platform: "Platform", cluster: "Cluster", means: "Means", wishes: Wishes) -> int:
    from firstlight.model.component import Phase
    from firstlight.operate.means import Wishes as Asked
    from firstlight.plan import facts

    if wishes.what in {each.value for each in Phase}:
        asked = Asked(cluster=cluster.name, until=Phase(wishes.what), is_dry_run=wishes.is_dry_run)
    else:
        # Not beyond what bootstrap brings: whether Git takes it over, and there is an engine yet, is another question.
        phases = {each.name: each.phase for each in platform.components_of(cluster.name) if facts.in_bootstrap(each)}
        only = (wishes.what,)
        asked = Asked(
            cluster=cluster.name, only=only, until=phases.get(wishes.what), is_dry_run=wishes.is_dry_run
        )  # fmt: skip
    return await _up(platform, means, wishes, asked)


async def _pending_release(platform: "Platform", cluster: "Cluster", means: "Means", wishes: Wishes) -> int:
    from firstlight.operate import reaching, up
    from firstlight.operate.means import Wishes as Asked
    from firstlight.operate.recover import releases

    async with reaching.reached(cluster, means) as world:
        is_kept = releases.is_kept(wishes.what, platform.components_of(cluster.name))
        await releases.refuse_owned(wishes.what, world.kube, is_kept=is_kept)
    whole = await up.prepare(platform, Asked(cluster=cluster.name), means, is_checked=False)
    step = releases.step_of(wishes.what, whole)
    # Not beyond the release: whether Git takes it over is another question.
    asked = Asked(cluster=cluster.name, only=(step.component,), until=step.phase, is_dry_run=wishes.is_dry_run)
    return await _up(platform, means, wishes, asked)


async def _up(platform: "Platform", means: "Means", wishes: Wishes, asked: "meanses.Wishes") -> int:
    from firstlight.cli import up
    from firstlight.operate import up as operating

    with screen.doing(is_shown=wishes.form == "text") as say:
        prepared = await operating.prepare(platform, asked, means, say=say)
    if prepared.is_blocked:
        up.tell_problems(prepared, wishes.form)
        return BLOCKED
    return up.exit_code(await up.carry_out(prepared, asked, means, yes=wishes.is_yes, form=wishes.form))


async def _restored(platform: "Platform", cluster: "Cluster", means: "Means", wishes: Wishes) -> int:
    from firstlight.cli import up
    from firstlight.operate.recover import restoring

    with screen.doing(is_shown=wishes.form == "text") as say:
        say(f"rendering {restoring.ROLES[wishes.option]} of {cluster.name}")
        ready = await restoring.prepare(platform, cluster, means, role=wishes.option)
    if ready.prepared.is_blocked:
        up.tell_problems(ready.prepared, wishes.form)
        return BLOCKED
    return await _walked(cluster, means, wishes, restoring.stages(ready), revision=ready.scene.revision)


async def _rebuild_machine(platform: "Platform", cluster: "Cluster", means: "Means", wishes: Wishes) -> int:
    from firstlight.operate.node import adding, choosing
    from firstlight.operate.recover import machine

    _, found = choosing.machine_of(platform, wishes.what, cluster=cluster.name)
    await adding.check(found, cluster, means)
    stages = machine.stages(platform, cluster, found, timeout=wishes.timeout)
    return await _walked(cluster, means, wishes, stages)


async def _etcd(platform: "Platform", cluster: "Cluster", means: "Means", wishes: Wishes) -> int:
    from firstlight.operate.backup import shelf, signing
    from firstlight.operate.node import choosing
    from firstlight.operate.recover import etcd

    choosing.refuse_omni(cluster)
    source: Path | None = None
    if wishes.option == NEWEST:
        named = Path(wishes.what)
        is_path = bool(wishes.what) and (named.exists() or named.is_absolute())
        source = (
            named.resolve() if is_path else Path(shelf.find(shelf.home(means.state, cluster.name), wishes.what).path)
        )
        wishes = dataclasses.replace(wishes, what=str(source) if is_path else source.name)
    trusted = await signing.trust(signers=wishes.signers, unsigned=wishes.unsigned)
    stages = etcd.stages(
        cluster, source=source, root=platform.root, now=means.now(), timeout=wishes.timeout, trusted=trusted
    )
    return await _walked(cluster, means, wishes, stages, is_api_there=False)


async def _walked(
    cluster: "Cluster", means: "Means", wishes: Wishes, stages: "tuple[Stage, ...]", *, revision: str = "",
    is_api_there: bool = True,
) -> int:  # fmt: skip
    from firstlight.cli import up
    from firstlight.cli.walked import walked
    from firstlight.operate import reaching
    from firstlight.operate.walk import Walk

    on = f" --on {wishes.what}" if wishes.what else ""
    on += "".join(f" --signer {each}" for each in wishes.signers)
    on += "".join(f" --trust-unsigned {shlex.quote(each)}" for each in wishes.unsigned)
    walk = Walk(
        cluster=cluster, command=COMMAND, again=f"{cluster.name} --do {wishes.option}{on}", stages=stages,
        is_dry_run=wishes.is_dry_run, revision=revision,
    )  # fmt: skip
    # The lease lies in etcd, which some do not leave as it was.
    reached = reaching.reached(cluster, means) if is_api_there else reaching.unconnected(cluster, means)
    async with reached as world:
        return up.exit_code(await walked(walk, world, means, yes=wishes.is_yes, form=wishes.form))


async def _rebuild(platform: "Platform", cluster: "Cluster", means: "Means", wishes: Wishes) -> int:
    from firstlight.cli import own_means, up
    from firstlight.operate import preflight
    from firstlight.operate import up as operating
    from firstlight.operate.means import Wishes as Asked
    from firstlight.operate.recover import rebuilding
    from firstlight.report import table
    from firstlight.report import verify as report

    asked = Asked(cluster=cluster.name, is_dry_run=wishes.is_dry_run)
    with screen.doing(is_shown=wishes.form == "text") as say:
        say("everything is looked for in the commit and the secrets alone")
        # What is rehearsed is a copy of the commit, and has dummies for secrets.
        missing = () if means.is_rehearsal else await rebuilding.proof(
            platform, cluster, means, means_of=lambda there: own_means.means(there, keep=False)
        )  # fmt: skip
        prepared = await operating.prepare(platform, asked, means, say=say)
    # That all control planes are bare is what it is for.
    others = [each for each in prepared.problems if each.rule != preflight.GONE]
    prepared = dataclasses.replace(prepared, problems=tuple(dict.fromkeys((*others, *missing))))
    if prepared.is_blocked:
        up.tell_problems(prepared, wishes.form)
        return BLOCKED
    if not wishes.is_dry_run:
        await rebuilding.set_aside(cluster, means)
    code = up.exit_code(await up.carry_out(prepared, asked, means, yes=wishes.is_yes, form=wishes.form))
    if code or wishes.is_dry_run:
        return code
    found = await rebuilding.verify(prepared, means)
    if wishes.form == "text":
        print(report.text(found, columns=table.terminal_columns()))
    return 0 if found.is_fine else 1


DOING: Mapping[str, Callable[["Platform", "Cluster", "Means", Wishes], Awaitable[int]]] = {
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
