"""``firstlight recover --drill``: the recovery practised in the lab, on the user's own repo."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import hashlib
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from firstlight import errors
from firstlight.cli import install_tools, output, which_cluster, which_repo
from firstlight.cli.output import Form
from firstlight.clients import atomic_file, kube
from firstlight.commands.node import machine_ready
from firstlight.commands.recover import assess, drill_context, machine_faults, object_faults, repair
from firstlight.commands.recover import text as recover_text
from firstlight.commands.recover.assessment import DrillResult
from firstlight.commands.recover.drill_context import DrillContext, DrillFault
from firstlight.commands.rehearse import chart_copies, lab_kit, lab_mapping, rehearse, stand_ins
from firstlight.commands.rehearse.chart_copies import GivenChart
from firstlight.document import mistakes
from firstlight.document.within import mapping, text
from firstlight.drawing import table
from firstlight.errors import ExitCode
from firstlight.execute.means import RunRequest
from firstlight.model import helm_names
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.platform import Platform
from firstlight.repo.team_files import DRILL_RECORD

LIST = "list"


def drill(
    platform: Platform, cluster: Cluster, scenario: str, *, charts: Path | None, offline: bool, keep: bool,
    form: Form,
) -> int:  # fmt: skip
    """Practise a recovery; the exit code.

    Args:
        platform: The repo.
        cluster: The cluster.
        scenario: What is broken.
        charts: A directory of charts that need not be fetched.
        offline: Fetch none.
        keep: Leave the lab running.
        form: How the report is printed.

    Raises:
        errors.UsageError: There is no such scenario.
        errors.Refused: It cannot be rehearsed, or the cluster has nothing of that kind to break.
    """
    fault = FAULTS.get(scenario)
    if fault is None:
        near = mistakes.near(scenario, list(FAULTS))
        raise errors.UsageError(f"there is no scenario {scenario[:63]!r}", hint=f"{near} See: --drill {LIST}".strip())
    fault.check(platform, cluster)
    given = chart_copies.read(charts) if charts else ()
    name = f"drill-{lab_kit.lab_name(cluster.name).removeprefix('rehearsal-')}"[:32].rstrip("-")
    try:
        found = asyncio.run(_drilled(platform, cluster, fault, name=name, given=given, offline=offline, keep=keep))
    except KeyboardInterrupt:
        return lab_kit.interrupted(name, keep=keep)
    recorded: Path | None = None
    if found.is_fine:
        recorded = record_drill(platform.root, found, now=time.time()).relative_to(platform.root)
    shown = recover_text.drill_text(
        found, fault.what, how=fault.how, untried=fault.untried, recorded=str(recorded or "")
    )
    output.answer(form, shown, recover_text.drill_data(found, untried=fault.untried, recorded=str(recorded or "")))
    return 0 if found.is_fine else ExitCode.FAILED


def drill_or_list(
    cluster: str, scenario: str, *, root: Path | None, charts: Path | None, offline: bool, keep: bool, form: Form
) -> int:
    """Practise a recovery, or print the scenarios; the exit code.

    Raises:
        errors.UsageError: There is no such scenario.
        errors.Refused: It cannot be rehearsed, or the cluster has nothing of that kind to break.
    """
    if scenario == LIST:
        return _listed(form)
    platform = which_repo.platform(root)
    one = which_cluster.cluster_of(platform, cluster)
    return drill(platform, one, scenario, charts=charts, offline=offline, keep=keep, form=form)


def _listed(form: Form) -> int:
    rows = [(each.id, each.what, each.how, each.option) for each in FAULTS.values()]
    data = [{"id": id, "what": what, "how": how, "option": option} for id, what, how, option in rows]
    output.answer(form, recover_text.drill_list(rows, columns=table.terminal_columns()), data)
    return 0


async def _drilled(
    platform: Platform, cluster: Cluster, fault: DrillFault, *, name: str, given: tuple[GivenChart, ...], offline: bool,
    keep: bool,
) -> DrillResult:  # fmt: skip
    one = await lab_kit.fresh_lab(name)
    kit = await lab_kit.kit(one, actors=lab_mapping.actors(platform, cluster), given=given, offline=offline, keep=keep)
    try:
        played = await rehearse.rehearse(platform, cluster, RunRequest(cluster=cluster.name, until=fault.until), kit)
        if played.told.verdict != "passed":
            raise errors.Refused(
                f"{cluster.name} does not come up in the lab, so that nothing can be drilled",
                hint=f"See why: firstlight rehearse {cluster.name}",
            )
        playing = asyncio.create_task(stand_ins.play(one, kit.kinds))
        try:
            ground = DrillContext(lab=one, prepared=played.prepared, means=played.means)
            if fault.option not in drill_context.SEALED_OPTIONS:
                return await _broken(fault, ground)
            sops = (await install_tools.ensure(["sops"]))["sops"]
            with drill_context.sealed(ground, sops=sops) as own:
                return await _broken(fault, own)
        finally:
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)
    finally:
        await lab_kit.clean_up(one, keep=keep)


async def _broken(fault: DrillFault, ground: DrillContext) -> DrillResult:
    async def do(option: str, on: str) -> int:
        wishes = repair.RecoverRequest(
            option=option, what=on, is_dry_run=False, is_yes=True, timeout=machine_ready.TIMEOUT, form="text",
            # The drill has taken the snapshot itself.
            unsigned=(Path(on).name,) if option == repair.NEWEST else (),
        )  # fmt: skip
        # Standard output is for the report alone.
        with contextlib.redirect_stdout(sys.stderr):
            return await repair.do(ground.prepared.platform, ground.cluster, ground.means, wishes)

    return await carry_out_drill(fault, ground, do=do, say=lambda text: print(text, file=sys.stderr, flush=True))


# The scenarios of drills: what can be broken in a lab on purpose, and the option that must repair it.


async def _files(ground: DrillContext) -> str:
    for name in ("kubeconfig", "talosconfig"):
        (ground.means.state / ground.cluster.name / name).unlink(missing_ok=True)
    return ""


async def _talosconfig(ground: DrillContext) -> str:
    (ground.means.state / ground.cluster.name / "talosconfig").unlink(missing_ok=True)
    return ""


FAULTS: Mapping[str, DrillFault] = {
    each.id: each
    for each in (
        DrillFault(id="kubeconfig", what="kubeconfig and talosconfig are lost", how="both files deleted",
              option="kubeconfig", make=_files),
        DrillFault(id="talosconfig", what="the talosconfig is lost", how="the file deleted", option="talosconfig",
              make=_talosconfig),
        DrillFault(id="foundation", what="a foundation secret is gone", how="the Secret deleted", option="rerun",
              make=object_faults.foundation, check=object_faults.check_foundation),
        DrillFault(id="dns", what="cluster DNS is gone", how="its Deployment deleted; before the handover",
              option="rerun", make=object_faults.names, check=object_faults.check_names, until=Phase.CORE),
        DrillFault(id="api", what="the API server does not start", option="rerun", make=machine_faults.api_server,
              check=machine_faults.check_any,
              how="a value that it refuses, in the configs of all control planes"),
        DrillFault(id="pending-release", what="a Helm release is pending", option="pending-release",
              make=object_faults.pending_release,
              how="a revision more, left as by a Helm that was killed an hour ago; before the handover",
              until=Phase.CORE),
        DrillFault(id="cni", what="the network plugin is gone, and the engine with it", option="cni",
              make=object_faults.network, check=object_faults.check_network,
              how="the controllers of the engine and the DaemonSets of the CNI deleted"),
        DrillFault(id="engine", what="the engine is broken", how="one of its controllers deleted", option="engine",
              make=object_faults.engine, check=object_faults.check_engine),
        DrillFault(id="control-plane", what="a control-plane machine is lost", option="rebuild-machine",
              make=machine_faults.lost_machine, check=machine_faults.check_three, how="wiped, without leaving etcd"),
        DrillFault(id="quorum", what="etcd has lost its quorum", option="etcd-quorum", make=machine_faults.quorum,
              check=machine_faults.check_three,
              how="the power of most members cut, and what etcd had on their disks gone"),
        DrillFault(id="etcd", what="etcd's data is lost", option="etcd-restore", make=machine_faults.etcd_data,
              check=machine_faults.check_any,
              how="a snapshot taken, then the data of all members wiped"),
        DrillFault(id="everything", what="the whole cluster is lost", how="all machines wiped", option="rebuild",
              make=machine_faults.all_machines, check=machine_faults.check_any,
              untried="that the commit and the secrets alone are enough: secrets of a rehearsal are dummies"),
    )
}  # fmt: skip
"""All of them, by id."""


# The record of drills in the repo, which ``audit`` reads: a line more for each that went well.


def record_drill(root: Path, drilled: DrillResult, *, now: float) -> Path:
    """Add a drill to the record; the file.

    Args:
        root: The repo.
        drilled: What came of it.
        now: When it was.

    Raises:
        errors.Refused: What is there is no list, or the file cannot be written.
    """
    path = root / DRILL_RECORD
    day = datetime.datetime.fromtimestamp(now, datetime.UTC).date()
    what = (
        f"{drilled.scenario}: diagnosed in {drilled.diagnosed:.0f} s, repaired in {drilled.repaired:.0f} s by "
        f"{drilled.option}, nothing lost of {drilled.compared} objects"
    )
    entry = {"cluster": drilled.cluster, "day": day, "what": what}
    line = yaml.safe_dump(entry, default_flow_style=True, sort_keys=False, width=10_000).strip()
    if path.is_symlink() or path.parent.is_symlink():
        raise errors.Refused(f"{DRILL_RECORD} is a link: it is not followed", hint="Put a file in its place.")
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    after = f"{before}{'' if not before or before.endswith(chr(10)) else chr(10)}- {line}\n"
    if not _is_one_more(before, after):
        raise errors.Refused(
            f"{DRILL_RECORD} is no list of drills with a line each, so that nothing was added", hint=f"Add it: - {line}"
        )
    try:
        path.parent.mkdir(exist_ok=True)
        atomic_file.replace(path, after.encode())
        path.chmod(0o644)  # it is for everybody who has the repo
    except OSError as error:
        raise errors.Refused(
            f"{DRILL_RECORD} cannot be written: {error.strerror or error}", hint=f"Add it: - {line}"
        ) from error
    return path


def _is_one_more(before: str, after: str) -> bool:
    try:
        old, new = (yaml.safe_load(each) for each in (before, after))
    except yaml.YAMLError:
        return False
    known = old or []
    return isinstance(known, list) and isinstance(new, list) and new[:-1] == known and len(new) == len(known) + 1


SHOWN = 120.0
"""Seconds in which a fault must show."""
ENDED = 300.0
"""Seconds after a repair in which it must be seen."""
POLL = 0.5

Do = Callable[[str, str], Awaitable[int]]
"""Carries an option out on something, as the command does; its exit code."""


async def carry_out_drill(
    fault: DrillFault, ground: DrillContext, *, do: Do, say: Callable[[str], None] = lambda _: None
) -> DrillResult:
    """Break, assess, repair and compare.

    Args:
        fault: What is broken.
        ground: The lab, with the cluster brought up as far as the fault wants it.
        do: Carries options out.
        say: Told how far it is.

    Raises:
        errors.Refused: The cluster has nothing of that kind to break.
        errors.TimedOut: The fault does not show, or stays.
    """
    before = await _belongings(ground)
    say(f"{fault.what}: {fault.how}")
    on = await fault.make(ground)
    begun = time.monotonic()
    await _until(ground, fault.option, on, is_offered=True, within=SHOWN)
    diagnosed = time.monotonic() - begun
    say(f"diagnosed in {diagnosed:.1f} s: {fault.option}")
    begun = time.monotonic()
    code = await do(fault.option, on)
    if code == 0:
        await _until(ground, fault.option, on, is_offered=False, within=ENDED)
    repaired = time.monotonic() - begun
    lost = lost_belongings(before, await _belongings(ground)) if code == 0 else ()
    return DrillResult(
        scenario=fault.id, cluster=ground.cluster.name, option=f"{fault.option} {on}".rstrip(), diagnosed=diagnosed,
        repaired=repaired, compared=len(before), lost=lost, code=code,
    )  # fmt: skip


async def _belongings(ground: DrillContext) -> Mapping[str, str]:
    async with kube.Client(kube.load(ground.lab.kubeconfig), agent="drill") as client:
        return await belongings_of(client)


async def _until(ground: DrillContext, option: str, on: str, *, is_offered: bool, within: float) -> None:
    """Assess until an option is offered, or is not any more; nobody waits a minute before something counts here."""
    deadline = time.monotonic() + within
    platform, cluster, means = ground.prepared.platform, ground.cluster, ground.means
    while True:
        found = (await assess.assess(platform, cluster, means, patience=0.0)).assessment
        # An option that is done to the newest of something names none.
        if any(each.name == option and each.on in ("", on) for each in found.options) == is_offered:
            return
        if time.monotonic() > deadline:
            said = "; ".join(each.symptom.key for each in found.causes) or "nothing is broken"
            what = "is not offered" if is_offered else "is still offered"
            raise errors.TimedOut(f"{option} {on}".rstrip() + f" {what} after {within:.0f} s: {said}")
        await asyncio.sleep(POLL)


# What a recovery must not lose of a cluster: objects by name, Secrets by content, claims by their volume.


_PASSING = frozenset({
    "Pod", "Event", "Lease", "EndpointSlice", "Endpoints", "CertificateSigningRequest", "ControllerRevision",
    "ReplicaSet", "CSINode", "IPAddress", "VolumeAttachment", "CiliumEndpoint", "CiliumIdentity",
})  # fmt: skip
"""Kinds whose objects come and go by themselves."""
_OF_A_RUN = ("ConfigMap kube-system/firstlight-", "Secret kube-system/firstlight-")


async def belongings_of(client: kube.Client) -> Mapping[str, str]:
    """What there is: an empty text where being there is enough, else what must stay the same, as a digest.

    Raises:
        errors.ClientError: The API does not answer.
    """
    found: dict[str, str] = {}
    for resource in (await client.catalog(refresh=True)).resources.values():
        if resource.kind in _PASSING or "list" not in resource.verbs:
            continue
        try:
            items = (await client.list(resource.api_version, resource.kind)).items
        except (kube.NotFound, kube.UnknownKind, kube.Forbidden):
            continue
        for each in items:
            name = f"{resource.kind} {text(each, 'metadata', 'namespace')}/{text(each, 'metadata', 'name')}"
            if not name.startswith(_OF_A_RUN) and text(each, "type") != helm_names.RELEASE_SECRET_TYPE:
                found[name.replace(" /", " ")] = _content(resource.kind, each)
    return found


def lost_belongings(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """What is not there any more, or is another one."""
    gone = [f"{each} is gone" for each in sorted(before.keys() - after.keys())]
    other = [f"{each} is another one" for each in sorted(before.keys() & after.keys()) if before[each] != after[each]]
    return (*gone, *other)


def _content(kind: str, value: Mapping[str, Any]) -> str:
    match kind:
        case "Secret":
            return hashlib.sha256(msgspec.json.encode(mapping(value, "data"), order="sorted")).hexdigest()
        case "PersistentVolumeClaim":
            return f"{text(value, 'metadata', 'uid')} {text(value, 'spec', 'volumeName')}"
        case _:
            return ""
