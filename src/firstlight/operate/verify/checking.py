"""All checks of ``verify``, at once where they can be, and each with the time that it took."""

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.cilium import Cilium
from firstlight.document.within import text
from firstlight.gates import looking
from firstlight.gates.ground import GateGround
from firstlight.gates.question import Question
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId, Phase
from firstlight.model.verdict import Failed
from firstlight.model.verification import Check, Verification
from firstlight.model.work import Apply, CreateSecret, Install, Release, Work
from firstlight.observe.watching import Watching
from firstlight.operate.override import telling
from firstlight.operate.verify import (
    agents,
    components,
    connectivity,
    endpoints,
    engine,
    idempotency,
    inventory,
    nodes,
    operators,
    probing,
    talos_release,
    warnings,
)
from firstlight.ownership import engine_marks

_LAB = "firstlight lab"
"""What the lab's nodes say that they run."""
MANAGERS = frozenset({"firstlight", "helm", "helm-controller"})
"""As whom a run writes besides what its tasks say."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scene:
    """What is verified, and how."""

    cluster: Cluster
    client: kube.Client
    watching: Watching
    since: float
    """From when on warnings count."""
    work: Work | None = None
    """What was to be done; without it the gates of components are not asked."""
    ground: GateGround | None = None
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
    talos: talos_release.Look | None = None
    """Asks the machines what Talos still has of what it was to release; None where they cannot be asked."""
    apis: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Where the API of a machine is, by its declared address, where it is not there."""
    now: Callable[[], float] = time.time


async def verify(scene: Scene, *, tell: Callable[[Check], None] = lambda check: None) -> Verification:
    """Look at everything.

    Args:
        scene: What, and how.
        tell: Told of every check when it is made.

    Raises:
        errors.ClientError: The API does not answer.
    """
    is_lab = await _is_lab(scene.client)
    made: list[Check] = []

    async def add(name: str, *making: Awaitable[Sequence[Check]]) -> None:
        for some in await asyncio.gather(*(_timed(name, each) for each in making)):
            for each in some:
                made.append(each)
                tell(each)

    await add("the cluster", *(_asked(each, scene) for each in _questions(scene)))
    await add("API endpoints", _single(endpoints.check(scene.client, scene.cluster.machines, reach=scene.apis)))
    await add(talos_release.NAME, *_talos(scene))
    await add("warnings", _single(warnings.check(scene.client, since=scene.since, now=scene.now())))
    await add(telling.NAME, telling.checks(scene.client, now=scene.now()))
    if scene.work is not None and scene.ground is not None:
        await add("components", components.checks(scene.work, scene.ground, scene.watching, wait=scene.wait))
    if scene.is_probed:
        domain = scene.cluster.network.dns_domain
        probes = probing.checks(scene.client, scene.watching, domain=domain, image=scene.image)
        await add("probe", _marked(probes, is_simulated=is_lab))
        tests = connectivity.check(scene.client, scene.cilium, tests=scene.cilium_tests, is_lab=is_lab)
        await add(connectivity.NAME, _single(tests))
    if scene.rerun is not None:
        await add("idempotency", _single(_again(scene, scene.rerun)))
    return Verification(cluster=scene.cluster.name, checks=tuple(made), notes=_notes(scene, is_lab=is_lab))


def managers(work: Work | None) -> frozenset[str]:
    """As whom a run writes."""
    tasks = work.tasks.values() if work is not None else ()
    said = (each.manager for each in tasks if isinstance(each, Apply | Install | CreateSecret))
    return MANAGERS | {each for each in said if each}


def _questions(scene: Scene) -> tuple[Question, ...]:
    steps = scene.work.plan.steps if scene.work is not None else ()
    has_inline = any(step.phase == Phase.INLINE for step in steps)
    revision = scene.ground.revision if scene.ground is not None else ""
    return (
        nodes.question(scene.cluster.machines),
        agents.question(),
        operators.question(),
        inventory.question(scene.cluster.talos, has_inline=has_inline, released=_released(scene.work)),
        engine.question(scene.cluster, revision, resting=_resting(scene.ground)),
    )


def _resting(ground: GateGround | None) -> frozenset[ObjectId]:
    """What of the engine Git lets rest."""
    every = (each for objects in (ground.objects.values() if ground is not None else ()) for each in objects)
    return frozenset(each.id for each in every if engine_marks.is_suspended(each.value))


def _released(work: Work | None) -> tuple[ObjectId, ...]:
    tasks = work.tasks.values() if work is not None else ()
    return tuple(each.id for task in tasks if isinstance(task, Release) for each in task.passing)


def _talos(scene: Scene) -> list[Awaitable[Sequence[Check]]]:
    tasks = scene.work.tasks.values() if scene.work is not None and scene.talos is not None else ()
    return [
        _single(talos_release.check(each, scene.talos)) for each in tasks if isinstance(each, Release) and scene.talos
    ]


async def _asked(question: Question, scene: Scene) -> tuple[Check, ...]:
    (verdict,) = await components.judged([question], scene.watching, wait=scene.wait)
    return (Check(name=question.name, verdict=verdict, detail=(question.hint,) if isinstance(verdict, Failed) else ()),)


async def _again(scene: Scene, rerun: idempotency.Again) -> Check:
    return await idempotency.check(
        scene.client,
        rerun,
        ours=managers(scene.work),
        log=scene.audit_log,
        machines=scene.machines,
        now=scene.now,
    )


async def _single(making: Awaitable[Check]) -> tuple[Check, ...]:
    return (await making,)


async def _marked(making: Awaitable[Sequence[Check]], *, is_simulated: bool) -> tuple[Check, ...]:
    return tuple(dataclasses.replace(each, is_simulated=is_simulated) for each in await making)


async def _timed(name: str, making: Awaitable[Sequence[Check]]) -> tuple[Check, ...]:
    """Checks with their time; one that cannot be made has failed, and the others go on."""
    begun = time.monotonic()
    try:
        found = await making
    except errors.Refused:
        raise
    except errors.FirstlightError as error:
        found = (Check(name=name, verdict=Failed(error.message), detail=(error.hint,) if error.hint else ()),)
    seconds = time.monotonic() - begun
    return tuple(dataclasses.replace(each, seconds=each.seconds or seconds) for each in found)


async def _is_lab(client: kube.Client) -> bool:
    found = (await client.list(looking.NODES.api_version, looking.NODES.kind)).items
    return any(text(each, "status", "nodeInfo", "osImage").startswith(_LAB) for each in found)


def _notes(scene: Scene, *, is_lab: bool) -> tuple[str, ...]:
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
