"""What ``kustomize build`` would yield, told by reading alone."""

import dataclasses

from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.model.source import Chart
from firstlight.repo.kustomize import generated, generators, kustomization, overlay
from firstlight.repo.kustomize.accumulate import Accumulated, Accumulator, Elsewhere
from firstlight.repo.kustomize.problem import Problem
from firstlight.repo.kustomize.references import References
from firstlight.repo.kustomize.resource import Resource
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree

_LOCAL = "config.kubernetes.io/local-config"


@dataclasses.dataclass(frozen=True)
class Build:
    """The outcome of a build."""

    manifests: tuple[Manifest, ...] = dataclasses.field(default=(), repr=False)
    charts: tuple[Chart, ...] = ()
    """Charts that kustomize would have Helm inflate."""
    remotes: tuple[Elsewhere, ...] = ()
    """Resources that are not in the repo; what they bring is not among the manifests."""
    remarks: tuple[Remark, ...] = ()
    files: frozenset[str] = frozenset()
    """Every file that has a part in it."""


@dataclasses.dataclass
class _Known:
    """What was built of a tree: bases are shared by clusters, and asked for by several readers."""

    accumulator: Accumulator
    builds: dict[tuple[str, bool, bool], Build] = dataclasses.field(default_factory=dict)


_KNOWN = "_builds"
"""Kept by the tree itself: it is held by what was built of it, so that no table of ours would ever let go of it."""


def build(tree: WorkTree, path: str, *, over: overlay.Overlay | None = None, generate: bool = False) -> Build:
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


def _built(accumulator: Accumulator, path: str, over: overlay.Overlay | None, *, generate: bool) -> Build:
    tree = accumulator.tree
    real = tree.real(path)
    found = _accumulated(accumulator, real, over, generate=generate)
    if found is None:
        what = "has no kustomization.yaml" if tree.is_dir(path) else "does not exist"
        return Build(remarks=(Remark(Place(path), Grade.ERROR, f"the directory {what}"),))
    manifests, remarks = _finished(found)
    said = (*found.remarks, *remarks)
    if over is not None:
        said = kustomization.forgiven(said, kustomization.file_of(tree, real))
    return Build(manifests, found.charts, found.remotes, said, found.files)


def _accumulated(
    accumulator: Accumulator, path: str, over: overlay.Overlay | None, *, generate: bool
) -> Accumulated | None:
    if over is None or not over.fields:
        found = accumulator.directory(path)
        if found is not None or not generate or not accumulator.tree.is_dir(path):
            return found
    file = accumulator.file(path)
    if file is None:
        if not generate or not accumulator.tree.is_dir(path):
            return None
        file = generated.generate(accumulator.tree, path)
    if over is not None:
        file = overlay.laid_over(file, over)
    return accumulator.kustomization(file, Accumulated(), ())


def _finished(found: Accumulated) -> tuple[tuple[Manifest, ...], list[Remark]]:
    """What is done once, at the top: hashes, names that changed, and objects that are only for local use."""
    remarks: list[Remark] = []
    resources = [generators.hashed(each) if each.is_hashed else each for each in found.resources]
    if any(each.previous for each in resources):
        references = References(resources)
        fixed: list[Resource] = []
        for each in resources:
            try:
                fixed.append(references.fixed(each, found.specs))
            except Problem as problem:
                fixed.append(each)
                remarks.append(Remark(each.source.place, problem.grade, problem.message, problem.hint))
        resources = fixed
    return tuple(_manifest(each) for each in resources if not _is_local(each)), remarks


def _is_local(resource: Resource) -> bool:
    annotations = resource.metadata.get("annotations")
    return isinstance(annotations, dict) and str(annotations.get(_LOCAL, "false")) != "false"


def _manifest(resource: Resource) -> Manifest:
    source = resource.source
    return source if resource.value is source.value else dataclasses.replace(source, value=resource.value)
