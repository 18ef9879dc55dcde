"""Reads an Omni cluster template as omnictl reads it, with the files that it names.

What ``omnictl cluster template validate`` refuses is refused here, with the line and what to write instead. A little
more is refused: files outside the template's directory, versions without a patch number, machine ids that no machine
has, and fields of Omni's own in any document of a patch (Omni looks at the first one only).

``parse`` raises what is wrong first; ``problems`` tells all of it, as far as one mistake does not hide another.
Files are looked up beside the template. omnictl looks in the directory where it runs, so run it there.
"""

import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import yaml

from firstlight.model import versions
from firstlight.model.diagnostic import Diagnostic
from firstlight.repo.omni import go_yaml, omni_template
from firstlight.repo.omni.go_yaml import OmniTemplateError
from firstlight.repo.omni.omni_template import (
    CONTROL_PLANES,
    RESERVED,
    WORKERS,
    Features,
    MachineClass,
    MachineSet,
    OmniCluster,
    OmniMachine,
    OmniManifest,
    OmniPatch,
    OmniTemplate,
)

_MARKS = {"kind", "labels", "annotations", "systemExtensions", "kernelArgs", "patches"}
_CLUSTER = _MARKS | {"name", "kubernetes", "talos", "features"}
_SET = _MARKS | {
    "name", "machines", "machineClass", "bootstrapSpec", "updateStrategy", "deleteStrategy", "upgradeStrategy",
}  # fmt: skip
_MACHINE = _MARKS | {"name", "locked", "install"}
_FEATURES = {"diskEncryption", "enableWorkloadProxy", "useEmbeddedDiscoveryService", "backupConfiguration"}
_PATCH = {"name", "idOverride", "labels", "annotations", "file", "inline"}
_MANIFEST = {"name", "labels", "annotations", "file", "inline", "mode"}

_NAME = re.compile(r"[\w-]+")
_INTERVAL = re.compile(r"0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+")
_UNLIMITED = {"unlimited", "Unlimited", "infinity", "∞"}
_T = TypeVar("_T")


def parse(path: Path) -> OmniTemplate:
    """Read a template and the files that it names.

    Raises:
        OmniTemplateError: With the line, and what to write instead.
    """
    text = omni_template.read_content(path, shown=str(path))
    template, wrong = _read(text, str(path), omni_template.files_beside(path))
    if wrong or template is None:
        raise wrong[0]
    return template


def problems(text: str, path: str, *, files: omni_template.Files) -> tuple[Diagnostic, ...]:
    """Everything that is wrong with a template, in the order in which it is found.

    Args:
        text: The template.
        path: What it is called in errors.
        files: How the files are read that it names.
    """
    return tuple(each.diagnostic for each in _read(text, path, files)[1])


def _read(text: str, path: str, files: omni_template.Files) -> tuple[OmniTemplate | None, list[OmniTemplateError]]:
    reader = _Reader(path, files)
    nodes = reader.attempt(lambda: go_yaml.documents(text, path))
    documents = [reader.read(node) for node in nodes or ()]
    found = tuple(each for each in documents if each is not None)
    if nodes is None or len(found) < len(documents):  # what the whole lacks may stand in what could not be read
        return None, reader.problems
    clusters = [each for each in found if isinstance(each, OmniCluster)]
    if len(clusters) != 1:
        line = clusters[1].line if clusters else 0
        hint = "Write one document of kind Cluster, with name, kubernetes.version and talos.version."
        message = f"{len(clusters)} clusters in one template"
        return None, [
            *reader.problems,
            OmniTemplateError("omni-cluster-count", message, path=path, line=line, hint=hint),
        ]
    template = OmniTemplate(path, clusters[0], found)
    return template, [*reader.problems, *_check(template)]


