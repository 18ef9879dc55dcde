"""A certificate made: the engine is waited for, evidence gathered, every claim held against the baseline, sealed."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import at
from firstlight.execute.handover import baseline as handover_baseline
from firstlight.execute.handover import (
    certificate_store,
    live_evidence,
    migration,
    prediction,
    talos_state,
    upgrade_preview,
)
from firstlight.execute.handover.talos_state import TalosState
from firstlight.execute.handover.upgrade_preview import UpgradePreview
from firstlight.execute.world import World
from firstlight.model.certificate import (
    Certificate,
    CertificateClaim,
    CertificateStage,
    ClaimProof,
    MachineProof,
    ObjectProof,
)
from firstlight.model.component import ObjectId
from firstlight.model.handover import Baseline, ObjectSeen, OwnerSeen, Passing
from firstlight.model.work import Certify
from firstlight.ownership import evidence, inventories
from firstlight.ownership import proofs as ownership_proofs
from firstlight.ownership.certificate_scope import renewed, standing_certificate, unproven, with_agreed
from firstlight.ownership.certificate_seal import is_sealed, seal
from firstlight.ownership.evidence import HandoverEvidence, PodProofs
from firstlight.plan import pod_needs

_REPLICAS = ("f:spec", "f:replicas")
STAYS = ClaimProof(
    claim=CertificateClaim.RELEASED, holds=True, is_tried=False,
    says="Talos keeps it: its manifest is not released, and its values come back with every upgrade of Kubernetes",
)  # fmt: skip

__all__ = [
    "certify",
    "is_sealed",
    "lapsed",
    "prove",
    "replaced",
    "seal",
    "standing_certificate",
    "talos_proofs",
    "uid_of",
    "uncertified",
    "unproven",
    "with_agreed",
]  # fmt: skip


async def certify(
    task: Certify,
    world: World,
    *,
    stage: CertificateStage,
    step: str = "",
    kept: Certificate | None = None,
    again: Collection[ObjectId] = (),
) -> Certificate:
    """Try everything that a certificate claims, and seal what came of it; it may be incomplete.

    Args:
        task: What was handed over.
        world: The run.
        stage: Whether Talos has released its manifests already; what it keeps makes it provisional in any case.
        step: Who is told what is waited for.
        kept: A complete certificate: what it proves was handed over then, and its pods may be others by now.
        again: What of that is proven anew all the same.

    Raises:
        errors.Refused: There is no baseline of this cluster to hold it against.
        errors.ClientError: The API does not answer.
    """
    client = world.kube
    uid = await uid_of(client)
    baseline = await handover_baseline.load(client)
    if baseline is None or baseline.cluster != uid:
        whose = "no baseline is kept" if baseline is None else "the baseline that is kept is another cluster's"
        raise errors.Refused(
            f"{whose}: nothing tells how everything was before Git took over",
            hint="A baseline is saved before the root object exists: firstlight up, or firstlight handover.",
        )
    left = {each.id for each in unproven(task.passing, kept, staying=task.staying)} | {*again}
    passing = [each for each in task.passing if each.id in left]
    await live_evidence.engine_settled(passing, world, step=step)
    await migration.finish(passing, client)
    held = await live_evidence.holders((each.owner for each in task.passing), client)
    fresh = await prove(
        passing,
        held,
        client,
        baseline=baseline,
        is_final=stage == CertificateStage.FINAL,
        is_repeated=True,
        staying=task.staying,
    )
    objects = renewed(fresh, kept)
    released = _released(task, kept)
    machines = kept.machines if kept is not None else ()
    if released and task.control_planes:
        machines = await _talos(task, released, world)
    made = Certificate(
        cluster=world.cluster.name, uid=uid, engine=_engine(task.passing), revision=_revision(task, held.values()),
        run=world.run, at=round(time.time()), baseline_at=round(baseline.at),
        stage=CertificateStage.PROVISIONAL if any(each.is_staying for each in objects) else stage, objects=objects,
        machines=machines, released=released, kept=task.kept,
        missing=tuple(str(each.id) for each in objects if not each.uid),
    )  # fmt: skip
    return seal(made)


async def uncertified(passing: Sequence[Passing], client: kube.Client) -> tuple[Passing, ...]:
    """What the certificate of the cluster does not cover for good: all without one, and always what Talos keeps.

    Raises:
        errors.ClientError: The API does not answer.
    """
    kept = await certificate_store.load(client, uid=await uid_of(client))
    return unproven(passing, standing_certificate(kept))


async def lapsed(passing: Sequence[Passing], client: kube.Client) -> tuple[Passing, ...]:
    """What was proven once and is not so now: the engine's next apply would change it, or take fields away.

    What an engine adds by itself is no such thing, so that whatever looks like one is proven as the certificate does;
    dry runs alone, and nothing is written.

    Raises:
        errors.ClientError: The API does not answer.
    """
    candidates = await prediction.find(passing, client)
    found = await prediction.predictions(candidates, client)
    doubtful = {each.id for each in found if each.changed or each.lost or each.refused}
    asked = [each.passing for each in candidates if each.object.id in doubtful]
    held = await live_evidence.holders((each.owner for each in asked), client)
    tried = await live_evidence.gather(asked, held, client, is_repeated=False)
    return tuple(each.passing for each in tried if not ownership_proofs.no_op(each).holds)


async def replaced(passing: Sequence[Passing], client: kube.Client) -> tuple[ObjectId, ...]:
    """What makes pods, and does not make those of the baseline any more; nothing is tried or written.

    Raises:
        errors.ClientError: The API does not answer.
    """
    if not await handover_baseline.is_kept(client, uid=await uid_of(client)):
        return ()
    baseline = await handover_baseline.load(client)
    makers = [each for each in passing if pod_needs.template(each.object)]
    if baseline is None or not makers:
        return ()
    held = await live_evidence.holders((each.owner for each in makers), client)
    pods, before = await _pods(baseline, client), _by_name(baseline)
    found = []
    for one, seen in zip(makers, await live_evidence.look(makers, held, client), strict=True):
        if seen.live is not None:
            id = ObjectId.of(seen.live)
            now = handover_baseline.of_object(id, seen.live)
            has_replicas = at(one.object.value, "spec", "replicas") is not None
            replicas = None if has_replicas else at(seen.live, "spec", "replicas")
            then = _before(id, one.id.namespace, before)
            found += (
                [id]
                if any(not each.holds for each in evidence.prove_same_pods(then, now, pods, replicas=replicas))
                else []
            )
    return tuple(sorted(found))


async def prove(
    passing: Sequence[Passing],
    held: live_evidence.Holders,
    client: kube.Client,
    *,
    baseline: Baseline,
    is_final: bool,
    is_repeated: bool,
    staying: Collection[ObjectId] = (),
) -> tuple[ObjectProof, ...]:
    """Everything that is claimed of objects, tried now.

    Args:
        passing: What the engine is to own.
        held: The engine's objects.
        client: The API.
        baseline: How everything was.
        is_final: Whether Talos has released its manifests.
        is_repeated: Whether real applies are repeated; the one thing here that may write.
        staying: What Talos keeps as well.

    Raises:
        errors.ClientError: The API does not answer.
    """
    found = await live_evidence.gather(passing, held, client, is_repeated=is_repeated)
    pods, before = await _pods(baseline, client), _by_name(baseline)
    made = []
    for each in found:
        stays = each.passing.id in staying or each.id in staying
        seen = _before(each.id, each.passing.id.namespace, before)
        proof = _proof(each, seen, pods, is_final=is_final and not stays, is_repeated=is_repeated)
        made.append(dataclasses.replace(proof, proofs=(*proof.proofs, STAYS)) if stays and proof.uid else proof)
    return tuple(made)


def talos_proofs(state: TalosState, upgrade: UpgradePreview | None = None) -> tuple[MachineProof, ...]:
    """What is claimed of the machines, and of Talos as a whole.

    Args:
        state: What Talos has.
        upgrade: What an upgrade of Kubernetes would do; None if nobody was asked.
    """
    found = []
    for name in sorted({*state.configs, *state.silent}):
        has = [*([", ".join(some)] if (some := state.configs.get(name)) else ()), *state.besides_of(name)]
        says = f"it still has {'; '.join(has)}" if has else state.silent.get(name, "")
        proof = ClaimProof(claim=CertificateClaim.NOT_IN_CONFIG, holds=not says, says=says)
        found.append(MachineProof(machine=name, proofs=(proof,)))
    for name in state.undeclared:
        proof = ClaimProof(
            claim=CertificateClaim.NOT_IN_CONFIG, holds=False, says="it is not declared, and was not asked"
        )
        found.append(MachineProof(machine=name, proofs=(proof,)))
    whole = [ClaimProof(claim=CertificateClaim.NOT_IN_INVENTORY, holds=not state.keys, says=_shown(state.keys))]
    if not state.has_inventory:
        says = "there is none; Talos keeps one from 1.13 on"
        whole = [ClaimProof(claim=CertificateClaim.NOT_IN_INVENTORY, holds=True, is_tried=False, says=says)]
    touched = [*(f"{each} has Talos's annotation" for each in state.annotated)]
    touched += [f"Talos owns fields of {each}" for each in state.managed]
    whole.append(ClaimProof(claim=CertificateClaim.NOT_TALOS, holds=not touched, says=_shown(touched)))
    if upgrade is not None:
        is_known = not upgrade.unknown
        holds = not is_known or not (upgrade.written or upgrade.deleted)
        whole.append(ClaimProof(claim=CertificateClaim.NOT_PRUNED, holds=holds, is_tried=is_known, says=str(upgrade)))
    return (*found, MachineProof(machine="", proofs=tuple(whole)))


async def uid_of(client: kube.Client) -> str:
    """The uid of kube-system, which tells clusters apart."""
    found = await client.get("v1", "Namespace", "kube-system", metadata_only=True)
    return str(found["metadata"]["uid"])


async def _talos(task: Certify, released: Sequence[str], world: World) -> tuple[MachineProof, ...]:
    ids = [each.id for each in task.passing if each.id not in task.staying]
    state = await talos_state.talos_state(task.control_planes, released, ids, world)
    return talos_proofs(state, await upgrade_preview.of(task.control_planes, ids, state=state, world=world))


def _proof(
    seen: HandoverEvidence, before: ObjectSeen | None, pods: PodProofs, *, is_final: bool, is_repeated: bool
) -> ObjectProof:
    now = handover_baseline.of_object(seen.id, seen.live or {})
    proofs = ownership_proofs.prove(seen, before, is_final=is_final, is_repeated=is_repeated)
    replicas = None if seen.fields.has(_REPLICAS) else at(seen.live, "spec", "replicas")
    return ObjectProof(
        id=seen.id, component=seen.passing.component, manager=seen.passing.manager, owner=str(seen.passing.owner),
        uid=now.uid, fields=len(seen.fields), at=round(time.time()), before=_owners(before), after=now.owners,
        proofs=(*proofs, *evidence.prove_same_pods(before, now, pods, replicas=replicas)),
    )  # fmt: skip


_Name = tuple[str, str, str, str]


def _by_name(baseline: Baseline) -> Mapping[_Name, ObjectSeen]:
    return {(each.group, each.kind, each.namespace, each.name): each for each in baseline.objects}


def _before(id: ObjectId, place: str, before: Mapping[_Name, ObjectSeen]) -> ObjectSeen | None:
    """The object in the baseline, which may have a namespace that its kind has not: that of the repo."""
    spaces = (id.namespace, place)
    found = [before[key] for space in spaces if (key := (id.group, id.kind, space, id.name)) in before]
    return next((each for each in found if each.uid), next(iter(found), None))


async def _pods(baseline: Baseline, client: kube.Client) -> PodProofs:
    return PodProofs(
        before=baseline.pods,
        after=handover_baseline.of_pods((await client.list("v1", "Pod")).items),
        nodes=frozenset(str(each["metadata"]["name"]) for each in await _nodes(client)),
    )


async def _nodes(client: kube.Client) -> Sequence[Mapping[str, Any]]:
    return (await client.list("v1", "Node", metadata_only=True)).items


def _owners(before: ObjectSeen | None) -> tuple[OwnerSeen, ...]:
    return before.owners if before is not None else ()


def _engine(passing: Sequence[Passing]) -> str:
    return ", ".join(sorted({each.owner.party.value for each in passing}))


def _revision(task: Certify, held: Iterable[Mapping[str, Any] | None]) -> str:
    """The commit that the engine had applied: the one that was rendered, unless it says otherwise."""
    applied = [found for each in held if each is not None and (found := inventories.revision_of(each))]
    return task.revision if not applied or task.revision in applied else applied[0]


def _released(task: Certify, kept: Certificate | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(kept.released if kept is not None else ()), *task.released)))


def _shown(told: Sequence[str]) -> str:
    return ", ".join(told[:3]) + (f" and {len(told) - 3} more" if len(told) > 3 else "")


def with_canary(certificate: Certificate, proof: ClaimProof) -> Certificate:
    """A certificate with what a canary showed, in the place of what one showed before; sealed anew."""
    others = [each for each in certificate.machines if all(one.claim != CertificateClaim.CANARY for one in each.proofs)]
    machines = (*others, MachineProof(machine="", proofs=(proof,)))
    return seal(dataclasses.replace(certificate, machines=machines))
