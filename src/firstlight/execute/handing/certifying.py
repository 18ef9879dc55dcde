"""A certificate made: the engine is waited for, evidence gathered, every claim held against the baseline, sealed."""

import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import at
from firstlight.execute import cluster_keys
from firstlight.execute.baseline import keeping, snapshot
from firstlight.execute.handing import awaiting, evidence, finishing, releasing
from firstlight.execute.handing.releasing import TalosState
from firstlight.execute.handing.upgrade_preview import Preview, preview
from firstlight.execute.world import World
from firstlight.model.baseline import Baseline, ObjectSeen, OwnerSeen
from firstlight.model.certificate import Certificate, Claim, MachineProof, ObjectProof, Proof, Stage
from firstlight.model.component import ObjectId
from firstlight.model.handover import Passing
from firstlight.model.work import Certify
from firstlight.ownership import certifying, listing, same_pods
from firstlight.ownership.evidence import Evidence
from firstlight.ownership.same_pods import Pods
from firstlight.ownership.sealing import is_sealed, seal

_REPLICAS = ("f:spec", "f:replicas")

__all__ = ["certify", "is_sealed", "prove", "seal", "talos_proofs", "uid_of", "unproven"]


async def certify(
    task: Certify, world: World, *, stage: Stage, step: str = "", kept: Certificate | None = None
) -> Certificate:
    """Try everything that a certificate claims, and seal what came of it; it may be incomplete.

    Args:
        task: What was handed over.
        world: The run.
        stage: Whether Talos has released its manifests already.
        step: Who is told what is waited for.
        kept: A complete certificate: what it proves was handed over then, and its pods may be others by now.

    Raises:
        errors.Refused: There is no baseline of this cluster to hold it against.
        errors.ClientError: The API does not answer.
    """
    client = world.kube
    uid = await uid_of(client)
    baseline = await keeping.load(client)
    if baseline is None or baseline.cluster != uid:
        whose = "no baseline is kept" if baseline is None else "the baseline that is kept is another cluster's"
        raise errors.Refused(
            f"{whose}: nothing tells how everything was before Git took over",
            hint="A baseline is saved before the root object exists: firstlight up, or firstlight handover.",
        )
    passing = unproven(task.passing, kept)
    await awaiting.settled(passing, world, step=step)
    await finishing.finish(passing, client)
    held = await evidence.holders((each.owner for each in task.passing), client)
    fresh = await prove(passing, held, client, baseline=baseline, is_final=stage == Stage.FINAL, is_repeated=True)
    objects = tuple(sorted((*fresh, *(kept.objects if kept is not None else ())), key=lambda each: each.id))
    released = _released(task, kept) if stage == Stage.FINAL else ()
    machines = kept.machines if kept is not None else ()
    if released and task.control_planes:
        machines = await _talos(task, released, world)
    made = Certificate(
        cluster=world.cluster.name, uid=uid, engine=_engine(task.passing), revision=_revision(task, held.values()),
        run=world.run, at=round(time.time()), baseline_at=round(baseline.at), stage=stage, objects=objects,
        machines=machines, released=released, kept=task.kept,
        missing=tuple(_named(each.id) for each in objects if not each.uid),
    )  # fmt: skip
    return seal(made)


def unproven(passing: Sequence[Passing], kept: Certificate | None) -> tuple[Passing, ...]:
    """What a certificate does not cover yet."""
    proven = {each.id for each in kept.objects} if kept is not None else set()
    # A repo may name a namespace for what has none, and none for what has one.
    names = {(each.group, each.kind, each.name) for each in proven}
    wide = {(each.group, each.kind, each.name) for each in proven if not each.namespace}
    return tuple(
        each
        for each in passing
        if each.id not in proven
        and (each.id.group, each.id.kind, each.id.name) not in (wide if each.id.namespace else names)
    )


async def prove(
    passing: Sequence[Passing],
    held: evidence.Holders,
    client: "kube.Client",
    *,
    baseline: Baseline,
    is_final: bool,
    is_repeated: bool,
) -> tuple[ObjectProof, ...]:
    """Everything that is claimed of objects, tried now.

    Args:
        passing: What the engine is to own.
        held: The engine's objects.
        client: The API.
        baseline: How everything was.
        is_final: Whether Talos has released its manifests.
        is_repeated: Whether real applies are repeated; the one thing here that may write.

    Raises:
        errors.ClientError: The API does not answer.
    """
    found = await evidence.gather(passing, held, client, is_repeated=is_repeated)
    pods = Pods(
        before=baseline.pods,
        after=snapshot.of_pods((await client.list("v1", "Pod")).items),
        nodes=frozenset(str(each["metadata"]["name"]) for each in await _nodes(client)),
    )
    before = {(each.group, each.kind, each.namespace, each.name): each for each in baseline.objects}
    return tuple(
        _proof(each, _before(each, before), pods, is_final=is_final, is_repeated=is_repeated) for each in found
    )


