"""What Talos still has of manifests whose objects are the engine's: read from all control planes and from the API.

A manifest in one machine's config is enough to put its objects back into the inventory, when that machine boots. An
object in the inventory and in no manifest is deleted by ``talosctl upgrade-k8s``. That asks a single machine for the
manifests, so that it is enough if one machine has it no more.
"""

from __future__ import annotations

import asyncio
import dataclasses
import ipaddress
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import yaml

from firstlight import errors
from firstlight.clients import kube, talosctl
from firstlight.document.within import mapping, sequence, text
from firstlight.engines import engine_marks
from firstlight.execute import cluster_access, machine_configs
from firstlight.execute.handover import talos_inventory
from firstlight.execute.world import World
from firstlight.model import talos_names
from firstlight.model.cluster import Machine
from firstlight.model.component import ObjectId
from firstlight.model.machine_report import MachineStanding
from firstlight.model.secret import Secret
from firstlight.observe import machine_survey
from firstlight.observe.machine_survey import MachineAccess
from firstlight.ownership import managers

IN_FORCE = "v1alpha1"
"""What Talos calls the config that a machine runs with."""
ON_DISK = "persistent"
"""And the one that it boots with."""
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


@dataclasses.dataclass(frozen=True, kw_only=True)
class TalosState:
    """What Talos has of some manifests and their objects."""

    configs: Mapping[str, tuple[str, ...]]
    """By machine: which of the manifests its config lists, in force or on its disk."""
    again: Mapping[str, Mapping[str, tuple[ObjectId, ...]]] = dataclasses.field(default_factory=dict)
    """By machine: manifests of other names that bring some of the objects all the same, and which those are."""
    silent: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Machines whose config could not be read, with the reason."""
    bare: tuple[str, ...] = ()
    """Machines in maintenance mode; when they join they get what all of the others have."""
    undeclared: tuple[str, ...] = ()
    """Control planes that nobody declared: nobody asks them what they have."""
    has_inventory: bool = False
    """Talos keeps one since 1.13."""
    keys: tuple[str, ...] = ()
    """Which keys of the inventory are of these objects, or of those besides."""
    doomed: tuple[str, ...] = ()
    """Those among them that a machine has no manifest of: ``upgrade-k8s`` through it deletes them."""
    annotated: tuple[ObjectId, ...] = ()
    """Objects that carry Talos's annotation."""
    managed: tuple[ObjectId, ...] = ()
    """Objects of which Talos still owns fields."""
    brought: frozenset[ObjectId] = frozenset()
    """What the manifests bring that are still listed, as the machines have them."""
    besides: tuple[ObjectId, ...] = ()
    """Other objects of an engine that ``upgrade-k8s`` would delete: their keys are left of a manifest that is gone."""

    @property
    def is_half(self) -> bool:
        """Whether an upgrade may delete something, now or after a machine has booted that still has a manifest."""
        has = [bool(some or self.again.get(name)) for name, some in self.configs.items() if name not in self.bare]
        may_have = any(has) or bool(self.silent) or bool(self.undeclared)
        return bool(self.doomed) or (may_have and not all(has))

    @property
    def listing(self) -> tuple[str, ...]:
        """The machines whose configs still list a manifest."""
        return tuple(name for name, manifests in self.configs.items() if manifests)

    def besides_of(self, machine: str) -> tuple[str, ...]:
        """What a machine brings by manifests of other names, for people: ``DaemonSet a/b by the manifest c``."""
        return tuple(
            f"{ids[0]}{f' and {len(ids) - 1} more' if len(ids) > 1 else ''} by the manifest {manifest}"
            for manifest, ids in self.again.get(machine, {}).items()
        )

    @property
    def is_released(self) -> bool:
        """Whether Talos has nothing of it, and every machine has said so."""
        return not self.left

    @property
    def left(self) -> tuple[str, ...]:
        """Everything that is left, for people; what is most dangerous first."""
        found = [f"upgrade-k8s would delete {talos_inventory.shown(each)}: no manifest has it" for each in self.doomed]
        found += [f"{name} does not say what it has: {why}" for name, why in self.silent.items()]
        found += [f"{name} is a control plane that is not declared, and was not asked" for name in self.undeclared]
        found += [f"the config of {name} still has {', '.join(self.configs[name])}" for name in self.listing]
        found += [f"{name} still brings {each}" for name in self.again for each in self.besides_of(name)]
        found += [
            f"the inventory still has {talos_inventory.shown(each)}" for each in self.keys if each not in self.doomed
        ]
        found += [f"{each} still has Talos's annotation" for each in self.annotated]
        found += [f"Talos still owns fields of {each}" for each in self.managed]
        return tuple(found)


