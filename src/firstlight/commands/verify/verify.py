"""All checks of ``verify``, at once where they can be, and each with the time that it took.

Warning events since a moment are counted, alike ones together, the worst first. They fail nothing: a start is never
silent.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.cilium import Cilium
from firstlight.commands.verify import connectivity, idempotency, talos_inventory
from firstlight.document import conditions
from firstlight.document.within import number, text
from firstlight.engines import engine_marks
from firstlight.execute.overrides import override_records
from firstlight.gates import cluster_health, gate_parts, service_address
from firstlight.gates.gate_parts import GateContext, GateQuestion
from firstlight.model import flux_names, helm_names
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.component import ObjectId, Phase
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Verification, VerificationCheck
from firstlight.model.work import Apply, CreateSecret, Install, ReleaseFromTalos, Work
from firstlight.observe import component_health
from firstlight.observe.gate_watch import Watching

_LAB = "firstlight lab"
"""What the lab's nodes say that they run."""
MANAGERS = frozenset({"firstlight", helm_names.FIELD_MANAGER, flux_names.HELM_CONTROLLER})
"""As whom a run writes besides what its tasks say."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class VerifyContext:
    """What is verified, and how."""

    cluster: Cluster
    client: kube.Client
    watching: Watching
    since: float
    """From when on warnings count."""
    work: Work | None = None
    """What was to be done; without it the gates of components are not asked."""
    ground: GateContext | None = None
    wait: float = 0.0
    """Seconds for what is not there yet; 0 for one look."""
    is_probed: bool = False
    """Whether pods are made that try DNS and the network."""
    image: str = ""
    """What those pods run."""
    cilium: Cilium | None = None
    """The program, with the way to the cluster; None where there is none."""
    cilium_tests: str = connectivity.TESTS
    rerun: idempotency.Again | None = None
    """Runs the whole of ``up`` again; None where idempotency is not to be proven."""
    audit_log: Path | None = None
    machines: idempotency.Machines | None = None
    talos: talos_inventory.ReleaseLook | None = None
    """Asks the machines what Talos still has of what it was to release; None where they cannot be asked."""
    apis: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Where the API of a machine is, by its declared address, where it is not there."""
    now: Callable[[], float] = time.time


async def verify(
    scene: VerifyContext, *, tell: Callable[[VerificationCheck], None] = lambda check: None
) -> Verification:
    """Look at everything.

    Args:
        scene: What, and how.
        tell: Told of every check when it is made.

    Raises:
        errors.ClientError: The API does not answer.
    """
    is_lab = await _is_lab(scene.client)
    made: list[VerificationCheck] = []

    async def add(name: str, *making: Awaitable[Sequence[VerificationCheck]]) -> None:
        for some in await asyncio.gather(*(_timed(name, each) for each in making)):
            for each in some:
                made.append(each)
                tell(each)

    await add("the cluster", *(_asked(each, scene) for each in _questions(scene)))
    await add("API endpoints", _single(check_endpoints(scene.client, scene.cluster.machines, reach=scene.apis)))
    await add(talos_inventory.RELEASE_CHECK, *_talos(scene))
    await add("warnings", _single(check(scene.client, since=scene.since, now=scene.now())))
    await add(override_records.OPEN_OVERRIDES, override_records.open_override_checks(scene.client, now=scene.now()))
    if scene.work is not None and scene.ground is not None:
        await add("components", component_health.checks(scene.work, scene.ground, scene.watching, wait=scene.wait))
    if scene.is_probed:
        domain = scene.cluster.network.dns_domain
        probes = connectivity.probe_checks(scene.client, scene.watching, domain=domain, image=scene.image)
        await add("probe", _marked(probes, is_simulated=is_lab))
        tests = connectivity.check_cilium(scene.client, scene.cilium, tests=scene.cilium_tests, is_lab=is_lab)
        await add(connectivity.CILIUM_CHECK, _single(tests))
    if scene.rerun is not None:
        await add("idempotency", _single(_again(scene, scene.rerun)))
    return Verification(cluster=scene.cluster.name, checks=tuple(made), notes=_notes(scene, is_lab=is_lab))


def managers(work: Work | None) -> frozenset[str]:
    """As whom a run writes."""
    tasks = work.tasks.values() if work is not None else ()
    said = (each.manager for each in tasks if isinstance(each, Apply | Install | CreateSecret))
    return MANAGERS | {each for each in said if each}


def _questions(scene: VerifyContext) -> tuple[GateQuestion, ...]:
    steps = scene.work.plan.steps if scene.work is not None else ()
    has_inline = any(step.phase == Phase.INLINE for step in steps)
    revision = scene.ground.revision if scene.ground is not None else ""
    return (
        cluster_health.nodes_question(scene.cluster.machines),
        cluster_health.agents_question(),
        cluster_health.operators_question(),
        service_address.addresses_question(),
        talos_inventory.inventory_question(scene.cluster.talos, has_inline=has_inline, released=_released(scene.work)),
        cluster_health.engine_question(scene.cluster, revision, resting=_resting(scene.ground)),
    )


