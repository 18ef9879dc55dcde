"""What the drafts of one cluster are made on: the repo, what is declared of the cluster, and what stands in the way."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import writing
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.machine_draft import MachineDraft, Patch
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.model.secret import Secret
from firstlight.render.machines import patch_files
from firstlight.repo.declaration import form
from firstlight.repo.declaration.reading import Declaration
from firstlight.repo.work_tree import WorkTree


@dataclasses.dataclass
class Sheet:
    """Collects remarks while drafts are made."""

    tree: WorkTree
    cluster: Cluster
    own: form.Cluster
    """What firstlight.yaml says of the cluster; empty where it says nothing."""
    declaration: Declaration | None
    inline: Mapping[str, Secret] = dataclasses.field(repr=False)
    remarks: list[Remark] = dataclasses.field(default_factory=list)

    def refuse(self, place: Place, message: str, hint: str = "") -> None:
        """Say why a draft would not be what the repo means."""
        self.remarks.append(Remark(place, Grade.ERROR, message, hint))

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
            "kubernetes": self.cluster.kubernetes,
            "dns_domain": self.cluster.network.dns_domain,
        }
        inline = self.inline if machine.role is MachineRole.CONTROL_PLANE else {}
        return MachineDraft(machine=machine, inline=inline, **{**known, **facts})

    def declared_patches(self, machine: Machine, mine: Sequence[str] = ()) -> list[Patch]:
        """The files that firstlight.yaml names: for all, for the role, for the machine."""
        is_plane = machine.role is MachineRole.CONTROL_PLANE
        role, group = ("controlPlane", self.own.control_plane) if is_plane else ("worker", self.own.worker)
        found: list[Patch] = []
        for steps, paths in (((), self.own.patches), ((role,), group.patches), (("machines",), mine)):
            for path in paths:
                at = self._place(*steps) if steps != ("machines",) else machine.place
                found += self.file(path, at)
        return found

    @property
    def has_declared_patches(self) -> bool:
        """Whether firstlight.yaml says which patches there are."""
        return bool(self.own.patches or self.own.control_plane.patches or self.own.worker.patches)

    def file(self, path: str, named: Place, *, variables: Mapping[str, str] | None = None) -> list[Patch]:
        """The patches of a file, in their order."""
        clean = path.strip().removeprefix("./")
        patches, remarks = patch_files.read(self.tree, clean, named=named, variables=variables)
        self.remarks += remarks
        return patches

    def _place(self, *steps: str) -> Place:
        if self.declaration is None:
            return self.cluster.place
        return self.declaration.place("clusters", self.cluster.name, *steps, "patches")


def patch(place: Place, *documents: Mapping[str, Any]) -> Patch:
    """A patch of values that were made here: those without a kind are one document, of which Talos has only one."""
    main: dict[str, Any] = {}
    for each in documents:
        if "kind" not in each:
            _merge(main, each)
    others = [each for each in documents if "kind" in each]
    return Patch(place=place, text=Secret(writing.dump_all([*([main] if main else []), *others])))


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
