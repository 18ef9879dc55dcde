"""A move that was practised in the lab, and what came of it."""

import asyncio
import dataclasses
import os
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.git import Git
from firstlight.commands.change import change, cluster_order, followed_branch, prepare, publish
from firstlight.commands.change.change import ChangeOutcome
from firstlight.commands.change.change_record import ChangePath
from firstlight.commands.change.moves import proof
from firstlight.commands.change.moves.move_context import MoveContext
from firstlight.commands.change.ongoing_change import ChangeHost, ChangeRequest, OngoingChange
from firstlight.commands.decide.change_source import WorkTreeChanges
from firstlight.commands.decide.decide import Decided
from firstlight.commands.move import move_proposal
from firstlight.commands.rehearse import chart_copies, stand_ins
from firstlight.commands.rehearse import rehearse as rehearse_room
from firstlight.commands.rehearse.rehearse import PlayedRehearsal
from firstlight.commands.verify import idempotency, verify
from firstlight.document.within import sequence, text
from firstlight.execute import live_cluster
from firstlight.execute.handover import certificate_store
from firstlight.execute.means import Means
from firstlight.lab.running_lab import Lab
from firstlight.lab.sources.declarations import Access
from firstlight.model.certificate import Certificate
from firstlight.model.move import MoveProposal
from firstlight.model.platform import Platform
from firstlight.model.verdict import Passed
from firstlight.observe import audit_log
from firstlight.render.rendered_diff import PlatformRevision
from firstlight.repo import file_patch, platform_reader
from firstlight.repo.work_tree import WorkTree


@dataclasses.dataclass(frozen=True, kw_only=True)
class RehearsedMove:
    """A move of one cluster, carried out in its lab."""

    what: str
    """``whoami --to bootstrap``."""
    cluster: str
    lab: str
    """Its name."""
    brought_up: float
    """Seconds in which the cluster came to its handover, as the repo has it now."""
    moved: float = 0.0
    """Seconds from there until it was proven, or failed."""
    passed: tuple[tuple[str, int], ...] = ()
    """Who has the objects in the end, and how many of them; by the certificate."""
    is_passing: bool = False
    """Whether objects get another owner; else only the next cold start is another."""
    certificate: str = ""
    """The digest of a complete one; empty where there is none."""
    pods: int = 0
    """How many there were before, those of Jobs aside."""
    replaced: tuple[str, ...] = ()
    """Pods that are not there any more."""
    deleted: tuple[str, ...] = ()
    """What anybody has deleted meanwhile, by the audit log."""
    second_run: str = ""
    """What a second run of ``up`` came to; empty where there was none."""
    written: tuple[str, ...] = ()
    """What the second run wrote or would have written, and what else did not hold of it."""
    failure: str = ""
    """What went wrong on the way; empty where nothing did."""
    hint: str = ""
    simulated: tuple[str, ...] = ()
    """What the lab only pretends."""
    untried: tuple[str, ...] = ()
    """What could not be tried in it."""
    is_kept: bool = False
    """Whether the lab is still there."""

    @property
    def is_fine(self) -> bool:
        """Whether it may be done to the cluster itself."""
        is_proven = bool(self.certificate) and bool(self.second_run)
        return is_proven and not (self.failure or self.replaced or self.deleted or self.written)


# A move practised in the lab: the same edits, committed and merged there, and the same stages on the lab's cluster.
#
# The cluster was brought up before, as the repo has it now. Afterwards it is looked at from outside: what anybody has
# deleted by the audit log, which pods are others, and what a second run of ``up`` writes.


PATIENCE = 120.0
"""Seconds in which the lab's engine must have brought what was merged: it has nothing else to do."""
_RESTLESS = ("leases ", "events ", "certificatesigningrequests ", "jobs ")
"""What comes and goes by itself."""
_CONFIG = """\
[user]
\tname = rehearsal
\temail = rehearsal@firstlight.invalid
[commit]
\tgpgsign = false
[core]
\thooksPath = /dev/null
[http]
\tproxy =
"""
"""Of the clone: nobody's name, signature, hook or proxy has a part in a rehearsal."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MoveRehearsalContext:
    """A lab in which the cluster is up, all the way to the handover."""

    lab: Lab
    played: PlayedRehearsal
    git: Path
    kinds: tuple[Mapping[str, Any], ...] = ()
    """CRDs that Cilium's operator defines when it runs."""


HostOf = Callable[[Means], ChangeHost]
"""The command that carries changes through, by what it works with."""


