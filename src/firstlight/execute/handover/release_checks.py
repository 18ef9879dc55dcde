"""What must be so before Talos releases anything: nothing may be left to nobody, and no machine may put it back."""

from collections.abc import Collection, Sequence

from firstlight import errors
from firstlight.document.within import sequence, text
from firstlight.engines import engine_marks
from firstlight.execute.handover import talos_inventory
from firstlight.execute.handover.talos_state import TalosState
from firstlight.execute.world import World
from firstlight.model.cluster import Machine
from firstlight.model.component import ObjectId
from firstlight.model.handover import Passing
from firstlight.model.rendition import Object
from firstlight.observe.live_objects import LiveObject, observe_objects

SHOWN = 3


async def require_owned(passing: Sequence[Passing], world: World) -> None:
    """Every object must be the engine's.

    Raises:
        errors.Refused: One is not.
    """
    seen = await observe_objects([each.object for each in passing], world.kube)
    problems = [why for each, one in zip(passing, seen, strict=True) if (why := _unowned(each, one))]
    if problems:
        rest = f", and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise errors.Refused(
            f"{'; '.join(problems[:SHOWN])}{rest}: releasing it now would leave it to nobody",
            hint="firstlight owners shows whose it is; once the engine has reconciled it, run again.",
        )


def require_answers(state: TalosState) -> None:
    """Every declared control plane must have said what it has.

    Raises:
        errors.Refused: One has not.
    """
    if state.silent:
        said = "; ".join(f"{name} does not say what it has ({why})" for name, why in state.silent.items())
        raise errors.Refused(
            f"{said}: with the manifest in its config it would put everything back into the inventory",
            hint="Switch it on, or take it out of the declaration and out of etcd; then run again.",
        )


def require_declared(state: TalosState) -> None:
    """Every control plane must be declared: nobody changes the config of another one here.

    Raises:
        errors.Refused: One is not.
    """
    if state.undeclared:
        are = "are control planes that are" if len(state.undeclared) > 1 else "is a control plane that is"
        raise errors.Refused(
            f"{', '.join(state.undeclared)} {are} not declared: the manifest may still be in their configs",
            hint="Declare them, or take them out of the cluster; then run again.",
        )


def require_no_other(state: TalosState, control_planes: Sequence[Machine]) -> None:
    """No manifest of another name may bring what is released: Talos would write it with every upgrade.

    Nobody takes such a one out here, since nothing in the repo says what it is for.

    Raises:
        errors.Refused: One does.
    """
    found = [f"{name} also brings {each}" for name in state.again for each in state.besides_of(name)]
    if found:
        rest = f", and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        address = next(each.address for each in control_planes if each.name == next(iter(state.again)))
        raise errors.Refused(
            f"{'; '.join(found[:SHOWN])}{rest}: every upgrade-k8s would make of it what that manifest says",
            hint=f"Take it out of the config, below cluster: talosctl --nodes {address} edit machineconfig. If Talos "
            "brings it by itself, switch that off there. Then run again.",
        )


async def require_nothing_else(state: TalosState, ids: Collection[ObjectId], world: World) -> dict[ObjectId, str]:
    """What the manifests bring besides, as the machines have them, must be an engine's as well.

    So are keys that are left of a manifest, which nothing else says was ever there.

    Returns:
        The apiVersions of those that are.

    Raises:
        errors.Refused: No engine has one.
    """
    wide = await talos_inventory.cluster_wide(world.kube)
    known = {talos_inventory.placed(each, wide) for each in ids}
    catalog = await world.kube.catalog()
    versions = {(each.group, each.kind): each.api_version for each in catalog.resources.values()}
    extra = {
        each: versions[each.group, each.kind]
        for each in sorted({*state.brought, *state.besides} - known)
        if (each.group, each.kind) in versions
    }
    found = await observe_objects([_bare(id, version) for id, version in extra.items()], world.kube)
    for id, seen in zip(extra, found, strict=True):
        if seen.live is not None and id not in state.besides and engine_marks.of(seen.live) is None:
            raise errors.Refused(
                f"the manifest on {state.listing[0]} also brings {id}, which no engine has: "
                "without Talos it would be nobody's",
                hint="Add it to Git. Or take it out of the manifest, and let talosctl upgrade-k8s delete it.",
            )
    return {id: version for (id, version), seen in zip(extra.items(), found, strict=True) if seen.live is not None}


def _unowned(passing: Passing, seen: LiveObject) -> str:
    name = str(passing.id)
    if seen.live is None:
        return f"{name} is not there"
    # CRDs of charts and of Argo CD get no marks: there only who owns fields tells.
    if engine_marks.of(seen.live) is None and not passing.object.is_crd:
        return f"{name} does not belong to {passing.owner} yet"
    managers = {text(each, "manager") for each in sequence(seen.live, "metadata", "managedFields")}
    return "" if passing.manager in managers else f"{passing.manager} owns no field of {name}"


def _bare(id: ObjectId, version: str) -> Object:
    metadata = {"name": id.name, **({"namespace": id.namespace} if id.namespace else {})}
    return Object({"apiVersion": version, "kind": id.kind, "metadata": metadata})