class _Reader:
    """Reads documents; knows where the template and its files are, and collects what is wrong with them."""

    def __init__(self, path: str, files: omni_template.Files) -> None:
        self.path, self.files = path, files
        self.problems: list[OmniTemplateError] = []

    def attempt(self, read: Callable[..., _T], *arguments: Any) -> _T | None:
        """What a reading gives; None, and a problem more, where it fails."""
        try:
            return read(*arguments)
        except OmniTemplateError as error:
            self.problems.append(error)
            return None

    def each(
        self, read: Callable[[go_yaml.YamlFields], _T], fields: go_yaml.YamlFields, key: str, what: str, keys: set[str]
    ) -> tuple[_T, ...]:
        """The entries of a list that can be read."""

        def one(node: yaml.Node) -> _T:
            return read(go_yaml.YamlFields(self.path, node, what, keys))

        found = (self.attempt(one, node) for node in fields.items(key))
        return tuple(entry for entry in found if entry is not None)

    def read(self, node: yaml.Node) -> OmniCluster | MachineSet | OmniMachine | None:
        """A document; None where it is wrong, and then its parts are looked at one by one for what else is."""
        found = self.attempt(self.document, node)
        if found is None and isinstance(node, yaml.MappingNode):
            said = {str(each) for each in self.problems}
            before = len(self.problems)
            self.attempt(self.parts, node)
            self.problems[before:] = [each for each in self.problems[before:] if str(each) not in said]
        return found

    def parts(self, node: yaml.MappingNode) -> None:
        """Look at the parts of a document that do not depend on each other."""
        entries = go_yaml.entries(node, self.path)
        fields = go_yaml.YamlFields(self.path, node, "a document", entries)
        kind = fields.text("kind")
        known = {"Cluster": _CLUSTER, "Machine": _MACHINE}.get(kind, _SET)
        for key in sorted(entries.keys() - known):
            self.attempt(fields.fail, "omni-field-unknown", f"{kind} has no key {key}", key)
        for key in ("kubernetes", "talos") if kind == "Cluster" else ():
            self.attempt(
                lambda key=key: self.version(fields, fields.child(key, {"version", "manifests", "healthchecks"}), key)
            )
        for entry in self.attempt(fields.items, "machines") or ():
            self.attempt(self.machine_id, fields, entry)
        self.each(self.patch, fields, "patches", "a patch", _PATCH)

    def machine_id(self, fields: go_yaml.YamlFields, node: yaml.Node) -> None:
        """The id of a machine in a list."""
        if not isinstance(node, yaml.ScalarNode):
            hint = "Write the value alone."
            fields.fail(
                "omni-field-type-wrong", "an entry of machines is not a text", line=go_yaml.line_of(node), hint=hint
            )
        self.check_id(fields, str(node.value), go_yaml.line_of(node))

    def document(self, node: yaml.Node) -> OmniCluster | MachineSet | OmniMachine:
        found = go_yaml.find(node, ["kind"], self.path) if isinstance(node, yaml.MappingNode) else None
        kind = found[0].value if found and isinstance(found[0], yaml.ScalarNode) else ""
        hint = "A template has documents of kind Cluster, ControlPlane, Workers and Machine."
        match kind:
            case "Cluster":
                return self.cluster(go_yaml.YamlFields(self.path, node, kind, _CLUSTER))
            case "ControlPlane" | "Workers":
                return self.machine_set(go_yaml.YamlFields(self.path, node, kind, _SET), kind)
            case "Machine":
                return self.machine(go_yaml.YamlFields(self.path, node, kind, _MACHINE))
        line = found[1] if found else go_yaml.line_of(node)
        message = f"there is no kind {kind}" if kind else "a document without kind"
        if go_yaml.is_null(node):
            line, message, hint = max(1, line - 1), "an empty document", "Remove the --- before it."
        raise OmniTemplateError("omni-kind-wrong", message, path=self.path, line=line, hint=hint)

    def marks(self, fields: go_yaml.YamlFields) -> dict[str, Any]:
        arguments = None
        if fields.node("kernelArgs") is not None:
            arguments = tuple(text for text, _ in fields.texts("kernelArgs"))
        return {
            **self.descriptors(fields),
            "system_extensions": tuple(text for text, _ in fields.texts("systemExtensions")),
            "kernel_args": arguments,
            "patches": self.each(self.patch, fields, "patches", "a patch", _PATCH),
            "line": fields.line,
        }

    def descriptors(self, fields: go_yaml.YamlFields) -> dict[str, dict[str, str]]:
        found = {key: fields.text_map(key) for key in ("labels", "annotations")}
        for key, entries in found.items():
            for name in entries:
                if name.startswith(RESERVED):
                    fields.fail(
                        "omni-field-reserved",
                        f"{name} is one of Omni's own {key}",
                        key,
                        hint=f"Use a prefix other than {RESERVED}.",
                    )
        return found

    def cluster(self, fields: go_yaml.YamlFields) -> OmniCluster:
        name = fields.text("name")
        if not _NAME.fullmatch(name):
            hint = "Write letters, digits, - and _ only."
            if not name:
                fields.fail("omni-field-missing", "the cluster has no name", "name", hint=hint)
            fields.fail("omni-value-wrong", f"{name!r} is no name for a cluster", "name", hint=hint)
        kubernetes = fields.child("kubernetes", {"version", "manifests", "healthchecks"})
        talos = fields.child("talos", {"version"})
        talos_version = self.version(fields, talos, "talos")
        if not talos_version.startswith("v"):
            assert talos is not None
            talos.fail(
                "omni-value-wrong", "the version of Talos begins with a v", "version", hint=f"Write v{talos_version}."
            )
        manifests: tuple[OmniManifest, ...] = ()
        if kubernetes:
            manifests = self.each(self.manifest, kubernetes, "manifests", "a manifest", _MANIFEST)
            for index, manifest in enumerate(manifests):
                if any(other.name == manifest.name for other in manifests[:index]):
                    fields.fail(
                        "omni-name-twice",
                        f"two manifests are called {manifest.name}",
                        line=manifest.line,
                        hint="Rename one of them.",
                    )
        return OmniCluster(
            **self.marks(fields),
            name=name,
            kubernetes_version=self.version(fields, kubernetes, "kubernetes").lstrip("v"),
            talos_version=talos_version,
            features=self.features(fields, talos_version),
            manifests=manifests,
            has_healthchecks=bool(kubernetes and kubernetes.node("healthchecks")),
        )

    def version(self, fields: go_yaml.YamlFields, section: go_yaml.YamlFields | None, key: str) -> str:
        example = {"talos": "v1.13.0", "kubernetes": "v1.36.0"}[key]
        if section is None or not section.text("version"):
            fields.fail(
                "omni-field-missing", f"{key}.version is missing", key, hint=f"Write {key}: {{version: {example}}}."
            )
        version = section.text("version")
        if not versions.is_omni(version):
            section.fail(
                "omni-value-wrong",
                f"{version!r} is no version",
                "version",
                hint=f"Write all three numbers, such as {example}.",
            )
        return version

    def features(self, fields: go_yaml.YamlFields, talos_version: str) -> Features:
        section = fields.child("features", _FEATURES)
        if section is None:
            return Features()
        backup = section.child("backupConfiguration", {"interval"})
        interval = backup.text("interval") if backup else ""
        if backup and interval and not _INTERVAL.fullmatch(interval):
            backup.fail("omni-value-wrong", f"{interval!r} is no duration", "interval", hint="Write 1h, or 1h30m.")
        encrypted = section.flag("diskEncryption")
        if encrypted and _numbers(talos_version) < (1, 5):
            section.fail(
                "omni-field-not-allowed",
                f"Talos {talos_version} has no encryption by Omni",
                "diskEncryption",
                hint="It came with 1.5.",
            )
        return Features(
            disk_encryption=encrypted,
            workload_proxy=section.flag("enableWorkloadProxy"),
            embedded_discovery=section.flag("useEmbeddedDiscoveryService"),
            backup_interval=interval,
        )

    def machine_set(self, fields: go_yaml.YamlFields, kind: str) -> MachineSet:
        is_control_plane = kind == "ControlPlane"
        name = fields.text("name")
        if is_control_plane:
            for key in ("name", "updateStrategy", "deleteStrategy"):
                if fields.node(key) is not None:
                    fields.fail(
                        "omni-field-not-allowed",
                        f"a control plane has no {key}",
                        key,
                        hint="Leave it out; only Workers have it.",
                    )
        elif name == CONTROL_PLANES or (name and not _NAME.fullmatch(name)):
            hint = f"Write letters, digits, - and _ only, and not {CONTROL_PLANES}."
            fields.fail("omni-value-wrong", f"{name!r} is no name for workers", "name", hint=hint)
        for key in ("updateStrategy", "deleteStrategy", "upgradeStrategy"):
            self.strategy(fields, key)
        machines = fields.texts("machines")
        for machine, line in machines:
            self.check_id(fields, machine, line)
        machine_class = self.machine_class(fields)
        if machines and machine_class:
            fields.fail(
                "omni-field-not-allowed",
                "a set has machines or a machineClass, not both",
                "machineClass",
                hint="Keep one of them.",
            )
        if machine_class and fields.node("kernelArgs") is not None:
            fields.fail(
                "omni-field-not-allowed",
                "a set with a machineClass has no kernelArgs",
                "kernelArgs",
                hint="Leave them out.",
            )
        return MachineSet(
            **self.marks(fields),
            role="control-plane" if is_control_plane else "worker",
            name=CONTROL_PLANES if is_control_plane else name or WORKERS,
            machines=tuple(machine for machine, _ in machines),
            machine_class=machine_class,
            restores=self.restores(fields, is_control_plane=is_control_plane),
        )

    def strategy(self, fields: go_yaml.YamlFields, key: str) -> None:
        section = fields.child(key, {"type", "rolling"})
        if section is None:
            return
        if section.text("type") not in {"", "Rolling", "Unset"}:
            section.fail(
                "omni-value-wrong",
                f"there is no strategy {section.text('type')}",
                "type",
                hint="Write Rolling or Unset.",
            )
        rolling = section.child("rolling", {"maxParallelism"})
        if rolling and not re.fullmatch(r"\d{0,9}", rolling.text("maxParallelism")):
            rolling.fail("omni-value-wrong", "maxParallelism is no number", "maxParallelism", hint="Write 1.")

    def machine_class(self, fields: go_yaml.YamlFields) -> MachineClass | None:
        section = fields.child("machineClass", {"name", "size"})
        if section is None:
            return None
        size = section.text("size")
        if not section.text("name"):
            section.fail(
                "omni-field-missing", "the machineClass has no name", hint="Write the name that it has in Omni."
            )
        if size not in _UNLIMITED and not re.fullmatch(r"\d{1,9}", size):
            section.fail(
                "omni-value-wrong", f"{size!r} is no number of machines", "size", hint="Write 3, or unlimited."
            )
        return MachineClass(section.text("name"), None if size in _UNLIMITED else int(size))

    def restores(self, fields: go_yaml.YamlFields, *, is_control_plane: bool) -> str:
        section = fields.child("bootstrapSpec", {"clusterUUID", "snapshot"})
        if section is None:
            return ""
        if not is_control_plane:
            fields.fail(
                "omni-field-not-allowed",
                "workers have no bootstrapSpec",
                "bootstrapSpec",
                hint="Move it to the ControlPlane.",
            )
        for key in ("clusterUUID", "snapshot"):
            if not section.text(key):
                section.fail(
                    "omni-field-missing", f"bootstrapSpec has no {key}", hint="omnictl get etcdbackups shows both."
                )
        return section.text("snapshot")

    def machine(self, fields: go_yaml.YamlFields) -> OmniMachine:
        name = fields.text("name")
        self.check_id(fields, name, fields.line_of("name"))
        install = fields.child("install", {"disk"})
        return OmniMachine(
            **self.marks(fields),
            name=name,
            locked=fields.flag("locked"),
            install_disk=install.text("disk") if install else "",
        )

    def check_id(self, fields: go_yaml.YamlFields, name: str, line: int) -> None:
        try:
            wanted = str(uuid.UUID(name))
        except ValueError:
            hint = "Write its UUID, as omnictl get machines shows it."
            fields.fail("omni-machine-id-wrong", f"{name!r} is not the id of a machine", line=line, hint=hint)
        if name != wanted:  # omnictl lets it pass, and no machine ever has it
            fields.fail(
                "omni-machine-id-wrong",
                f"no machine has the id {name}",
                line=line,
                hint=f"Write it as Omni does: {wanted}.",
            )

    def patch(self, fields: go_yaml.YamlFields) -> OmniPatch:
        file, inline = fields.text("file"), fields.node("inline")
        self.one_of(fields, file, inline, "a patch")
        name, id_override = fields.text("name"), fields.text("idOverride")
        if inline is not None and not name and not id_override:
            fields.fail("omni-field-missing", "an inline patch has no name", hint="Give it a name, or an idOverride.")
        content = self.content(fields, file, inline)
        omni_template.check_patch(content)
        return OmniPatch(
            name=name or file, id_override=id_override, file=file, data=content.data, path=content.path,
            line=content.line, **self.descriptors(fields),
        )  # fmt: skip

    def manifest(self, fields: go_yaml.YamlFields) -> OmniManifest:
        file, inline = fields.text("file"), fields.node("inline")
        self.one_of(fields, file, inline, "a manifest")
        name = fields.text("name") or file
        if not name:
            fields.fail("omni-field-missing", "a manifest has no name", hint="Give it a name.")
        mode = fields.text("mode")
        if mode not in {"one-time", "full"}:
            hint = "Write one-time for what GitOps takes over, full for what Omni is to keep as it is."
            if not mode:
                fields.fail("omni-field-missing", f"manifest {name} has no mode", "mode", hint=hint)
            fields.fail("omni-value-wrong", f"there is no mode {mode}", "mode", hint=hint)
        objects = omni_template.manifest_objects(self.content(fields, file, inline))
        return OmniManifest(
            name=name, mode="full" if mode == "full" else "one-time", objects=objects, file=file,
            line=fields.line, **self.descriptors(fields),
        )  # fmt: skip

    def one_of(self, fields: go_yaml.YamlFields, file: str, inline: yaml.Node | None, what: str) -> None:
        if file and inline is not None:
            fields.fail(
                "omni-field-not-allowed", f"{what} is a file or inline, not both", "inline", hint="Keep one of them."
            )
        if not file and inline is None:
            fields.fail("omni-field-missing", f"{what} is empty", hint="Give it a file, or write it below inline.")

    def content(self, fields: go_yaml.YamlFields, file: str, inline: yaml.Node | None) -> omni_template.OmniContent:
        if inline is not None:
            return omni_template.from_node(inline, self.path, line=fields.line)
        text, shown = self.files(file, fields.line_of("file"))
        return omni_template.from_text(text, shown)