def _resting(ground: GateContext | None) -> frozenset[ObjectId]:
    """What of the engine Git lets rest."""
    every = (each for objects in (ground.objects.values() if ground is not None else ()) for each in objects)
    return frozenset(each.id for each in every if engine_marks.is_suspended(each.value))


def _released(work: Work | None) -> tuple[ObjectId, ...]:
    tasks = work.tasks.values() if work is not None else ()
    return tuple(each.id for task in tasks if isinstance(task, ReleaseFromTalos) for each in task.passing)


def _talos(scene: VerifyContext) -> list[Awaitable[Sequence[VerificationCheck]]]:
    tasks = scene.work.tasks.values() if scene.work is not None and scene.talos is not None else ()
    return [
        _single(talos_inventory.check_release(each, scene.talos))
        for each in tasks
        if isinstance(each, ReleaseFromTalos) and scene.talos
    ]


async def _asked(question: GateQuestion, scene: VerifyContext) -> tuple[VerificationCheck, ...]:
    (verdict,) = await component_health.judged([question], scene.watching, wait=scene.wait)
    return (
        VerificationCheck(
            name=question.name, verdict=verdict, detail=(question.hint,) if isinstance(verdict, Failed) else ()
        ),
    )


async def _again(scene: VerifyContext, rerun: idempotency.Again) -> VerificationCheck:
    return await idempotency.check_idempotency(
        scene.client,
        rerun,
        ours=managers(scene.work),
        log=scene.audit_log,
        machines=scene.machines,
        now=scene.now,
    )


async def _single(making: Awaitable[VerificationCheck]) -> tuple[VerificationCheck, ...]:
    return (await making,)


async def _marked(
    making: Awaitable[Sequence[VerificationCheck]], *, is_simulated: bool
) -> tuple[VerificationCheck, ...]:
    return tuple(dataclasses.replace(each, is_simulated=is_simulated) for each in await making)


async def _timed(name: str, making: Awaitable[Sequence[VerificationCheck]]) -> tuple[VerificationCheck, ...]:
    """Checks with their time; one that cannot be made has failed, and the others go on."""
    begun = time.monotonic()
    try:
        found = await making
    except errors.Refused:
        raise
    except errors.FirstlightError as error:
        found = (
            VerificationCheck(name=name, verdict=Failed(error.message), detail=(error.hint,) if error.hint else ()),
        )
    seconds = time.monotonic() - begun
    return tuple(dataclasses.replace(each, seconds=each.seconds or seconds) for each in found)


async def _is_lab(client: kube.Client) -> bool:
    found = (await client.list(gate_parts.NODES.api_version, gate_parts.NODES.kind)).items
    return any(text(each, "status", "nodeInfo", "osImage").startswith(_LAB) for each in found)


def _notes(scene: VerifyContext, *, is_lab: bool) -> tuple[str, ...]:
    found = []
    if is_lab:
        found.append("a lab: nodes and pods are simulated, so what depends on a running container was not tried")
    if scene.work is None:
        found.append("the gates of components were not asked: the repo was not rendered")
    if not scene.is_probed:
        found.append("no pod was made: --probe tries DNS and the network")
    if scene.rerun is None:
        found.append("idempotency was not proven: --idempotent runs up again")
    return tuple(found)


# The API by each control plane's own address: behind a virtual one, a broken server hides.


_POLICY = kube.RetryPolicy(deadline=8, attempt=5, connect=3, first_contact=1)
_PORT = 6443


async def check_endpoints(
    client: kube.Client, machines: Sequence[Machine], *, reach: Mapping[str, str] | None = None
) -> VerificationCheck:
    """``/readyz`` of the endpoint, and of every control plane that can be reached from here.

    Args:
        client: The cluster, by its endpoint.
        machines: As declared.
        reach: Where a machine's API really is, by its declared address, where it is not there.
    """
    planes = [each for each in machines if each.role == MachineRole.CONTROL_PLANE and each.address]
    endpoint, *each = await asyncio.gather(
        _ready(client.config),
        *(_ready(_at(client.config, (reach or {}).get(one.address, one.address))) for one in planes),
    )
    names = [one.name for one in planes]
    return VerificationCheck(
        name="API endpoints", verdict=combined_endpoints(endpoint, dict(zip(names, each, strict=True)))
    )


