"""The config patches of an Omni template: the resources that sync would send, and the order in which Omni merges them.

Ids. omnictl makes them of a weight, where the patch belongs, and its name: ``200-cluster-NAME-PATCH`` for the cluster,
``400-CLUSTER-SET-PATCH`` for a set of machines, ``400-cm-UUID-PATCH`` for one machine. The weight goes up by one from
patch to patch, those with an ``idOverride`` counted. ``install.disk`` is the patch ``000-cm-UUID-install-disk``.
(siderolabs/omni: client/pkg/template/internal/models, client/pkg/constants)

Order. For every machine the server goes over the patches of the cluster, which its cache keeps sorted by id as bytes,
and takes those of the cluster, then those of the machine's set, then those of the machine. So where a patch belongs
counts first and its id second: ``idOverride: 900-x`` of a cluster is merged before ``400-…`` of a set, and weights say
nothing across the three. As texts go, ``1000-x`` comes before ``200-x``.
(siderolabs/omni: internal/backend/runtime/omni/controllers/omni/internal/configpatch and runtime.go;
cosi-project/runtime: pkg/controller/runtime/internal/cache)

Each is merged into what came before it as Talos's strategic merge patch: lists grow, except where Talos says otherwise.
After all of these come patches that somebody made in Omni for a machine, whatever its cluster; a template cannot hold
any. Omni's own ones (``950-…``, among the cluster's) and the join configuration, the very last, are not here.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from firstlight import errors
from firstlight.repo.omni import go_yaml, omni_template

INSTALL_DISK_WEIGHT = 0
CLUSTER_WEIGHT = 200
MACHINE_SET_WEIGHT = 400
MACHINE_WEIGHT = 400

Scope = Literal["cluster", "machine-set", "machine"]
_ORDER: dict[Scope, int] = {"cluster": 0, "machine-set": 1, "machine": 2}


@dataclasses.dataclass(frozen=True)
class ConfigPatch:
    """A resource ``ConfigPatches.omni.sidero.dev``."""

    id: str
    weight: int | None
    """None if the id is the user's own."""
    scope: Scope
    target: str
    """The cluster, the machine set or the machine that it belongs to."""
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    data: str = dataclasses.field(repr=False)
    path: str
    """Where errors in it are to be looked for."""
    line: int
    is_file: bool = False
    """Whether it has a file of its own."""


def template_patches(template: omni_template.OmniTemplate) -> tuple[ConfigPatch, ...]:
    """Every patch, in the order in which omnictl renders them.

    Raises:
        errors.ConfigError: Two have the same id.
    """
    found = tuple(_all(template))
    seen: dict[str, ConfigPatch] = {}
    for patch in found:
        if first := seen.get(patch.id):
            raise errors.ConfigError(
                f"two patches have the id {patch.id}",
                path=patch.path,
                line=patch.line,
                hint=f"Give one another name or idOverride; the first is at {first.path}:{first.line}.",
            )
        seen[patch.id] = patch
    return found


def patches_for_machine(patches: Iterable[ConfigPatch], *, machine_set: str, machine: str) -> tuple[ConfigPatch, ...]:
    """Those of one machine, in the order in which Omni's server merges them.

    Args:
        patches: All of the template.
        machine_set: The id of the machine's set.
        machine: The machine's UUID.
    """
    targets = {"machine-set": machine_set, "machine": machine}
    own = (patch for patch in patches if targets.get(patch.scope, patch.target) == patch.target)
    return tuple(sorted(own, key=lambda patch: (_ORDER[patch.scope], patch.id.encode())))


def machine_set_id(template: omni_template.OmniTemplate, machine_set: omni_template.MachineSet) -> str:
    """The id of a set of machines in Omni."""
    return f"{template.cluster.name}-{machine_set.name}"


def _all(template: omni_template.OmniTemplate) -> Iterator[ConfigPatch]:
    cluster = template.cluster.name
    for document in template.documents:
        match document:
            case omni_template.OmniCluster():
                prefix = f"cluster-{cluster}"
                yield from _list(document.patches, "cluster", cluster, prefix, CLUSTER_WEIGHT, cluster)
            case omni_template.MachineSet():
                target = machine_set_id(template, document)
                yield from _list(document.patches, "machine-set", target, target, MACHINE_SET_WEIGHT, cluster)
            case omni_template.OmniMachine():
                target, prefix = document.name, f"cm-{document.name}"
                if document.install_disk:
                    yield _install_disk(template, document, prefix)
                yield from _list(document.patches, "machine", target, prefix, MACHINE_WEIGHT, cluster)


def _list(
    patches: Iterable[omni_template.OmniPatch], scope: Scope, target: str, prefix: str, base: int, cluster: str
) -> Iterator[ConfigPatch]:
    for weight, patch in enumerate(patches, base):
        yield ConfigPatch(
            id=patch.id_override or f"{weight:03d}-{prefix}-{patch.name}",
            weight=None if patch.id_override else weight,
            scope=scope,
            target=target,
            labels={**_labels(scope, target, cluster), **patch.labels},
            annotations={"name": patch.name, **patch.annotations},
            data=patch.data,
            path=patch.path,
            line=patch.line,
            is_file=bool(patch.file),
        )


def _install_disk(template: omni_template.OmniTemplate, machine: omni_template.OmniMachine, prefix: str) -> ConfigPatch:
    labels = _labels("machine", machine.name, template.cluster.name)
    return ConfigPatch(
        id=f"{INSTALL_DISK_WEIGHT:03d}-{prefix}-install-disk",
        weight=INSTALL_DISK_WEIGHT,
        scope="machine",
        target=machine.name,
        labels={**labels, f"{omni_template.RESERVED}system-patch": ""},
        annotations={"name": "install-disk"},
        data=go_yaml.text({"machine": {"install": {"disk": machine.install_disk}}}),
        path=template.path,
        line=machine.line,
    )


def _labels(scope: Scope, target: str, cluster: str) -> dict[str, str]:
    labels = {f"{omni_template.RESERVED}cluster": cluster}
    if scope != "cluster":
        kind = "machine-set" if scope == "machine-set" else "cluster-machine"
        labels[f"{omni_template.RESERVED}{kind}"] = target
    return labels