def _check(template: OmniTemplate) -> Iterator[OmniTemplateError]:
    """What only the whole template shows."""

    def wrong(code: str, message: str, line: int, hint: str) -> OmniTemplateError:
        return OmniTemplateError(code, message, path=template.path, line=line, hint=hint)

    planes = [each for each in template.sets if each.role == "control-plane"]
    if len(planes) != 1:
        line = planes[1].line if planes else 0
        yield wrong(
            "omni-control-plane-count",
            f"{len(planes)} control planes in one template",
            line,
            "Write one document of kind ControlPlane.",
        )
    used: dict[str, MachineSet] = {}
    names: set[str] = set()
    for each in template.sets:
        if each.name in names:
            yield wrong(
                "omni-name-twice",
                f"two sets of workers are called {each.name}",
                each.line,
                "Give each a name of its own.",
            )
        names.add(each.name)
        if each.machine_class and template.cluster.kernel_args is not None:
            yield wrong(
                "omni-field-not-allowed",
                "a cluster with a machineClass has no kernelArgs",
                template.cluster.line,
                "Leave them out.",
            )
        for machine in each.machines:
            if machine in used:
                message = f"machine {machine} is in {used[machine].name} and in {each.name}"
                yield wrong("omni-machine-in-two-sets", message, each.line, "Keep one of them.")
            used[machine] = each
    for special in template.machines:
        if special.name not in used:
            hint = "Add it to the machines of the ControlPlane or of Workers."
            yield wrong("omni-machine-in-no-set", f"machine {special.name} is in no set", special.line, hint)
        elif special.locked and used[special.name].role == "control-plane":
            message = f"machine {special.name} is locked and a control plane"
            yield wrong("omni-control-plane-locked", message, special.line, "Only workers can be locked.")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", version)[:2])