def combined_endpoints(endpoint: Verdict, machines: Mapping[str, Verdict]) -> Verdict:
    """One verdict for the endpoint and the machines behind it."""
    if not isinstance(endpoint, Passed):
        return Failed(f"the endpoint: {endpoint.reason}")
    if bad := [f"{name}: {each.reason}" for name, each in machines.items() if isinstance(each, Failed)]:
        return Failed("; ".join(bad))
    ready = [name for name, each in machines.items() if isinstance(each, Passed)]
    unseen = [name for name, each in machines.items() if isinstance(each, Skipped)]
    said = ["the endpoint is ready"]
    if ready:
        said.append(f"{', '.join(ready)} by {'its' if len(ready) == 1 else 'their'} own address")
    if unseen:
        said.append(f"not reached from here: {', '.join(unseen)}")
    return Passed("; ".join(said))


async def _ready(config: kube.ClientConfig) -> Verdict:
    try:
        async with kube.Client(config, policy=_POLICY) as client:
            ready = await client.ready()
    except (errors.Unreachable, errors.TimedOut) as error:
        return Skipped(error.message)
    except errors.FirstlightError as error:
        return Failed(error.message)
    return Passed() if ready.is_ready else Failed(f"not ready ({', '.join(ready.failed) or 'no reason given'})")


def _at(config: kube.ClientConfig, address: str) -> kube.ClientConfig:
    """The same server by another address; it must show a certificate for its own name all the same."""
    given = urllib.parse.urlsplit(config.server)
    host, _, port = address.rpartition(":") if address.count(":") == 1 else (address, "", "")
    place = f"[{host}]" if ":" in host else host
    return dataclasses.replace(
        config,
        server=f"https://{place}:{port or given.port or _PORT}",
        server_name=config.server_name or given.hostname or "",
    )


_SHOWN = 8
_LONGEST = 160


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WarningGroup:
    """Warnings of one reason about one kind of object in one namespace."""

    reason: str
    kind: str
    namespace: str
    objects: int
    count: int
    last: float
    message: str
    """The newest."""


async def check(client: kube.Client, *, since: float, now: float) -> VerificationCheck:
    """What was warned of."""
    listing = await client.list("v1", "Event", fields="type=Warning")
    groups = grouped(listing.items, since=since)
    if not groups:
        return VerificationCheck(name="warnings", verdict=Passed(f"none in {_ago(now - since)}"))
    lines = [_line(each, now) for each in groups[:_SHOWN]]
    if len(groups) > _SHOWN:
        lines.append(f"and {len(groups) - _SHOWN} more; kubectl get events -A --field-selector type=Warning")
    return VerificationCheck(name="warnings", verdict=Passed(summed(groups, since=since, now=now)), detail=tuple(lines))


def summed(groups: Sequence[WarningGroup], *, since: float, now: float) -> str:
    """How many there were, and of how many kinds some came lately."""
    total = sum(each.count for each in groups)
    still = sum(now - each.last < 60 for each in groups)
    lately = f"{still or 'none'} of {len(groups)} kinds" if len(groups) > 1 else "also" if still else "none"
    return f"{total} in {_ago(now - since)}, {lately} in the last minute"


def grouped(events: Iterable[Mapping[str, Any]], *, since: float) -> tuple[WarningGroup, ...]:
    """Alike ones together; first what touches the most, then what was said most often, then the newest."""
    found: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for event in events:
        if text(event, "type") == "Warning" and _last(event) >= since:
            of = event.get("involvedObject")
            key = (text(event, "reason"), text(of, "kind"), text(of, "namespace"))
            found.setdefault(key, []).append(event)
    groups = [
        WarningGroup(
            reason=reason,
            kind=kind,
            namespace=namespace,
            objects=len({text(each, "involvedObject", "name") for each in each_of}),
            count=sum(_count(each) for each in each_of),
            last=max(map(_last, each_of)),
            message=text(max(each_of, key=_last), "message"),
        )
        for (reason, kind, namespace), each_of in found.items()
    ]
    return tuple(sorted(groups, key=lambda each: (-each.objects, -each.count, -each.last, each.reason)))


def _count(event: Mapping[str, Any]) -> int:
    return max(number(event, "count"), number(event, "series", "count"), 1)


def _last(event: Mapping[str, Any]) -> float:
    """When it was seen last; old and new events write it in different places."""
    times = (
        text(event, "lastTimestamp"),
        text(event, "series", "lastObservedTime"),
        text(event, "eventTime"),
        text(event, "metadata", "creationTimestamp"),
    )
    return max((conditions.moment(each) or 0.0 for each in times), default=0.0)


def _line(group: WarningGroup, now: float) -> str:
    where = f" in {group.namespace}" if group.namespace else ""
    about = f"{group.objects} {group.kind}{'s' if group.objects > 1 else ''}{where}"
    message = " ".join(group.message.split())
    shown = message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…"
    return f"{group.count}× {group.reason}, {about}, {_ago(now - group.last)} ago: {shown}"


def _ago(seconds: float) -> str:
    if seconds < 100:
        return f"{max(0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