def talos_proofs(state: TalosState, upgrade: Preview | None = None) -> tuple[MachineProof, ...]:
    """What is claimed of the machines, and of Talos as a whole.

    Args:
        state: What Talos has.
        upgrade: What an upgrade of Kubernetes would do; None if nobody was asked.
    """
    found = []
    for name in sorted({*state.configs, *state.silent}):
        has = state.configs.get(name, ())
        says = f"it still has {', '.join(has)}" if has else state.silent.get(name, "")
        proof = Proof(claim=Claim.NOT_IN_CONFIG, holds=not says, says=says)
        found.append(MachineProof(machine=name, proofs=(proof,)))
    whole = [Proof(claim=Claim.NOT_IN_INVENTORY, holds=not state.keys, says=_shown(state.keys))]
    if not state.has_inventory:
        whole = [
            Proof(claim=Claim.NOT_IN_INVENTORY, holds=True, is_tried=False, says="Talos before 1.13 keeps none")
        ]  # fmt: skip
    touched = [*(f"{_named(each)} has Talos's annotation" for each in state.annotated)]
    touched += [f"Talos owns fields of {_named(each)}" for each in state.managed]
    whole.append(Proof(claim=Claim.NOT_TALOS, holds=not touched, says=_shown(touched)))
    if upgrade is not None:
        is_known = not upgrade.unknown
        holds = not is_known or not (upgrade.written or upgrade.deleted)
        whole.append(Proof(claim=Claim.NOT_PRUNED, holds=holds, is_tried=is_known, says=str(upgrade)))
    return (*found, MachineProof(machine="", proofs=tuple(whole)))


async def uid_of(client: "kube.Client") -> str:
    """The uid of kube-system, which tells clusters apart."""
    found = await client.get("v1", "Namespace", "kube-system", metadata_only=True)
    return str(found["metadata"]["uid"])


async def _talos(task: Certify, released: Sequence[str], world: World) -> tuple[MachineProof, ...]:
    ids = [each.id for each in task.passing]
    state = await releasing.talos_state(task.control_planes, released, ids, world)
    speaking = next((each for each in task.control_planes if each.name in state.configs), None)
    upgrade = None
    if speaking is not None:
        way = await cluster_keys.ensure(world)
        upgrade = await preview(speaking, ids, way=way, world=world, has_inventory=state.has_inventory)
    return talos_proofs(state, upgrade)


def _proof(seen: Evidence, before: ObjectSeen | None, pods: Pods, *, is_final: bool, is_repeated: bool) -> ObjectProof:
    now = snapshot.of_object(seen.id, seen.live or {})
    proofs = certifying.prove(seen, before, is_final=is_final, is_repeated=is_repeated)
    replicas = None if seen.fields.has(_REPLICAS) else at(seen.live, "spec", "replicas")
    return ObjectProof(
        id=seen.id, component=seen.passing.component, manager=seen.passing.manager, owner=str(seen.passing.owner),
        uid=now.uid, fields=len(seen.fields), at=round(time.time()), before=_owners(before), after=now.owners,
        proofs=(*proofs, *same_pods.prove(before, now, pods, replicas=replicas)),
    )  # fmt: skip


def _before(seen: Evidence, before: Mapping[tuple[str, str, str, str], ObjectSeen]) -> ObjectSeen | None:
    """The object in the baseline, which may have a namespace that its kind has not."""
    id = seen.id
    spaces = (id.namespace, seen.passing.id.namespace)
    found = [before[key] for space in spaces if (key := (id.group, id.kind, space, id.name)) in before]
    return next((each for each in found if each.uid), next(iter(found), None))


async def _nodes(client: "kube.Client") -> Sequence[Mapping[str, Any]]:
    return (await client.list("v1", "Node", metadata_only=True)).items


def _owners(before: ObjectSeen | None) -> tuple[OwnerSeen, ...]:
    return before.owners if before is not None else ()


def _engine(passing: Sequence[Passing]) -> str:
    return ", ".join(sorted({each.owner.party.value for each in passing}))


def _revision(task: Certify, held: Iterable[Mapping[str, Any] | None]) -> str:
    """The commit that the engine had applied: the one that was rendered, unless it says otherwise."""
    applied = [found for each in held if each is not None and (found := listing.revision_of(each))]
    return task.revision if not applied or task.revision in applied else applied[0]


def _released(task: Certify, kept: Certificate | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(kept.released if kept is not None else ()), *task.released)))


def _named(id: ObjectId) -> str:
    return f"{id.kind} {id.namespace}/{id.name}" if id.namespace else f"{id.kind} {id.name}"


def _shown(told: Sequence[str]) -> str:
    return ", ".join(told[:3]) + (f" and {len(told) - 3} more" if len(told) > 3 else "")


def with_canary(certificate: Certificate, proof: Proof) -> Certificate:
    """A certificate with what a canary showed, in the place of what one showed before; sealed anew."""
    others = [each for each in certificate.machines if all(one.claim != Claim.CANARY for one in each.proofs)]
    machines = (*others, MachineProof(machine="", proofs=(proof,)))
    return seal(dataclasses.replace(certificate, machines=machines))
