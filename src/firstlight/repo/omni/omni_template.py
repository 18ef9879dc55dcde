"""An Omni cluster template as data: one cluster, one control plane, sets of workers, single machines, their patches."""

import dataclasses
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import yaml

from firstlight.model import talos_names
from firstlight.model.place import Place
from firstlight.repo.omni import go_yaml

RESERVED = f"{talos_names.OMNI_DOMAIN}/"
"""Labels and annotations that begin so are Omni's own."""
CONTROL_PLANES = "control-planes"
WORKERS = "workers"

Mode = Literal["one-time", "full"]
Role = Literal["control-plane", "worker"]


@dataclasses.dataclass(frozen=True)
class OmniPatch:
    """A patch as it is declared."""

    name: str
    """What it is called, else its file; may be empty when there is an id."""
    id_override: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    file: str
    """As it is written in the template; empty if the patch is written there itself."""
    data: str = dataclasses.field(repr=False)
    """The patch as omnictl would send it; hidden, since people put passwords of registries into patches."""
    path: str
    """Where errors in it are to be looked for: its file, or the template."""
    line: int


@dataclasses.dataclass(frozen=True)
class OmniManifest:
    """Kubernetes objects that Omni's server would apply (Omni 1.7 and newer)."""

    name: str
    mode: Mode
    objects: tuple[Mapping[str, Any], ...] = dataclasses.field(repr=False)
    file: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    line: int


@dataclasses.dataclass(frozen=True)
class Marks:
    """What the cluster, the sets and the machines have in common."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    system_extensions: tuple[str, ...]
    kernel_args: tuple[str, ...] | None
    """None leaves them alone, an empty list clears them."""
    patches: tuple[OmniPatch, ...]
    line: int


@dataclasses.dataclass(frozen=True)
class Features:
    """What Omni's server does for a cluster besides."""

    disk_encryption: bool = False
    workload_proxy: bool = False
    embedded_discovery: bool = False
    backup_interval: str = ""


@dataclasses.dataclass(frozen=True)
class OmniCluster(Marks):
    """The cluster."""

    name: str
    kubernetes_version: str
    """Without a v."""
    talos_version: str
    """With a v, as templates must have it."""
    features: Features
    manifests: tuple[OmniManifest, ...]
    has_healthchecks: bool


@dataclasses.dataclass(frozen=True)
class MachineClass:
    """Machines that Omni chooses by their labels."""

    name: str
    size: int | None
    """None takes all that there are."""


@dataclasses.dataclass(frozen=True)
class MachineSet(Marks):
    """The control plane, or one of the sets of workers."""

    role: Role
    name: str
    """``control-planes``, ``workers``, or the name of the set."""
    machines: tuple[str, ...]
    machine_class: MachineClass | None
    restores: str
    """The snapshot that the cluster begins with; empty if it begins empty."""


@dataclasses.dataclass(frozen=True)
class OmniMachine(Marks):
    """What is special about one machine."""

    name: str
    locked: bool
    install_disk: str


@dataclasses.dataclass(frozen=True)
class OmniTemplate:
    """A whole template. Documents keep their order: omnictl renders them in it."""

    path: str
    cluster: OmniCluster
    documents: tuple[OmniCluster | MachineSet | OmniMachine, ...]

    @property
    def control_plane(self) -> MachineSet:
        """The set of control-plane machines."""
        return next(each for each in self.sets if each.role == "control-plane")

    @property
    def workers(self) -> tuple[MachineSet, ...]:
        """The sets of workers."""
        return tuple(each for each in self.sets if each.role == "worker")

    @property
    def sets(self) -> tuple[MachineSet, ...]:
        """Every set of machines."""
        return tuple(each for each in self.documents if isinstance(each, MachineSet))

    @property
    def machines(self) -> tuple[OmniMachine, ...]:
        """What is special about machines."""
        return tuple(each for each in self.documents if isinstance(each, OmniMachine))


# What patches and manifests of an Omni template hold: a file beside it, or what is written in the template itself.


_FORBIDDEN = (
    "cluster.clusterName", "cluster.id", "cluster.controlPlane.endpoint", "cluster.token", "cluster.secret",
    "cluster.aescbcEncryptionSecret", "cluster.secretboxEncryptionSecret", "cluster.acceptedCAs",
    "machine.token", "machine.ca", "machine.type", "machine.install.extensions", "machine.acceptedCAs",
)  # fmt: skip
"""Omni writes these itself, and its client refuses them (config_patch.go)."""
_ROLES = "machine.features.kubernetesTalosAPIAccess.allowedRoles"

Files = Callable[[str, int], tuple[str, str]]
"""Reads a file that a template names, for the line that names it: its text, and what it is called in errors."""


@dataclasses.dataclass(frozen=True)
class OmniContent:
    """A text, and where errors in it are to be looked for."""

    data: str = dataclasses.field(repr=False)
    path: str
    line: int
    """Where it begins."""
    documents: tuple[yaml.Node, ...] = dataclasses.field(repr=False, compare=False)
    shift: int = 0
    """Lines between those of the documents and those of the file."""

    def fail(self, code: str, message: str, *, line: int = 0, hint: str = "") -> None:
        """Say what is wrong, at a line of the documents."""
        raise go_yaml.OmniTemplateError(
            code, message, path=self.path, line=line + self.shift if line else self.line, hint=hint
        )