async def rehearse(
    proposal: MoveProposal,
    what: str,
    ground: MoveRehearsalContext,
    *,
    host: HostOf,
    say: Callable[[str], None] = lambda _: None,
) -> RehearsedMove:
    """Carry a move out in the lab, and prove it.

    Args:
        proposal: The edits.
        what: What is done, as it was typed.
        ground: The lab.
        host: Walks stages and shows them.
        say: Told how far it is.

    Raises:
        errors.FirstlightError: The lab itself failed.
    """
    played, lab = ground.played, ground.lab
    told = RehearsedMove(
        what=what, cluster=played.prepared.cluster.name, lab=lab.home.name, brought_up=played.told.seconds,
        simulated=tuple(name for name, _ in played.told.simulated),
        untried=tuple(each.what for each in played.told.untried),
    )  # fmt: skip
    clone, url = await _cloned(ground)
    _edit(clone, proposal, what)
    say(f"{told.cluster} is up in the lab: now the move")
    began, before, begun = time.time(), await _pods(lab), time.monotonic()
    outcome, carrying = await _carried(clone, url, ground, host)
    told = dataclasses.replace(told, moved=time.monotonic() - begun, failure=outcome.says, hint=outcome.hint)
    if outcome.is_done and carrying is not None:
        try:
            told = await _proven(told, carrying, ground)
            say("a second run of up")
            # In the copy that the first one ran in: commands of the repo find what they left there.
            _edit(played.prepared.platform.root, proposal, what)
            told = await _again(told, carrying.record.merged, ground)
        except errors.FirstlightError as error:
            told = dataclasses.replace(told, failure=error.message, hint=error.hint)
    gone = before.keys() - (await _pods(lab)).keys()
    return dataclasses.replace(
        told, pods=len(before), replaced=tuple(sorted(before[uid] for uid in gone)),
        deleted=await _deleted(lab, since=began, known=set(before.values())),
    )  # fmt: skip


def _edit(root: Path, proposal: MoveProposal, what: str) -> None:
    """Make the edits in a copy of the repo, in which other things may be others: digests, what is encrypted."""
    tree = WorkTree(root)
    file_patch.write(tree, move_proposal.patched(tree, proposal, what=what))


async def _cloned(ground: MoveRehearsalContext) -> tuple[Path, str]:
    """A clone of what the lab's engine follows, to which a merge can be pushed; and the address of that."""
    prepared, sources = ground.played.prepared, ground.lab.sources()
    name = f"{rehearse_room.OWNER}/{chart_copies.slug(prepared.platform.name)}"
    branch = prepared.cluster.branch or "main"
    repository = await sources.create_git(name, access=Access(anonymous="write"), branch=branch)
    into = ground.played.means.state.parent / "clone" / prepared.platform.root.name
    into.parent.mkdir(parents=True)
    # No proxy leads to the lab's server.
    own = {**os.environ, "NO_PROXY": "*", "no_proxy": "*"}
    await Git(ground.git, schemes=("http",), environ=own).clone(repository.url, into, ref=branch)
    with (into / ".git" / "config").open("a") as config:
        config.write(_CONFIG)
    return into, repository.url


async def _carried(
    clone: Path, url: str, ground: MoveRehearsalContext, host: HostOf
) -> tuple[ChangeOutcome, OngoingChange | None]:
    """Commit, push, early stages, merge and stages, as ``--carry-out`` does them."""
    means = dataclasses.replace(ground.played.means, git=ground.git)
    playing = asyncio.create_task(stand_ins.play(ground.lab, ground.kinds))
    try:
        carrying = await _begun(clone, url, ground, means)
        # How a change is taken back or gone on with is of no use to a lab.
        return dataclasses.replace(await _through(carrying, host(means)), hint=""), carrying
    except errors.FirstlightError as error:
        return ChangeOutcome(is_done=False, says=error.message, hint=error.hint), None
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)


async def _begun(clone: Path, url: str, ground: MoveRehearsalContext, means: Means) -> OngoingChange:
    found = _led(await prepare.decide_change(clone, WorkTreeChanges(), means), url)
    name = ground.played.prepared.cluster.name
    reached = {each for clusters in cluster_order.reached_clusters(found.decision).values() for each in clusters}
    wishes = ChangeRequest(
        why="a rehearsal", title="Rehearsed move", clusters=(name,) if name in reached else (), patience=PATIENCE
    )
    carrying = await prepare.begin_change(found, wishes, means)
    if carrying.path is not ChangePath.MOVE:
        raise errors.FirstlightError(
            f"the edits are carried out as a change of {carrying.path}, and not as a move",
            hint="See what is decided of them: firstlight decide, once they are written",
        )
    cluster = found.after.platform.cluster(name)
    return dataclasses.replace(carrying, clusters=carrying.clusters or ((cluster,) if cluster is not None else ()))


