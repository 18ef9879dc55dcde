"""An Omni cluster template as the source of a lab's machine configs: what Omni's server would merge.

``parsing.parse`` reads the template, ``resolve`` says which lab machines there are and which patches each gets
in which order, ``make`` makes the configs with talosctl: a base as Omni generates it (the cluster's secrets, the
version contract of the template's Talos, its Kubernetes), then the patches. Nothing is sent: there is no Omni here.
"""

import dataclasses
import re
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import yaml

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.lab import lab_directory, lab_settings
from firstlight.lab.machines import commission
from firstlight.lab.machines.machine_settings import VirtualMachine
from firstlight.lab.omni import omni_patches
from firstlight.lab.running_lab import Lab
from firstlight.model.secret import Secret
from firstlight.repo.omni import go_yaml, omni_template

NOT_PROVEN = (
    "from an Omni template: merged in the order of Omni's server, which is not here; omnictl cluster template sync,"
    " SideroLink, image factory and Omni's own patches are not proven"
)
"""What a lab made from a template must say of itself, in its status and in the docs."""

MACHINE_LIMIT = 190
"""As many as fit into the lab's default network."""

_FOR_CLASSES = uuid.uuid5(uuid.NAMESPACE_DNS, "machines.lab.firstlight.dev")
_UNKNOWN_KEYS = "unknown keys found during decoding:\n"


class TemplateMachine(NamedTuple):
    """A machine of the lab that stands for one of the template."""

    name: str
    uuid: str
    """The template's id of it; for one that Omni would choose, always the same one of the lab's own."""
    role: lab_settings.Role
    machine_set: str
    """``control-planes``, ``workers``, or the name of the set."""


@dataclasses.dataclass(frozen=True)
class ResolvedTemplate:
    """A template for a lab's machines; pure data, without secrets."""

    template: omni_template.OmniTemplate
    machines: tuple[TemplateMachine, ...]
    patches: Mapping[str, tuple[omni_patches.ConfigPatch, ...]]
    """By the machine's UUID, in the order in which they are merged."""
    manifests: tuple[omni_template.OmniManifest, ...]
    """In no config: Omni's server would apply them."""
    notes: tuple[str, ...]
    """What the lab does otherwise than Omni, for people."""


@dataclasses.dataclass(frozen=True)
class OmniConfigs:
    """Machine configs by the machine's UUID, and what more there is to say of them."""

    by_machine: Mapping[str, Secret]
    notes: tuple[str, ...]


def template_machines(
    template: omni_template.OmniTemplate, sizes: Mapping[str, int] | None = None
) -> tuple[TemplateMachine, ...]:
    """The lab's machines for a template: control planes first, then the workers of each set, as they are declared.

    Args:
        template: The template.
        sizes: How many machines a set with a machine class gets, by the name of the set. Only Omni knows which machines
            a class has. What is not said is taken from the template; ``unlimited`` must be said.

    Raises:
        errors.ConfigError: There is no control-plane machine.
        errors.UsageError: A size that is missing, is of no such set, or is too large for a lab.
    """
    sizes = sizes or {}
    classes = {each.name for each in template.sets if each.machine_class}
    for name in sizes:
        if name not in classes:
            has = f"It has these: {', '.join(sorted(classes))}." if classes else "It has none."
            raise errors.UsageError(f"the template has no set {name} with a machine class", hint=has)
    found: list[TemplateMachine] = []
    taken: set[str] = set()
    for machine_set in (template.control_plane, *template.workers):
        for identity in _identities(template, machine_set, sizes, room=MACHINE_LIMIT - len(found)):
            name = _name(machine_set, taken)
            taken.add(name)
            found.append(TemplateMachine(name, identity, machine_set.role, machine_set.name))
    if not found or found[0].role != "control-plane":
        hint = "List a machine, or give the machine class a size."
        line = template.control_plane.line
        raise errors.ConfigError("the control plane has no machine", path=template.path, line=line, hint=hint)
    return tuple(found)


def resolve_template(template: omni_template.OmniTemplate, sizes: Mapping[str, int] | None = None) -> ResolvedTemplate:
    """Which machines there are, and which patches each gets in which order; see ``machines`` for ``sizes``.

    Raises:
        errors.ConfigError: There is no control-plane machine, or two patches have the same id.
        errors.UsageError: A size that is missing, is of no such set, or is too large for a lab.
    """
    patches = omni_patches.template_patches(template)
    found = template_machines(template, sizes)
    ids = {each.name: omni_patches.machine_set_id(template, each) for each in template.sets}
    return ResolvedTemplate(
        template=template,
        machines=found,
        patches={
            each.uuid: omni_patches.patches_for_machine(patches, machine_set=ids[each.machine_set], machine=each.uuid)
            for each in found
        },
        manifests=template.cluster.manifests,
        notes=tuple(_notes(template, found)),
    )


