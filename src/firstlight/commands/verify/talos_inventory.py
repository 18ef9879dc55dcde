"""Talos's inventory: what the next ``talosctl upgrade-k8s`` keeps. An empty one makes it forget what it may prune.

Talos 1.13.0 can write an empty inventory after an error of its connection, so its mere presence proves nothing.
"""

from collections.abc import Awaitable, Callable, Collection

from firstlight import errors
from firstlight.document.within import mapping, text
from firstlight.execute.handover import talos_inventory
from firstlight.execute.handover.talos_state import TalosState, talos_state
from firstlight.execute.means import Means
from firstlight.execute.world import World
from firstlight.gates import gate_parts
from firstlight.gates.gate_parts import GateQuestion
from firstlight.model import versions
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, VerificationCheck, Waiting
from firstlight.model.work import ReleaseFromTalos

INVENTORY_CHECK = talos_inventory.NAME
INVENTORY = WatchTarget(api_version="v1", kind="ConfigMap", namespace="kube-system", name=INVENTORY_CHECK)
_SINCE = (1, 13)


def inventory_question(talos: str, *, has_inline: bool, released: Collection[ObjectId] = ()) -> GateQuestion:
    """The inventory, as the declared version of Talos and the inline manifests ask for it, and what Git is to own."""

    def judged(view: GateView) -> Verdict:
        return judge_inventory(view, talos=talos, has_inline=has_inline, released=released)

    part = gate_parts.GatePart((INVENTORY, gate_parts.NODES), judged)
    hint = (
        f"See: kubectl -n kube-system get configmap {INVENTORY_CHECK} -o yaml; firstlight handover "
        "releases what Git owns."
    )
    return gate_parts.make_question(Gate(Subject.INVENTORY), "Talos inventory", part, hint=hint)


def judge_inventory(view: GateView, *, talos: str, has_inline: bool, released: Collection[ObjectId] = ()) -> Verdict:
    """Whether it is there and holds something, and nothing that Talos has to release."""
    found = view.one(INVENTORY)
    if found is not None:
        count = len(mapping(found, "data"))
        if count == 0:
            return Failed("the inventory is empty: Talos has lost what it applied, and would not prune or keep it")
        if left := _left(mapping(found, "data"), released):
            rest = f" and {len(left) - 1} more" if len(left) > 1 else ""
            return Failed(
                f"it still has {talos_inventory.shown(left[0])}{rest}, which Git is to own: an upgrade-k8s makes it "
                "bootstrap's again, or deletes it if no manifest has it any more"
            )
        return Passed(f"{count} object{'s' if count > 1 else ''}")
    version = versions.minor_within(talos) or max((_running(view)), default=None)
    if version is None:
        return Skipped("there is none, and nothing says that Talos 1.13 runs here")
    if version < _SINCE:
        return Skipped(f"Talos {version[0]}.{version[1]} keeps none")
    if not has_inline:
        return Skipped("there is none, and no inline manifest is declared")
    return Failed("there is no inventory: Talos has not applied the inline manifests")


def _left(keys: Collection[str], released: Collection[ObjectId]) -> tuple[str, ...]:
    # What was rendered without a namespace is of a kind that has none.
    wide = frozenset((each.group, each.kind) for each in released if not each.namespace)
    return talos_inventory.TalosInventory(tuple(sorted(keys)), "", wide).of(released)


def _running(view: GateView) -> list[tuple[int, int]]:
    images = [text(node, "status", "nodeInfo", "osImage") for node in view.all(gate_parts.NODES)]
    return [version for each in images if each.startswith("Talos") and (version := versions.minor_within(each))]


# What Talos was to release: whether any machine, the inventory or an object still has something of it.


RELEASE_CHECK = "released by Talos"
SHOWN = 5
_HINT = "firstlight handover repairs it; until then upgrade only with: talosctl upgrade-k8s --manifests-no-prune"

ReleaseLook = Callable[[ReleaseFromTalos], Awaitable[TalosState]]
"""Looks at all machines and at the API."""


def release_look(cluster: Cluster, means: Means, connect: Callable[[World], Awaitable[None]]) -> ReleaseLook | None:
    """How the machines of a cluster are asked; None for a cluster that has none here.

    Args:
        cluster: Which.
        means: How the world is reached.
        connect: Opens the way to its API.
    """
    declared = [each for each in cluster.machines if each.address and not each.id]  # Omni keeps the keys of its own
    if not declared or means.programs.talosctl_for(cluster) is None:
        return None

    async def look(task: ReleaseFromTalos) -> TalosState:
        world = World(
            cluster=cluster, programs=means.programs, resolve=means.resolve, state=means.state, reach=means.reach,
            talos_secrets=lambda: means.talos_secrets(cluster),
        )  # fmt: skip
        try:
            await connect(world)
            ids = [each.id for each in task.passing]
            return await talos_state(task.control_planes, task.manifests, ids, world)
        finally:
            await world.close()

    return look


async def check_release(task: ReleaseFromTalos, look: ReleaseLook) -> VerificationCheck:
    """Everything that is left; what an upgrade would delete is red."""
    try:
        state = await look(task)
    except errors.Refused as error:
        return VerificationCheck(name=RELEASE_CHECK, verdict=Skipped(f"the machines were not asked: {error.message}"))
    verdict = judge_release(state)
    more = state.left[:SHOWN] if not state.is_released else ()
    hint = (_HINT,) if isinstance(verdict, Failed) else ()
    return VerificationCheck(name=RELEASE_CHECK, verdict=verdict, detail=(*more, *hint))


def judge_release(state: TalosState) -> Verdict:
    """Whether Talos has let go of everything."""
    if state.doomed:
        rest = f" and {len(state.doomed) - 1} more" if len(state.doomed) > 1 else ""
        return Failed(f"the next talosctl upgrade-k8s deletes {talos_inventory.shown(state.doomed[0])}{rest}")
    if not state.is_released:
        rest = f", and {len(state.left) - 1} more" if len(state.left) > 1 else ""
        return Waiting(f"{state.left[0]}{rest}")
    machines = len(state.configs)
    return Passed(f"{machines} control plane{'s' if machines > 1 else ''}, nothing left")