async def talos_state(
    control_planes: Sequence[Machine],
    manifests: Collection[str],
    ids: Collection[ObjectId],
    world: World,
    *,
    beside: Collection[ObjectId] = (),
) -> TalosState:
    """Look at all control planes, the inventory and the objects; a machine that is silent is an answer.

    Args:
        control_planes: Every one that is declared.
        manifests: Names of inline manifests, and URLs of others.
        ids: The objects that they bring; no other manifest may bring one of them.
        world: The run.
        beside: Others that they bring, and that manifests which Talos keeps may bring as well.

    Raises:
        errors.Refused: Nothing says how the machines are reached.
        errors.ClientError: The API does not answer.
    """
    way = await cluster_access.ensure(world)
    every = [*ids, *beside]
    inventory, found, nodes, *read = await asyncio.gather(
        talos_inventory.read(world.kube),
        _metadata(every, world.kube),
        world.kube.list("v1", "Node", labels=_CONTROL_PLANE),
        *(_config(each, manifests, way) for each in control_planes),
    )
    listed = {each.name: one for each, one in zip(control_planes, read, strict=True) if not isinstance(one, str)}
    silent = {each.name: one for each, one in zip(control_planes, read, strict=True) if isinstance(one, str)}
    keys = inventory.of(every) if inventory is not None else ()
    # A machine in maintenance mode applies nothing, and nobody upgrades through it.
    asked = {each.name: each for each in control_planes if listed.get(each.name) is not None}
    made = dict(
        zip(
            asked,
            await asyncio.gather(*(_manifests(one, listed[name], way) for name, one in asked.items())),
            strict=True,
        )
    )
    wide = await talos_inventory.cluster_wide(world.kube)
    doomed = _doomed(inventory.keys if inventory is not None else (), made.values(), wide)
    besides = await _besides([each for each in doomed if each not in keys], wide, world.kube)
    doomed = tuple(each for each in doomed if each in keys or each in besides)
    brought = frozenset(
        talos_inventory.placed(id, wide)
        for name, those in made.items()
        for manifest in _names(listed[name])
        for id in those.get(manifest, ())
    )
    again = {
        name: some
        for name, those in made.items()
        if (some := _again({**_later(listed[name]), **those}, manifests, ids, wide))
    }
    bare = tuple(name for name, some in listed.items() if some is None)
    return TalosState(
        configs={name: _names(some) for name, some in listed.items()}, again=again, silent=silent, bare=bare,
        undeclared=undeclared([each for each in control_planes if each.name not in bare], nodes.items),
        has_inventory=inventory is not None, keys=(*keys, *besides), doomed=doomed, brought=brought,
        besides=tuple(besides.values()),
        annotated=tuple(each for each in every if talos_inventory.is_annotated(found.get(each, {}))),
        managed=tuple(each for each in every if talos_inventory.is_managed(found.get(each, {}))),
    )  # fmt: skip