async def make_configs(
    resolved: ResolvedTemplate, *, client: talosctl.Talosctl, secrets: Secret, endpoint: str
) -> OmniConfigs:
    """Make the machine configs; secrets are handed over in memory, never on a command line or a disk.

    Args:
        resolved: The template's machines and patches.
        client: talosctl; nobody is asked anything.
        secrets: The cluster's bundle, as ``talosctl gen secrets`` makes it.
        endpoint: Of the Kubernetes API; a template cannot say it, Omni would give its own.

    Raises:
        errors.ConfigError: Talos refuses a patch; with its id, file and line.
        talosctl.TalosError: No config can be made from this bundle.
    """
    cluster = resolved.template.cluster
    bases: dict[lab_settings.Role, Secret] = {}
    made: dict[tuple[lab_settings.Role, tuple[str, ...]], Secret] = {}
    found: dict[str, Secret] = {}
    notes: tuple[str, ...] = ()
    for machine in resolved.machines:
        if machine.role not in bases:
            bases[machine.role], version = await _base(client, cluster, machine.role, secrets, endpoint)
            notes = _skew(cluster, version)
        patches = resolved.patches[machine.uuid]
        key = (machine.role, tuple(patch.id for patch in patches))
        if key not in made:  # machines of one class have the same
            made[key] = await _patched(client, bases[machine.role], patches)
        found[machine.uuid] = made[key]
    return OmniConfigs(found, notes)


def _identities(
    template: omni_template.OmniTemplate, machine_set: omni_template.MachineSet, sizes: Mapping[str, int], *, room: int
) -> tuple[str, ...]:
    if machine_set.machine_class is None:
        wanted = machine_set.machines
        size: int | None = len(wanted)
    else:
        wanted = ()
        size = sizes.get(machine_set.name, machine_set.machine_class.size)
    if size is None:
        message = f"{machine_set.name} takes every machine of its class, and only Omni knows how many those are"
        raise errors.UsageError(message, hint=f"Say how many machines {machine_set.name} has in the lab.")
    if not 0 <= size <= room:
        message = f"{size} machines for {machine_set.name}: a lab has at most {MACHINE_LIMIT} in all"
        raise errors.UsageError(message, hint=f"Give {machine_set.name} fewer.")
    cluster = template.cluster.name
    return wanted or tuple(str(uuid.uuid5(_FOR_CLASSES, f"{cluster}/{machine_set.name}/{n}")) for n in range(size))


def _name(machine_set: omni_template.MachineSet, taken: set[str]) -> str:
    """A node's name that is free: cp-1, worker-1, or the set's name and a number."""
    stem = {omni_template.CONTROL_PLANES: "cp", omni_template.WORKERS: "worker"}.get(machine_set.name)
    if stem is None:
        stem = re.sub("[^a-z0-9]+", "-", machine_set.name.lower())[:50].strip("-") or "worker"
    return next(name for n in range(1, MACHINE_LIMIT + len(taken) + 2) if (name := f"{stem}-{n}") not in taken)


def _notes(template: omni_template.OmniTemplate, found: Sequence[TemplateMachine]) -> list[str]:
    cluster = template.cluster
    notes = [NOT_PROVEN]
    for each in template.sets:
        if each.machine_class:
            count = sum(machine.machine_set == each.name for machine in found)
            said = "unlimited" if each.machine_class.size is None else each.machine_class.size
            notes.append(
                f"{each.name}: {count} machines for the class {each.machine_class.name} (the template says {said});"
                " only Omni knows which machines those are"
            )
        if each.restores:
            notes.append(f"bootstrapSpec: etcd begins empty, not with {each.restores}")
    notes += [
        f"kubernetes.manifests: {each.name} ({each.mode}, {len(each.objects)} objects) is in no machine config;"
        " Omni's server would apply it, here nobody does unless told"
        for each in cluster.manifests
    ]
    features = cluster.features
    left_out = {
        "kubernetes.healthchecks": cluster.has_healthchecks,
        "features.diskEncryption": features.disk_encryption,
        "features.enableWorkloadProxy": features.workload_proxy,
        "features.useEmbeddedDiscoveryService": features.embedded_discovery,
        "features.backupConfiguration": features.backup_interval not in {"", "0"},
        "systemExtensions": any(each.system_extensions for each in template.documents),
        "kernelArgs": any(each.kernel_args for each in template.documents),
    }
    if any(left_out.values()):
        notes.append(
            f"left out, since Omni itself does it: {', '.join(key for key, is_set in left_out.items() if is_set)}"
        )
    notes += [
        f"machine {each.name} is locked: Omni would leave the config it has; here it gets this one"
        for each in template.machines
        if each.locked
    ]
    return notes


def _skew(cluster: omni_template.OmniCluster, version: str) -> tuple[str, ...]:
    wanted, given = (
        tuple(int(each) for each in re.findall(r"\d+", text)[:2]) for text in (cluster.talos_version, version)
    )
    if wanted <= given:
        return ()
    return (f"Talos {cluster.talos_version} is newer than talosctl {version}: the base config is that of {version}",)


_INSTALL = {"apiVersion": "v1alpha1", "kind": "UnattendedInstallConfig"}
"""Where a config of Talos 1.14 says what is installed."""