def from_node(node: yaml.Node, path: str, *, line: int) -> OmniContent:
    """What is written in the template: a mapping; newer clients also take a list of them, or a text sent as it is."""
    if isinstance(node, yaml.ScalarNode):
        shift = go_yaml.line_of(node) - (0 if node.style in {"|", ">"} else 1)
        text = str(node.value)
        return OmniContent(text, path, line, tuple(go_yaml.documents(text, path, first_line=shift + 1)), shift)
    roots = list(node.value) if isinstance(node, yaml.SequenceNode) else [node]
    text = "---\n".join(go_yaml.text(go_yaml.value(root, path)) for root in roots)
    return OmniContent(text, path, line, tuple(roots))


def from_text(text: str, path: str) -> OmniContent:
    """What is written in a file of its own."""
    return OmniContent(text, path, 1, tuple(go_yaml.documents(text, path)))


def files_beside(template: Path) -> Files:
    """Reads files below the template's directory; what lies outside may be anybody's."""
    root = template.parent.resolve()

    def text(name: str, line: int) -> tuple[str, str]:
        try:
            target = (root / name).resolve(strict=True)
        except (OSError, ValueError, RuntimeError) as error:
            hint = f"Files are looked up beside the template, in {root}."
            raise go_yaml.OmniTemplateError(
                "talos-file-missing",
                Place(template.name).describe_missing(name),
                path=str(template),
                line=line,
                hint=hint,
            ) from error
        if not target.is_relative_to(root):
            hint = f"Move it into {root}, or the template up to where both are below it."
            message = f"{name} is outside the template's directory"
            raise go_yaml.OmniTemplateError("omni-file-outside", message, path=str(template), line=line, hint=hint)
        shown = str(template.parent / name)
        return read_content(target, shown=shown, template=str(template), line=line), shown

    return text


def read_content(path: Path, *, shown: str, template: str = "", line: int = 0) -> str:
    """The text of an ordinary file of reasonable size; errors are those of the line that names it, if one does."""
    where = template or shown

    def unreadable(message: str, hint: str) -> None:
        raise go_yaml.OmniTemplateError("omni-file-unreadable", f"{shown} {message}", path=where, line=line, hint=hint)

    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            unreadable("is not an ordinary file", "Name a file, not a directory or a pipe.")
        if status.st_size > go_yaml.SIZE_LIMIT:
            unreadable(f"is larger than {go_yaml.SIZE_LIMIT >> 20} MiB", "No Talos machine accepts that much.")
        # A name below the directory was resolved already: a link by now means that somebody just put it there.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_NOFOLLOW if template else 0))
        with os.fdopen(descriptor, "rb") as file:
            return file.read(go_yaml.SIZE_LIMIT).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise go_yaml.OmniTemplateError(
            "omni-file-unreadable", f"{shown} cannot be read: {error}", path=where, line=line
        ) from error


def check_patch(content: OmniContent) -> None:
    """Refuse what Omni refuses of a patch, as far as one need not know Talos's fields; talosctl knows those."""
    mappings = []
    for root in content.documents:
        if go_yaml.is_null(root):
            continue
        if not isinstance(root, yaml.MappingNode):
            hint = "Write a part of a machine config; Omni takes no JSON patches."
            content.fail(
                "omni-patch-not-a-config",
                "a patch is a mapping of machine config",
                line=go_yaml.line_of(root),
                hint=hint,
            )
        if root.value:
            mappings.append(root)
    if not mappings:
        content.fail(
            "omni-patch-empty", "the patch is empty", hint="Say what it changes, or leave it out; Omni refuses it."
        )
    for root in mappings:
        for field in _FORBIDDEN:
            if found := go_yaml.find(root, field.split("."), content.path):
                content.fail(
                    "omni-field-reserved", f"{field} is Omni's own", line=found[1], hint="Leave it out: Omni writes it."
                )
        roles = go_yaml.find(root, _ROLES.split("."), content.path)
        if roles and isinstance(roles[0], yaml.SequenceNode):
            for role in roles[0].value:
                if role.value == "os:admin":
                    hint = "Write os:reader, or what is needed; Omni refuses this one."
                    content.fail(
                        "omni-admin-role-refused", "pods may not be os:admin", line=go_yaml.line_of(role), hint=hint
                    )


def manifest_objects(content: OmniContent) -> tuple[Mapping[str, Any], ...]:
    """The Kubernetes objects of a manifest."""
    found = []
    for root in content.documents:
        if go_yaml.is_null(root):
            continue
        data = go_yaml.value(root, content.path)
        if not isinstance(data, dict) or not data.get("kind") or not data.get("apiVersion"):
            hint = "Every document of a manifest has apiVersion and kind."
            content.fail(
                "manifest-not-an-object", "this is no Kubernetes object", line=go_yaml.line_of(root), hint=hint
            )
        found.append(data)
    return tuple(found)