def undeclared(planes: Sequence[Machine], nodes: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The names of control planes that are nodes and were not declared.

    A machine that was declared by a host name may be a node of another name. Of as many nodes as there are such
    machines nothing can be said; if there are more, one of them is a stranger.

    Args:
        planes: The machines that were declared and have a config.
        nodes: The control planes that Kubernetes has.
    """
    met: set[str] = set()
    strange = []
    for node in nodes:
        name = text(node, "metadata", "name")
        own = {text(each, "address") for each in sequence(node, "status", "addresses")} - {""}
        found = {each.name for each in planes if {name, *own} & _called(each)}
        met |= found
        if own and not found:  # one that never came up has no address
            strange.append(name)
    hidden = [each for each in planes if each.name not in met and not _is_address(each.address)]
    return tuple(strange) if len(strange) > len(hidden) else ()


async def configs(machine: Machine, way: MachineAccess) -> dict[str, Secret]:
    """The configs of a machine: ``IN_FORCE``, and what is on its disk, which comes with the next boot.

    Raises:
        talosctl.TalosError: It does not answer.
        errors.Refused: It shows none that can be read: what it has is not known then.
    """
    every = await way.admin.get(way.at(machine), talos_names.MACHINE_CONFIGS)
    found = {each.id: each.spec for each in every if each.id in (IN_FORCE, ON_DISK)}
    read = {id: Secret(spec) for id, spec in found.items() if isinstance(spec, str) and spec}
    if IN_FORCE not in read or len(read) < len(found):
        raise errors.Refused(f"{machine.name} shows no config that can be read")
    return read


@dataclasses.dataclass(frozen=True, slots=True)
class _Listed:
    """What the configs of a machine list."""

    names: tuple[str, ...]
    """Which of the manifests, in force or on its disk."""
    later: Mapping[str, tuple[ObjectId, ...]]
    """What inline manifests bring that come with the next boot alone."""
    named_urls: Mapping[str, str]
    """URLs of manifests by what Talos calls them, where a document gives them a name."""


def _names(listed: _Listed | None) -> tuple[str, ...]:
    return listed.names if listed is not None else ()


def _later(listed: _Listed | None) -> Mapping[str, tuple[ObjectId, ...]]:
    return listed.later if listed is not None else {}


async def _config(machine: Machine, manifests: Collection[str], way: MachineAccess) -> _Listed | str | None:
    """Which manifests a machine lists; None for one without a config, a text for one that does not say."""
    try:
        found = await configs(machine, way)
        held = {id: machine_configs.manifests(each) for id, each in found.items()}
    except talosctl.TalosError as error:
        report = await machine_survey.look_at(machine, way)
        return None if report.standing is MachineStanding.MAINTENANCE else report.why or error.detail
    except errors.Refused as error:
        return error.message
    names = {name for each in held.values() for name in each.names}
    now, disk = held[IN_FORCE].contents, held.get(ON_DISK, held[IN_FORCE]).contents
    later = {name: _objects(contents) for name, contents in disk.items() if now.get(name) != contents}
    named = {name: url for name, url in held[IN_FORCE].named_urls.items() if name not in now}
    return _Listed(tuple(each for each in manifests if each in names), later, named)


def _objects(contents: str) -> tuple[ObjectId, ...]:
    """The objects of an inline manifest; of one that is no YAML a machine applies nothing."""
    try:
        values = list(yaml.load_all(contents, Loader=yaml.CSafeLoader))
    except yaml.YAMLError:
        return ()
    return tuple(ObjectId.of(each) for each in values if isinstance(each, Mapping))


def _again(
    made: Mapping[str, Sequence[ObjectId]],
    manifests: Collection[str],
    ids: Collection[ObjectId],
    wide: Collection[tuple[str, str]],
) -> dict[str, tuple[ObjectId, ...]]:
    """Manifests that are none of those meant, and bring some of the objects: a name says nothing of what is in one."""
    wanted = {talos_inventory.placed(each, wide) for each in ids}
    placed = {name: [talos_inventory.placed(each, wide) for each in those] for name, those in made.items()}
    found = {name: tuple(each for each in those if each in wanted) for name, those in placed.items()}
    return {name: those for name, those in found.items() if those and name not in manifests}


async def _manifests(
    machine: Machine, listed: _Listed | None, way: MachineAccess
) -> dict[str, tuple[ObjectId, ...]]:  # fmt: skip
    """The objects that a machine applies, by the name or URL of their manifest: Talos puts a number before it."""
    urls = listed.named_urls if listed is not None else {}
    found = await way.admin.manifests(way.at(machine))
    called = {each.id: each.id.partition("-")[2] for each in found}
    return {
        urls.get(called[each.id], called[each.id]): tuple(ObjectId.of(one) for one in each.spec.objects)
        for each in found
    }


def _doomed(
    keys: Sequence[str], made: Iterable[Mapping[str, Sequence[ObjectId]]], wide: Collection[tuple[str, str]]
) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for those in made:
        has = {talos_inventory.placed(id, wide) for objects in those.values() for id in objects}
        for key in keys:
            id = talos_inventory.parse(key)
            if id is not None and talos_inventory.placed(id, wide) not in has:
                found[key] = None
    return tuple(found)


async def _besides(keys: Sequence[str], wide: Collection[tuple[str, str]], client: kube.Client) -> dict[str, ObjectId]:
    """Those among keys whose objects an engine has; the others are Talos's own, to prune or to keep."""
    ids = {each: talos_inventory.placed(id, wide) for each in keys if (id := talos_inventory.parse(each)) is not None}
    found = await _metadata(ids.values(), client)
    return {each: id for each, id in ids.items() if id in found and _is_engines(id, found[id])}


def _is_engines(id: ObjectId, metadata: Mapping[str, Any]) -> bool:
    if id.kind == "CustomResourceDefinition":  # those of charts and of Argo CD get no marks
        return any(text(each, "manager") in managers.ENGINES for each in sequence(metadata, "managedFields"))
    live = {"apiVersion": f"{id.group}/v1" if id.group else "v1", "kind": id.kind, "metadata": metadata}
    return engine_marks.of(live) is not None


def _called(machine: Machine) -> set[str]:
    host = "" if _is_address(machine.address) else machine.address.partition(".")[0]
    return {machine.name, machine.address, host}


def _is_address(written: str) -> bool:
    try:
        ipaddress.ip_address(written)
    except ValueError:
        return False
    return True


async def _metadata(ids: Collection[ObjectId], client: kube.Client) -> dict[ObjectId, Mapping[str, Any]]:
    """The metadata of objects; those that are not there are left out."""
    catalog = await client.catalog()
    versions = {
        (each.group, each.kind): each
        for each in sorted(catalog.resources.values(), key=lambda one: catalog.preferred.get(one.group) == one.version)
    }
    groups: dict[tuple[str, str, str], list[ObjectId]] = defaultdict(list)
    for each in ids:
        resource = versions.get((each.group, each.kind))
        if resource is not None:
            namespace = (each.namespace or client.config.namespace) if resource.is_namespaced else ""
            groups[resource.api_version, each.kind, namespace].append(each)
    listings = await asyncio.gather(
        *(
            client.list(version, kind, namespace=namespace or None, metadata_only=True)
            for version, kind, namespace in groups
        )
    )
    found: dict[ObjectId, Mapping[str, Any]] = {}
    for wanted, listing in zip(groups.values(), listings, strict=True):
        by_name = {text(each, "metadata", "name"): mapping(each, "metadata") for each in listing.items}
        found |= {each: by_name[each.name] for each in wanted if each.name in by_name}
    return found
