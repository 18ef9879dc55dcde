"""What the drafts of one cluster are made on: the repo, what is declared of the cluster, and what stands in the way."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import yaml_reader, yaml_writer
from firstlight.document.yaml_reader import YamlDialect
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.machine_config import DraftPatch, MachineDraft
from firstlight.model.place import Place
from firstlight.model.secret import Secret
from firstlight.render.machines import document_form, document_groups
from firstlight.repo.declaration import declaration_form
from firstlight.repo.declaration.declaration_file import Declaration
from firstlight.repo.talos import config_files, document_kinds
from firstlight.repo.work_tree import WorkTree


@dataclasses.dataclass
class DraftSheet:
    """Collects diagnostics while drafts are made."""

    tree: WorkTree
    cluster: Cluster
    own: declaration_form.ClusterSection
    """What firstlight.yaml says of the cluster; empty where it says nothing."""
    declaration: Declaration | None
    inline: Mapping[str, Secret] = dataclasses.field(repr=False)
    diagnostics: list[Diagnostic] = dataclasses.field(default_factory=list)

    def refuse(self, code: str, message: str, *, at: Place, fix: str = "") -> None:
        """Say why a draft would not be what the repo means."""
        self.diagnostics.append(Diagnostic.error(code, message, at=at, fix=fix))

    @property
    def endpoint(self) -> str:
        """The URL of the Kubernetes API: what is declared, else the virtual address or the first control plane."""
        network = self.cluster.network
        if network.endpoint:
            return network.endpoint
        planes = [each.address for each in self.cluster.machines if each.role is MachineRole.CONTROL_PLANE]
        host = network.vip or next((each for each in planes if each), "")
        return f"https://{f'[{host}]' if ':' in host else host}:6443" if host else ""

    def draft(self, machine: Machine, **facts: Any) -> MachineDraft:
        """A draft with what all of a cluster share."""
        known: dict[str, Any] = {
            "cluster": self.cluster.name,
            "endpoint": self.endpoint,
            "talos": self.cluster.talos,
            "contract": self.cluster.talos_contract,
            "kubernetes": self.cluster.kubernetes,
            "dns_domain": self.cluster.network.dns_domain,
        }
        inline = self.inline if machine.role is MachineRole.CONTROL_PLANE else {}
        return MachineDraft(machine=machine, inline=inline, **{**known, **facts})

    def declared_patches(self, machine: Machine, mine: Sequence[str] = ()) -> list[DraftPatch]:
        """The files that firstlight.yaml names: for all, for the role, for the machine."""
        is_plane = machine.role is MachineRole.CONTROL_PLANE
        role, group = ("controlPlane", self.own.control_plane) if is_plane else ("worker", self.own.worker)
        found: list[DraftPatch] = []
        for steps, paths in (((), self.own.patches), ((role,), group.patches), (("machines",), mine)):
            for path in paths:
                at = self._place(*steps) if steps != ("machines",) else machine.place
                found += self.file(path, at)
        return found

    @property
    def has_declared_patches(self) -> bool:
        """Whether firstlight.yaml says which patches there are."""
        return bool(self.own.patches or self.own.control_plane.patches or self.own.worker.patches)

    def file(self, path: str, named: Place, *, variables: Mapping[str, str] | None = None) -> list[DraftPatch]:
        """The patches of a file, in their order."""
        clean = path.strip().removeprefix("./")
        patches, diagnostics = read_patches(self.tree, clean, named=named, variables=variables)
        self.diagnostics += diagnostics
        return patches

    def _place(self, *steps: str) -> Place:
        if self.declaration is None:
            return self.cluster.place
        return self.declaration.place("clusters", self.cluster.name, *steps, "patches")


def patch(place: Place, *documents: Mapping[str, Any], role: MachineRole | None = None) -> DraftPatch:
    """A patch of values that were made here: those without a kind are one document, of which Talos has only one.

    With a role it is made in both forms, since only the machines may tell in which one their configs are generated.
    """
    main: dict[str, Any] = {}
    for each in documents:
        if "kind" not in each:
            _merge(main, each)
    others = [each for each in documents if "kind" in each]
    made = DraftPatch(place=place, text=Secret(yaml_writer.dump_all([*([main] if main else []), *others])))
    if role is None:
        return made
    form = document_form.in_documents(main, document_groups.GROUPS, is_whole=False, role=role)
    new = [*([form.rest] if form.rest else []), *form.documents, *others]
    return dataclasses.replace(made, documents=Secret(yaml_writer.dump_all(new)))


def _merge(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    for key, value in other.items():
        if isinstance(value, Mapping):
            _merge(into.setdefault(key, {}), value)
        elif isinstance(value, list):
            into[key] = [*into.get(key, ()), *value]
        else:
            into[key] = value


def hostname(name: str, talos: str) -> Mapping[str, Any]:
    """What gives a machine its name: a document of its own since Talos 1.12, whose generated one must be taken back."""
    if is_before(talos, (1, 12)):
        return {"machine": {"network": {"hostname": name}}}
    return {"apiVersion": "v1alpha1", "kind": "HostnameConfig", "hostname": name, "auto": "off"}


def is_before(version: str, other: tuple[int, int]) -> bool:
    """Whether a version of Talos is older; one that is not declared is talosctl's own."""
    parts = version.removeprefix("v").split(".")
    if len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return False
    return (int(parts[0]), int(parts[1])) < other


# Files with patches: read as they are, decrypted at the last moment, JSON patches rewritten as what they mean.


_NOT_PATCHES = {
    document_kinds.SECRETS: "the secrets of a cluster",
    document_kinds.SCHEMATIC: "a schematic of the image factory",
}