async def _base(
    client: talosctl.Talosctl,
    cluster: omni_template.OmniCluster,
    role: lab_settings.Role,
    secrets: Secret,
    endpoint: str,
) -> tuple[Secret, str]:
    """The config before any patch, and talosctl's own version."""
    base = await client.gen_config(
        "controlplane" if role == "control-plane" else "worker",
        cluster=cluster.name,
        endpoint=endpoint,
        secrets=secrets,
        kubernetes_version=cluster.kubernetes_version,
        talos_version=cluster.talos_version,
    )
    documents: list[Any] = list(yaml.load_all(base.reveal(), Loader=yaml.CSafeLoader))
    # Omni names an image of its factory, at the cluster's version; talosctl the ordinary one, at its own.
    unattended = next((each for each in documents if each.get("kind") == _INSTALL["kind"]), None)
    named = unattended["installer"] if unattended else documents[0]["machine"]["install"]
    image, _, version = str(named["image"]).rpartition(":")
    wanted = {"image": f"{image}:{cluster.talos_version}"}
    installed = {**_INSTALL, "installer": wanted} if unattended else {"machine": {"install": wanted}}
    return await client.patch_config(base, [Secret(go_yaml.text(installed))]), version


async def _patched(client: talosctl.Talosctl, base: Secret, patches: Sequence[omni_patches.ConfigPatch]) -> Secret:
    if not patches:
        return base
    contents = [Secret(patch.data) for patch in patches]
    try:
        return await client.patch_config(base, contents)
    except talosctl.TalosRejected as rejected:
        # It does not say which one it means: the first without which it is content.
        for count, patch in enumerate(patches, 1):
            try:
                await client.patch_config(base, contents[:count])
            except talosctl.TalosRejected as error:
                problem, line = _explain(error, patch)
                message = f"Talos refuses the patch {patch.id}: {problem}"
                raise errors.ConfigError(
                    message, path=patch.path, line=line, hint="Omni refuses it in sync, too."
                ) from error
        raise errors.LabError("talosctl refuses patches together and each alone not") from rejected


def _explain(error: talosctl.TalosRejected, patch: omni_patches.ConfigPatch) -> tuple[str, int]:
    """What talosctl says, and the line that it is about, if that can be found out."""
    _, found, rest = error.stderr.partition(_UNKNOWN_KEYS)
    if not found:
        return error.detail, patch.line
    try:
        steps = _first_leaf(yaml.load(rest, Loader=yaml.CSafeLoader))
    except yaml.YAMLError:
        return error.detail, patch.line
    line = patch.line
    if patch.is_file:
        for document in go_yaml.documents(patch.data, patch.path):
            if place := go_yaml.find(document, steps, patch.path):
                line = place[1]
    return f"it knows no {'.'.join(steps)}", line


def _first_leaf(data: Any) -> list[str]:
    steps = []
    while isinstance(data, dict) and data:
        key, data = next(iter(data.items()))
        steps.append(str(key))
    return steps


# The lab in the place of Omni's server: machines as a template declares them, configured and bootstrapped.
#
# What Omni does besides (machines that call in over SideroLink, images from its factory, its own patches) is not here.


def template_settings(resolved: ResolvedTemplate, base: lab_settings.LabSettings) -> lab_settings.LabSettings:
    """A lab with the machines of a template, which says where it comes from."""
    known = {machine.uuid: machine for machine in base.machines}
    taken = {machine.address for machine in known.values()}
    free = (address for n in range(2, 250) if (address := f"10.5.0.{n}") not in taken)
    machines = tuple(
        msgspec.structs.replace(known[each.uuid], name=each.name)
        if each.uuid in known
        else VirtualMachine(name=each.name, address=next(free), uuid=each.uuid)
        for each in resolved.machines
    )
    return msgspec.structs.replace(base, nodes=(), machines=machines, notes=resolved.notes)


async def configure_machines(
    lab: Lab, resolved: ResolvedTemplate, program: Path, *, report: commission.Report
) -> tuple[str, ...]:
    """Give every machine its config, bootstrap the first control plane, keep a talosconfig; what there is to note.

    Run again, changed configs are applied, and nothing is bootstrapped twice.
    """
    client = talosctl.Talosctl(program)
    status = await lab.status()
    endpoint = f"https://{status.loopback}:6443"
    secrets = await _secrets(lab, client)
    made = await make_configs(resolved, client=client, secrets=secrets, endpoint=endpoint)
    talosconfig = await client.gen_config(
        "talosconfig", cluster=resolved.template.cluster.name, endpoint=endpoint, secrets=secrets
    )
    cluster = commission.Commission(lab, program, talosconfig, commission.machines_of(status), report=report)
    planes = [each.name for each in resolved.machines if each.role == "control-plane"]
    cluster.write_talosconfig(planes)
    await cluster.configure({each.name: made.by_machine[each.uuid] for each in resolved.machines})
    await cluster.bootstrap(planes[0])
    return made.notes


async def _secrets(lab: Lab, client: talosctl.Talosctl) -> Secret:
    """The cluster's secrets, made once: like the machines' own disks they live and go with the lab."""
    try:
        return Secret(lab.home.omni.read_bytes())
    except FileNotFoundError:
        fresh = await client.gen_secrets()
        lab_directory.write_whole(lab.home.omni, fresh.reveal())
        return fresh
