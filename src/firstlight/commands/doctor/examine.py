"""A diagnosis whose sentences and evidence show no secrets, whatever conditions and events have quoted."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.doctor import error_messages, root_causes
from firstlight.commands.doctor.symptoms import Diagnosis, RootCause, Symptom
from firstlight.execute.overrides import override_records
from firstlight.model.cluster import AddressBook, Cluster
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.override import Override
from firstlight.model.platform import Platform
from firstlight.observe.cluster import kubernetes_survey, machine_survey, secret_masking
from firstlight.observe.cluster.observation import ApiObservation, ClusterObservation
from firstlight.observe.machine_survey import MachineAccess


def masked_diagnosis(found: Diagnosis, *, hide: Callable[[str], str] = str) -> Diagnosis:
    """The same diagnosis, masked.

    Args:
        found: The diagnosis.
        hide: Takes known values out of a text; first, since one of which a part is masked is no longer found.
    """

    def symptom(each: Symptom) -> Symptom:
        return _symptom(each, lambda said: secret_masking.text(hide(said)))

    causes = tuple(
        RootCause(symptom=symptom(each.symptom), effects=tuple(map(symptom, each.effects))) for each in found.causes
    )
    return dataclasses.replace(found, causes=causes, unseen=tuple(map(secret_masking.text, found.unseen)))


def _symptom(found: Symptom, mask: Callable[[str], str]) -> Symptom:
    return dataclasses.replace(
        found,
        message=mask(found.message),
        evidence=tuple(dataclasses.replace(each, text=mask(each.text)) for each in found.evidence),
    )


# Everything that rules may look at, gathered at once; what does not answer is said, and stops nothing.


PATIENCE = 60.0
"""Seconds for which something may be unfinished without being wrong."""
LISTED = 40.0
"""Seconds for all lists together: an API server that is not well may answer each of them late."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DoctorAccess:
    """How a cluster is reached; where there is no way, why not."""

    client: kube.Client | None = None
    no_api: str = ""
    way: MachineAccess | None = None
    no_keys: str = ""
    program: Path | None = None
    """talosctl, for machines without keys."""
    reach: AddressBook = dataclasses.field(default_factory=AddressBook)
    hide: Callable[[str], str] = lambda text: text
    """Takes values that must not be seen out of what was printed, before anything else is done to it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeclaredCluster:
    """What the repo says of a cluster; nothing where there is none."""

    cluster: Cluster
    foundation: tuple[tuple[str, str], ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    overrides: tuple[Override, ...] = ()
    """Their copies on this computer."""

    @classmethod
    def of(
        cls, platform: Platform, cluster: Cluster, *, state: Path, problems: Sequence[Diagnostic] = ()
    ) -> DeclaredCluster:
        """What a platform says of one of its clusters, and what runs have left in the state directory."""
        foundation = tuple(
            (each.namespace, each.name) for each in platform.secrets if each.cluster in ("", cluster.name)
        )
        return cls(
            cluster=cluster, foundation=foundation, problems=tuple(problems),
            overrides=override_records.local(state, cluster.name),
        )  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True)
class Examination:
    """What was seen, and what is wrong."""

    scene: ClusterObservation
    diagnosis: Diagnosis

    @property
    def is_blind(self) -> bool:
        """Whether nothing could be looked at: neither the API nor any machine gave an answer."""
        return not self.scene.api.is_reached and not self.scene.machines


async def examine(
    known: DeclaredCluster, ways: DoctorAccess, *, now: Callable[[], float] = time.time, patience: float = PATIENCE
) -> Examination:
    """Look, and say what is wrong; nothing is written anywhere.

    Args:
        known: What the repo says.
        ways: How the cluster is reached.
        now: The clock.
        patience: Seconds for which something may be unfinished without being wrong.
    """
    began = time.monotonic()
    scene = dataclasses.replace(await look(known, ways, now=now), patience=patience)
    found = masked_diagnosis(root_causes.diagnose(scene), hide=ways.hide)
    return Examination(scene=scene, diagnosis=dataclasses.replace(found, seconds=time.monotonic() - began))


async def look(
    known: DeclaredCluster, ways: DoctorAccess, *, now: Callable[[], float] = time.time
) -> ClusterObservation:
    """The scene, in two looks: what is there, then the logs of what is suspicious in it."""
    (sight, seen, told), metal = await asyncio.gather(_of_api(ways), _of_machines(known.cluster, ways))
    overrides = known.overrides if told is None else told
    scene = ClusterObservation(
        cluster=known.cluster, now=now(), objects=seen.objects, events=seen.events, certificates=seen.certificates,
        machines=metal.machines, members=metal.members, member_statuses=metal.member_statuses, alarms=metal.alarms,
        api=sight, unserved=seen.unserved, unlisted=seen.unlisted, foundation=known.foundation,
        problems=known.problems,
        overrides=tuple(each for each in overrides if not each.is_over), unseen=(*metal.unseen, *seen.unseen),
    )  # fmt: skip
    if ways.client is None or not seen.objects:
        return scene
    lines, unread = await kubernetes_survey.read_logs(ways.client, error_messages.wanted_logs(scene), hide=ways.hide)
    return dataclasses.replace(scene, logs=lines, unseen=(*scene.unseen, *([unread] if unread else [])))


async def _of_api(
    ways: DoctorAccess,
) -> tuple[ApiObservation, kubernetes_survey.ListedObjects, tuple[Override, ...] | None]:
    if ways.client is None:
        return (
            ApiObservation(),
            kubernetes_survey.ListedObjects(unseen=(f"API: {ways.no_api or 'there is no way to it'}",)),
            None,
        )
    sight = await kubernetes_survey.observe_api(ways.client)
    if not sight.is_reached:
        return (
            sight,
            kubernetes_survey.ListedObjects(unseen=("objects, events and logs: the API does not answer",)),
            None,
        )
    if any(each.startswith("etcd") for each in sight.failed_checks):
        # Each list would wait for its own deadline, one after the other: minutes for nothing.
        return (
            sight,
            kubernetes_survey.ListedObjects(unseen=("objects, events and logs: the API server does not reach etcd",)),
            None,
        )
    try:
        async with asyncio.timeout(LISTED):
            seen, told = await asyncio.gather(
                kubernetes_survey.list_objects(ways.client, hide=ways.hide), _overrides(ways.client)
            )
    except TimeoutError:
        return (
            sight,
            kubernetes_survey.ListedObjects(unseen=(f"objects, events and logs: not listed within {LISTED:g} s",)),
            None,
        )
    return sight, seen, told


async def _overrides(client: kube.Client) -> tuple[Override, ...] | None:
    """The records that the cluster has; None where it does not tell, for which the copies on this computer are."""
    try:
        return await override_records.listed(client)
    except errors.FirstlightError:
        return None


async def _of_machines(cluster: Cluster, ways: DoctorAccess) -> machine_survey.ObservedMachines:
    if not cluster.machines:
        return machine_survey.ObservedMachines(unseen=("machines: none are declared here",))
    if ways.way is not None:
        return await machine_survey.observe_machines(cluster, ways.way)
    why = f"machines: {ways.no_keys or 'there are no keys for them'}"
    if ways.program is None:
        return machine_survey.ObservedMachines(unseen=(why,))
    seen = await machine_survey.observe_without_keys(cluster, ways.program, reach=ways.reach)
    return dataclasses.replace(seen, unseen=(f"{why}; only whether they answer was seen",))