def _led(found: Decided, url: str) -> Decided:
    """The decision about clusters that follow the lab's Git server, as their engines really do here."""

    def led(half: PlatformRevision) -> PlatformRevision:
        platform = half.platform
        clusters = tuple(dataclasses.replace(each, url=url) if each.url else each for each in platform.clusters)
        known: Platform = dataclasses.replace(platform, clusters=clusters)
        return PlatformRevision(tree=half.tree, is_checked_out=half.is_checked_out, known=known)

    return dataclasses.replace(found, before=led(found.before), after=led(found.after))


async def _through(carrying: OngoingChange, host: ChangeHost) -> ChangeOutcome:
    """All of it; once it is pushed and guarded somebody merges it, and then it goes on."""
    waiting = ChangeRequest(is_waiting=False, patience=PATIENCE)
    outcome = await change.carry_out(carrying, waiting, host)
    if not outcome.is_waiting:
        return outcome
    for part in carrying.record.parts:
        if part.commit:
            await followed_branch.merge_change(
                publish.clone_of(carrying), base=publish.base_of(carrying, part), commit=part.commit,
                message=carrying.record.title, say=host.say,
            )  # fmt: skip
    return await change.carry_out(carrying, waiting, host)


async def _proven(told: RehearsedMove, carrying: OngoingChange, ground: MoveRehearsalContext) -> RehearsedMove:
    """With the certificate of it."""
    cluster = next(each for each in carrying.clusters if each.name == told.cluster)
    scene = MoveContext(carrying, cluster)
    async with live_cluster.reached(cluster, ground.played.means) as world:
        path = proof.baseline_place(world, scene) / proof.FILE
    made = certificate_store.read(path).certificate
    if not made.is_complete:
        return dataclasses.replace(told, failure="the certificate is not complete")
    return dataclasses.replace(
        told, passed=_owners(made), is_passing=bool(scene.changing_owner), certificate=made.digest
    )


def _owners(made: Certificate) -> tuple[tuple[str, int], ...]:
    owners = [each.owner for each in made.objects]
    return tuple((each, owners.count(each)) for each in dict.fromkeys(owners))


async def _again(told: RehearsedMove, merged: str, ground: MoveRehearsalContext) -> RehearsedMove:
    """With a second run of the whole of ``up``, from the edited repo."""
    played, lab = ground.played, ground.lab
    means = dataclasses.replace(played.means, revision=merged)
    platform = platform_reader.read(played.prepared.platform.root)
    cluster = platform.cluster(told.cluster) or played.prepared.cluster
    async with kube.Client(kube.load(lab.kubeconfig), agent="verify") as client:
        check = await idempotency.check_idempotency(
            client, idempotency.run_again(platform, cluster, means), ours=verify.managers(played.prepared.work),
            log=lab.home.audit_log, machines=idempotency.machines_now(cluster, means),
        )  # fmt: skip
    is_fine = isinstance(check.verdict, Passed)
    written = () if is_fine else (check.verdict.reason, *check.detail)
    return dataclasses.replace(told, second_run=check.verdict.reason, written=written)


async def _pods(lab: Lab) -> dict[str, str]:
    """Pods by their UIDs, without those of Jobs, which come and go."""
    async with kube.Client(kube.load(lab.kubeconfig), agent="rehearsal") as client:
        found = (await client.list("v1", "Pod", metadata_only=True)).items
    return {
        text(each, "metadata", "uid"): f"{text(each, 'metadata', 'namespace')}/{text(each, 'metadata', 'name')}"
        for each in found
        if not any(text(owner, "kind") == "Job" for owner in sequence(each, "metadata", "ownerReferences"))
    }


async def _deleted(lab: Lab, *, since: float, known: Collection[str]) -> tuple[str, ...]:
    """What anybody has deleted, by the audit log, without what comes and goes by itself."""
    log = lab.home.audit_log
    async with kube.Client(kube.load(lab.kubeconfig), agent="rehearsal") as client:
        if not await idempotency.is_shown(client, log, since=since):
            return (f"unknown: {log} does not show what was asked",)
    found = audit_log.writes(log, since=since, until=time.time(), is_asked=lambda *_: True)
    deletes = [each for each in found if each.verb.startswith("delete") and each.code < 300]
    return tuple(str(each) for each in deletes if not _is_restless(each.what, known))


def _is_restless(what: str, known: Collection[str]) -> bool:
    kind, _, name = what.partition(" ")
    return what.startswith(_RESTLESS) or (kind == "pods" and "/" in name and name not in known)
