"""Names that objects have of each other, put right after those objects were renamed or moved."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.source import ChartSource
from firstlight.repo.kustomize import config_generators, field_specs, kustomization_file
from firstlight.repo.kustomize.accumulate import Accumulated, Accumulator, Elsewhere
from firstlight.repo.kustomize.field_specs import FieldSpec, FieldSpecs
from firstlight.repo.kustomize.resources import Gvk, KustomizationError, KustomizeResource
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree

_WITH_NAMESPACES = {
    "RoleBinding",
    "ClusterRoleBinding",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
}
"""Kinds that name others together with their namespaces, so that they change when those only move."""


class References:
    """Which objects had which names."""

    def __init__(self, resources: Sequence[KustomizeResource]) -> None:
        self._by_name: dict[str, list[KustomizeResource]] = {}
        self._has_renamed = any(each.name != name for each in resources for _, _, name in each.previous)
        for resource in resources:
            for name in dict.fromkeys(name for _, _, name in resource.previous):
                self._by_name.setdefault(name, []).append(resource)

    def fixed(self, resource: KustomizeResource, specs: FieldSpecs) -> KustomizeResource:
        """An object with the names of others as they are now.

        Raises:
            Problem: A name could mean several objects.
        """
        if not self._has_renamed and specs is field_specs.DEFAULT and resource.gvk.kind not in _WITH_NAMESPACES:
            return resource
        value: Any = resource.value
        for target, each in field_specs.references_of(resource.original_id.gvk, specs):
            value = field_specs.change_field(value, each.path, self._edit(resource, target, each), create=None)
        return resource.changed(value)

    def _edit(self, referrer: KustomizeResource, target: Gvk, spec: FieldSpec) -> Callable[[Any], Any]:
        def edit(value: Any) -> Any:
            if isinstance(value, list):
                items = [edit(each) for each in value]
                return value if all(new is old for new, old in zip(items, value, strict=True)) else items
            if isinstance(value, dict):
                return self._mapping(value, referrer, target, spec)
            if not isinstance(value, str) or value not in self._by_name:
                return value
            found = self._select(value, self._by_name[value], referrer, target, spec, by=lambda each: each.name)
            return value if found is None or found.name == value else found.name

        return edit

    def _mapping(
        self, value: dict[str, Any], referrer: KustomizeResource, target: Gvk, spec: FieldSpec
    ) -> dict[str, Any]:
        """A reference with a name and perhaps a namespace, such as a subject of a binding."""
        name = value.get("name")
        if not isinstance(name, str) or name not in self._by_name:
            return value
        candidates = self._by_name[name]
        if "namespace" in value:
            first = [each for each in candidates if each.original_id.namespace == value["namespace"]]
            candidates = first or [each for each in candidates if each.id.namespace == value["namespace"]]
        found = self._select(name, candidates, referrer, target, spec, by=lambda each: f"{each.namespace}/{each.name}")
        if found is None or (found.name == name and not found.namespace):
            return value
        return {**value, "name": found.name} | ({"namespace": found.namespace} if found.namespace else {})

    def _select(
        self,
        name: str,
        candidates: Sequence[KustomizeResource],
        referrer: KustomizeResource,
        target: Gvk,
        spec: FieldSpec,
        *,
        by: Callable[[KustomizeResource], str],
    ) -> KustomizeResource | None:
        wanted = _role(referrer) if spec.path[-2:] == ("roleRef", "name") else None
        found = [
            each
            for each in candidates
            if any(i.name == name for i in each.previous_ids)
            and any(i.gvk.is_selected(target) for i in each.previous_ids)
            and (wanted is None or any(i.gvk.is_selected(wanted) for i in each.previous_ids))
            and _can_name(referrer, each)
        ]
        if len(found) > 1:
            found = [each for each in found if _is_beside(each, referrer, empty=True)]
        if len(found) > 1:
            found = [each for each in found if _is_beside(each, referrer, empty=False)]
        if len({by(each) for each in found}) > 1:
            raise KustomizationError(
                "kustomize-reference-ambiguous",
                f"{referrer.gvk.kind} {referrer.name} names {target.kind} {name}, of which there are several",
            )
        return found[0] if found else None


def _role(referrer: KustomizeResource) -> Gvk | None:
    role = referrer.value.get("roleRef")
    if not isinstance(role, dict) or "apiGroup" not in role or "kind" not in role:
        return None
    return Gvk(str(role["apiGroup"]), "", str(role["kind"]))


def _can_name(referrer: KustomizeResource, other: KustomizeResource) -> bool:
    """Whether an object may name another at all: one of its namespace, or one that is in none."""
    if referrer.gvk.is_cluster_scoped or other.gvk.is_cluster_scoped:
        return True
    if referrer.id.namespace == other.id.namespace:
        return True
    subjects = referrer.value.get("subjects")
    return (
        referrer.gvk.kind == "RoleBinding"
        and other.gvk.kind == "ServiceAccount"
        and isinstance(subjects, list)
        and any(
            isinstance(each, dict) and each.get("kind") == "ServiceAccount" and each.get("namespace") == other.namespace
            for each in subjects
        )
    )


def _is_beside(one: KustomizeResource, other: KustomizeResource, *, empty: bool) -> bool:
    """Whether two objects went through the same renaming; with ``empty``, none at all is the same as any."""
    return all(
        (empty and (not a or not b)) or _same_ending(a, b)
        for a, b in ((one.prefixes, other.prefixes), (one.suffixes, other.suffixes))
    )


def _same_ending(one: Sequence[str], other: Sequence[str]) -> bool:
    shorter = min(len(one), len(other))
    return list(one)[len(one) - shorter :] == list(other)[len(other) - shorter :]


# What ``kustomize build`` would yield, told by reading alone.


_LOCAL = "config.kubernetes.io/local-config"


@dataclasses.dataclass(frozen=True)
class KustomizeBuild:
    """The outcome of a build."""

    manifests: tuple[Manifest, ...] = dataclasses.field(default=(), repr=False)
    charts: tuple[ChartSource, ...] = ()
    """Charts that kustomize would have Helm inflate."""
    remotes: tuple[Elsewhere, ...] = ()
    """Resources that are not in the repo; what they bring is not among the manifests."""
    diagnostics: tuple[Diagnostic, ...] = ()
    files: frozenset[str] = frozenset()
    """Every file that has a part in it."""


@dataclasses.dataclass
class _Known:
    """What was built of a tree: bases are shared by clusters, and asked for by several readers."""

    accumulator: Accumulator
    builds: dict[tuple[str, bool, bool], KustomizeBuild] = dataclasses.field(default_factory=dict)


_KNOWN = "_builds"
"""Kept by the tree itself: it is held by what was built of it, so that no table of ours would ever let go of it."""


def build(
    tree: WorkTree, path: str, *, over: kustomization_file.Overlay | None = None, generate: bool = False
) -> KustomizeBuild:
    """Build a directory.

    Args:
        tree: The repo.
        path: The directory, from the repo's root.
        over: What an engine adds to its kustomization.
        generate: Take all YAML files where there is no kustomization, as Flux does; else that is an error.
    """
    known: _Known | None = tree.__dict__.get(_KNOWN)
    if known is None:
        known = tree.__dict__[_KNOWN] = _Known(Accumulator(tree))
    key = (path, over is not None, generate)
    if over is not None and over.fields:
        return _built(known.accumulator, path, over, generate=generate)
    if key not in known.builds:
        known.builds[key] = _built(known.accumulator, path, over, generate=generate)
    return known.builds[key]


def _built(
    accumulator: Accumulator, path: str, over: kustomization_file.Overlay | None, *, generate: bool
) -> KustomizeBuild:
    tree = accumulator.tree
    real = tree.real(path)
    found = _accumulated(accumulator, real, over, generate=generate)
    if found is None:
        missing = (
            Diagnostic.error("kustomization-file-missing", "the directory has no kustomization.yaml", at=Place(path))
            if tree.is_dir(path)
            else Diagnostic.error("kustomize-path-missing", "the directory does not exist", at=Place(path))
        )
        return KustomizeBuild(diagnostics=(missing,))
    manifests, diagnostics = _finished(found)
    said = (*found.diagnostics, *diagnostics)
    if over is not None:
        said = kustomization_file.forgiven(said, kustomization_file.file_of(tree, real))
    return KustomizeBuild(manifests, found.charts, found.remotes, said, found.files)


def _accumulated(
    accumulator: Accumulator, path: str, over: kustomization_file.Overlay | None, *, generate: bool
) -> Accumulated | None:
    if over is None or not over.fields:
        found = accumulator.directory(path)
        if found is not None or not generate or not accumulator.tree.is_dir(path):
            return found
    file = accumulator.file(path)
    if file is None:
        if not generate or not accumulator.tree.is_dir(path):
            return None
        file = kustomization_file.generated_kustomization(accumulator.tree, path)
    if over is not None:
        file = kustomization_file.laid_over(file, over)
    return accumulator.kustomization(file, Accumulated(), ())


def _finished(found: Accumulated) -> tuple[tuple[Manifest, ...], list[Diagnostic]]:
    """What is done once, at the top: hashes, names that changed, and objects that are only for local use."""
    diagnostics: list[Diagnostic] = []
    resources = [config_generators.hashed(each) if each.is_hashed else each for each in found.resources]
    if any(each.previous for each in resources):
        references = References(resources)
        fixed: list[KustomizeResource] = []
        for each in resources:
            try:
                fixed.append(references.fixed(each, found.specs))
            except KustomizationError as error:
                fixed.append(each)
                diagnostics.append(error.at(each.source.place))
        resources = fixed
    return tuple(_manifest(each) for each in resources if not _is_local(each)), diagnostics


def _is_local(resource: KustomizeResource) -> bool:
    annotations = resource.metadata.get("annotations")
    return isinstance(annotations, dict) and str(annotations.get(_LOCAL, "false")) != "false"


def _manifest(resource: KustomizeResource) -> Manifest:
    source = resource.source
    return source if resource.value is source.value else dataclasses.replace(source, value=resource.value)
