"""``talosctl get`` and what it shows: the resources of machines, each type with a method of its own.

Types are named in full, because short names can be ambiguous on newer machines.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from firstlight import errors
from firstlight.clients.talosctl import talos_errors, talosctl_output
from firstlight.clients.talosctl.machine_target import MachineTarget
from firstlight.clients.talosctl.talosctl_program import READ, TalosctlProgram
from firstlight.model import machine, talos_names
from firstlight.model.secret import Secret

T = TypeVar("T")


class ResourceCommands(TalosctlProgram):
    """What can be read from machines as JSON."""

    async def get(
        self, target: MachineTarget, type: str, id: str = "", *, namespace: str = "", timeout: float = READ
    ) -> tuple[machine.TalosResource[Any], ...]:
        """Resources of a type, or the one with an id, of every machine of the target.

        Raises:
            talos_errors.NotFound: There is no such type, or none with that id.
        """
        if not type or "\0" in f"{type}{id}{namespace}":
            raise errors.UsageError("the type of a resource is needed, without strange characters")
        done = await self._ask(
            ["get"],
            target,
            about=type,
            options=["--output=json", *([f"--namespace={namespace}"] if namespace else [])],
            operands=[type, *([id] if id else [])],
            timeout=timeout,
            several=True,
            in_maintenance=True,
        )
        try:
            return tuple(_resource(document) for document in talosctl_output.parse_documents(done.text))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            # What it printed may be a machine config, so it is no part of the message.
            raise self._unreadable(target, type) from error

    async def members(
        self, target: MachineTarget, *, timeout: float = READ
    ) -> tuple[machine.TalosResource[machine.DiscoveredMember], ...]:
        """The machines of the cluster that discovery knows."""
        return await self._typed(target, talos_names.MEMBERS, machine.DiscoveredMember, timeout=timeout)

    async def machine_status(self, target: MachineTarget, *, timeout: float = READ) -> machine.MachineStage:
        """How far a machine is."""
        return await self._one(target, talos_names.MACHINE_STATUSES, "machine", machine.MachineStage, timeout=timeout)

    async def machine_config(self, target: MachineTarget, *, persistent: bool = False, timeout: float = READ) -> Secret:
        """The config of a machine: the one in force, or the one that is on its disk and comes with the next boot."""
        type = talos_names.MACHINE_CONFIGS
        found = await self._single(target, type, "persistent" if persistent else "v1alpha1", timeout=timeout)
        if not isinstance(found.spec, str):
            raise self._unreadable(target, type)
        return Secret(found.spec)

    async def disks(
        self, target: MachineTarget, *, timeout: float = READ
    ) -> tuple[machine.TalosResource[machine.InstallDisk], ...]:
        """The disks of machines."""
        return await self._typed(target, talos_names.DISKS, machine.InstallDisk, timeout=timeout)

    async def system_disks(
        self, target: MachineTarget, *, timeout: float = READ
    ) -> tuple[machine.TalosResource[machine.SystemDisk], ...]:
        """The disks that Talos is installed on; none for a machine that runs from memory."""
        return await self._typed(target, talos_names.SYSTEM_DISKS, machine.SystemDisk, timeout=timeout)

    async def links(
        self, target: MachineTarget, *, timeout: float = READ
    ) -> tuple[machine.TalosResource[machine.NetworkLink], ...]:
        """The network interfaces of machines; the id is the interface's name."""
        return await self._typed(target, talos_names.LINK_STATUSES, machine.NetworkLink, timeout=timeout)

    async def addresses(
        self, target: MachineTarget, *, timeout: float = READ
    ) -> tuple[machine.TalosResource[machine.LinkAddress], ...]:
        """The addresses of machines."""
        return await self._typed(target, talos_names.ADDRESS_STATUSES, machine.LinkAddress, timeout=timeout)

    async def nodename(self, target: MachineTarget, *, timeout: float = READ) -> machine.Nodename:
        """The name that a machine has, or will have, in Kubernetes."""
        return await self._one(target, talos_names.NODENAMES, "nodename", machine.Nodename, timeout=timeout)

    async def services(
        self, target: MachineTarget, *, timeout: float = READ
    ) -> tuple[machine.TalosResource[machine.TalosService], ...]:
        """The services that run on machines, and their health; the id is the service's name."""
        return await self._typed(target, talos_names.SERVICES, machine.TalosService, timeout=timeout)

    async def diagnostics(
        self, target: MachineTarget, *, timeout: float = READ
    ) -> tuple[machine.TalosResource[machine.TalosDiagnostic], ...]:
        """What machines warn of."""
        return await self._typed(target, talos_names.DIAGNOSTICS, machine.TalosDiagnostic, timeout=timeout)

    async def manifests(
        self, target: MachineTarget, *, timeout: float = READ
    ) -> tuple[machine.TalosResource[machine.TalosManifest], ...]:
        """The Kubernetes objects that control-plane machines apply, in the order of their ids."""
        type = talos_names.MANIFESTS
        found = await self.get(target, type, timeout=timeout)
        if not all(isinstance(each.spec, list) for each in found):
            raise self._unreadable(target, type)
        return tuple(_with_spec(each, machine.TalosManifest(tuple(each.spec))) for each in found)

    async def manifest_statuses(
        self, target: MachineTarget, *, timeout: float = READ
    ) -> tuple[machine.TalosResource[machine.TalosManifestStatus], ...]:
        """Which of the manifests control-plane machines have applied."""
        return await self._typed(target, talos_names.MANIFEST_STATUSES, machine.TalosManifestStatus, timeout=timeout)

    async def etcd_member_id(self, target: MachineTarget, *, timeout: float = READ) -> str | None:
        """The id of the etcd member on a machine; None if it is no member."""
        try:
            found = await self._one(target, talos_names.ETCD_MEMBERS, "local", _EtcdMember, timeout=timeout)
        except talos_errors.TalosNotFound:
            return None
        return found.id

    async def _typed(
        self, target: MachineTarget, type: str, spec: type[T], *, timeout: float
    ) -> tuple[machine.TalosResource[T], ...]:
        return tuple(self._convert(each, spec, target) for each in await self.get(target, type, timeout=timeout))

    async def _one(self, target: MachineTarget, type: str, id: str, spec: type[T], *, timeout: float) -> T:
        return self._convert(await self._single(target, type, id, timeout=timeout), spec, target).spec

    async def _single(self, target: MachineTarget, type: str, id: str, *, timeout: float) -> machine.TalosResource[Any]:
        _ = target.node
        found = await self.get(target, type, id, timeout=timeout)
        if len(found) != 1:
            raise self._unreadable(target, type)
        return found[0]

    def _convert(
        self, resource: machine.TalosResource[Any], spec: type[T], target: MachineTarget
    ) -> machine.TalosResource[T]:
        try:
            return _with_spec(resource, msgspec.convert(resource.spec, spec))
        except msgspec.ValidationError as error:
            raise self._unreadable(target, resource.type, str(error)) from error

    def _unreadable(self, target: MachineTarget, type: str, why: str = "") -> talos_errors.TalosUnreadable:
        detail = f"the answer cannot be read: {why}" if why else "the answer cannot be read"
        return talos_errors.TalosUnreadable(self._call(["get"], target, about=type), detail=detail)


class _EtcdMember(msgspec.Struct, frozen=True):
    id: str = msgspec.field(name="memberID")


def _resource(document: Mapping[str, Any]) -> machine.TalosResource[Any]:
    metadata = document["metadata"]
    return machine.TalosResource(
        node=_text(document.get("node")),
        type=_text(metadata["type"]),
        namespace=_text(metadata["namespace"]),
        id=_text(metadata["id"]),
        version=_text(metadata.get("version")),
        phase=_text(metadata.get("phase")),
        labels={str(name): _text(value) for name, value in (metadata.get("labels") or {}).items()},
        annotations={str(name): _text(value) for name, value in (metadata.get("annotations") or {}).items()},
        spec=document["spec"],
    )


def _text(value: object) -> str:
    """A word of the metadata, which talosctl takes for a number, a truth or nothing if it looks like one."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _with_spec(resource: machine.TalosResource[Any], spec: T) -> machine.TalosResource[T]:
    return dataclasses.replace(resource, spec=spec)