ReadPatches = tuple[list[DraftPatch], list[Diagnostic]]


def read_patches(tree: WorkTree, path: str, *, named: Place, variables: Mapping[str, str] | None = None) -> ReadPatches:
    """The patches of a file.

    Args:
        tree: The repo.
        path: The file.
        named: Where it is named, for what is wrong with that.
        variables: What ``${NAME}`` stands for; without, it is a text like any other.
    """
    if not tree.is_file(path):
        return [], [
            Diagnostic.error(
                "talos-file-missing", f"there is no file {path}", at=named, fix="Write a path from the top of the repo."
            )
        ]
    if config_files.is_template(path):
        message = "a template is not rendered by firstlight: only a script knows what it is given"
        return [], [
            Diagnostic.error(
                "talos-template-not-rendered", message, at=Place(path), fix="Write what it comes to into a patch."
            )
        ]
    text = tree.text(path) or ""
    contents = yaml_reader.read_text(text, path, dialect=YamlDialect.TALOS)
    if any(document_kinds.is_encrypted(each.value) for each in contents.documents):
        return [DraftPatch(place=Place(path), reference=f"sops:{path}")], []
    return text_patches(text, Place(path), variables=variables)


def text_patches(text: str, place: Place, *, variables: Mapping[str, str] | None = None) -> ReadPatches:
    """The patches of a text that stands at a place."""
    diagnostics: list[Diagnostic] = []
    if variables is not None and "$" in text:
        text, unknowns = config_files.substitute(text, variables)
        for each in unknowns:
            at = Place(place.path, each.line if place.line == 0 else place.line)
            diagnostics.append(
                Diagnostic.error(
                    "talos-variable-unknown", f"nothing in the repo says what {each.text} is", at=at, fix=VARIABLES
                )
            )
    contents = yaml_reader.read_text(text, place.path, dialect=YamlDialect.TALOS)
    diagnostics += [each for each in contents.diagnostics if each.severity is Severity.ERROR]
    patches: list[DraftPatch] = []
    as_written = True
    for document in contents.documents:
        at = document.place() if place.line == 0 else place
        if what := _NOT_PATCHES.get(document_kinds.of(document.value)):
            diagnostics.append(
                Diagnostic.error(
                    "talos-patch-wrong-kind", f"this is {what}, and no patch", at=at, fix="Take it out of the patches."
                )
            )
        if isinstance(document.value, list):
            as_written = False
            value, problems = as_merge_patch(document.value)
            diagnostics += [
                Diagnostic.error("talos-json-patch-unsupported", each, at=at, fix=JSON_PATCH_HINT) for each in problems
            ]
        else:
            value = document.value
        patches.append(DraftPatch(place=at, text=Secret(yaml_writer.dump(value))))
    if as_written and patches:
        # One patch, byte for byte: comments and all, and documents in their order.
        patches = [DraftPatch(place=patches[0].place, text=Secret(text))]
    return patches, diagnostics


VARIABLES = "Write it into talenv.yaml beside the file; one that is encrypted is not read here."


# JSON patches rewritten as strategic merge patches, which alone fit configs of several documents.
#
# Only where both mean the same: a value at a key, an entry at the end of a list, a key that goes. The rest is refused.


JSON_PATCH_HINT = "Write it as a strategic merge patch: the keys as they stand in a machine config."


def as_merge_patch(operations: Sequence[Any]) -> tuple[dict[str, Any], list[str]]:
    """The patch, and what cannot be said in it."""
    result: dict[str, Any] = {}
    problems: list[str] = []
    for operation in operations:
        problem = _add(result, operation)
        if problem:
            problems.append(problem)
    return result, problems


def _add(result: dict[str, Any], operation: Any) -> str:
    if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
        return "this is no operation of a JSON patch"
    op, path, value = str(operation.get("op")), operation["path"], operation.get("value")
    steps = [each.replace("~1", "/").replace("~0", "~") for each in path.split("/")[1:]]
    *inner, last = steps or [""]
    if op not in {"add", "replace", "remove"} or not steps:
        return f"the JSON patch operation {op} {path} has no counterpart in a strategic merge patch"
    if any(each == "-" or each.isdecimal() for each in inner) or last.isdecimal():
        return f"{op} {path} means an entry of a list by its number, which a strategic merge patch cannot"
    if op == "remove":
        return _put(result, inner, last, {"$patch": "delete"}, path)
    if last == "-":
        return _append(result, inner, value, path) if op == "add" else f"replace {path} means no entry of the list"
    if op == "replace" and isinstance(value, (dict, list)):
        return f"replace {path} with a list or a mapping: a strategic merge patch adds to what is there"
    return _put(result, inner, last, value, path)


def _put(result: dict[str, Any], inner: Sequence[str], last: str, value: Any, path: str) -> str:
    parent = _reach(result, inner)
    if parent is None or isinstance(parent.get(last), (dict, list)):
        return f"{path} is said twice, and the second does not fit the first"
    parent[last] = value
    return ""


def _append(result: dict[str, Any], inner: Sequence[str], value: Any, path: str) -> str:
    *before, name = inner or [""]
    parent = _reach(result, before)
    listed = parent.setdefault(name, []) if parent is not None else None
    if not isinstance(listed, list):
        return f"{path} is said twice, and the second does not fit the first"
    listed.append(value)
    return ""


def _reach(result: dict[str, Any], steps: Sequence[str]) -> dict[str, Any] | None:
    here = result
    for step in steps:
        child = here.setdefault(step, {})
        if not isinstance(child, dict):
            return None
        here = child
    return here
