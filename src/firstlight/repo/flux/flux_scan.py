"""Every document of Flux in a repo, whether anything leads there or not, and the roots where the trees begin.

A root is said outright by gotk-sync.yaml, by a FluxInstance or by the values of its chart; told by a Kustomization
that is in the directory that it applies; or, where a repo says nothing of it, guessed from the Kustomizations that
nobody brings.
"""

import dataclasses
import os
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.model import flux_names
from firstlight.model.component import Origin
from firstlight.model.place import Place
from firstlight.repo import kustomize, put_aside
from firstlight.repo.flux import artifact_pushes, flux_bootstrap, flux_kustomizations, flux_objects, helm_releases
from firstlight.repo.flux.artifact_tree import ArtifactTree
from firstlight.repo.flux.flux_bootstrap import FluxRoot, FluxStart
from firstlight.repo.flux.flux_kustomizations import FluxSources
from firstlight.repo.flux.flux_objects import mapping, spec, text
from firstlight.repo.flux.post_build import VariableHolders
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import YAML, WorkTree

_MARKS = (b"toolkit.fluxcd.io", b"fluxcd.controlplane.io", b"source.extensions.fluxcd.io")
_DEEPEST = 5
"""Lists in Lists."""


@dataclasses.dataclass(frozen=True)
class FluxScan:
    """What was found, in the order of files."""

    kustomizations: tuple[Manifest, ...] = ()
    helm_releases: tuple[Manifest, ...] = ()
    sources: tuple[Manifest, ...] = ()
    instances: tuple[Manifest, ...] = ()
    generators: tuple[Manifest, ...] = ()
    """ArtifactGenerators."""
    instance_values: tuple[tuple[YamlDocument, dict[str, Any]], ...] = dataclasses.field(default=(), repr=False)
    """Values files for the chart of a FluxInstance: documents without a kind, with ``instance.sync``."""


def scan(tree: WorkTree) -> FluxScan:
    """Look through the files that mention Flux; others are not even parsed."""
    charts = {posixpath.dirname(path) for path in tree.files if path.endswith("/Chart.yaml") or path == "Chart.yaml"}
    found: dict[str, list[Any]] = {field.name: [] for field in dataclasses.fields(FluxScan)}
    for path in tree.files:
        if path.endswith(YAML) and not _is_template(path, charts):
            data = tree.bytes(path) or b""
            has_values = b"instance:" in data and b"sync:" in data
            if has_values or any(mark in data for mark in _MARKS):
                for document in tree.documents(path, dialect=kustomize.DIALECT):
                    _sort(document, found)
    return FluxScan(**{name: tuple(each) for name, each in found.items()})


def _is_template(path: str, charts: set[str]) -> bool:
    """Whether a file is a template of a chart, which is no YAML before Helm has filled it in."""
    before, inside, _ = path.rpartition("/templates/")
    while inside:
        if before in charts:
            return True
        before, inside, _ = before.rpartition("/templates/")
    return path.startswith("templates/") and "" in charts


def _sort(document: YamlDocument, found: dict[str, list[Any]]) -> None:
    for manifest in _flattened(document, document.value, (), 0):
        if flux_objects.is_kustomization(manifest):
            found["kustomizations"].append(manifest)
        elif flux_objects.is_helm_release(manifest):
            found["helm_releases"].append(manifest)
        elif flux_objects.is_source(manifest):
            found["sources"].append(manifest)
        elif flux_objects.is_instance(manifest):
            found["instances"].append(manifest)
        elif flux_objects.is_artifact_generator(manifest):
            found["generators"].append(manifest)
        elif not manifest.id.kind:
            instance = flux_objects.mapping(manifest.value.get("instance"))
            if flux_objects.mapping(instance.get("sync")).get("path"):
                found["instance_values"].append((document, instance))


def _flattened(document: YamlDocument, value: Any, steps: tuple[str | int, ...], depth: int) -> Iterator[Manifest]:
    if not isinstance(value, dict):
        return
    items = value.get("items")
    if str(value.get("kind") or "").endswith("List") and isinstance(items, list) and depth < _DEEPEST:
        for number, item in enumerate(items):
            yield from _flattened(document, item, (*steps, "items", number), depth + 1)
        return
    place = document.place(*steps) if steps else Place(document.path, document.line)
    yield Manifest(value, place, document, steps)


# Files that show how something could be written, and deploy nothing.


_NAMES = {"template", "templates", "example", "examples", "sample", "samples", "archive", "archived", "testdata"}


def is_example_path(path: str) -> bool:
    """Whether a file is in a directory of templates, examples or things that were put away."""
    return any(part.strip("._").lower() in _NAMES for part in path.split("/")[:-1])


def is_example(manifest: Manifest) -> bool:
    """Whether an object is written in such a file."""
    return is_example_path(manifest.place.path) or bool(put_aside.directory(manifest.place.path))


# Kustomizations and HelmReleases that are in the repo, and that no cluster's tree leads to.


_UP = 4
"""Directories above a file that are asked whether they name it."""


def unreached_origins(
    tree: WorkTree, scan: FluxScan, *, places: Collection[Place], files: Collection[str]
) -> Iterator[Origin]:
    """What was not reached, each with the reason.

    Args:
        tree: The repo.
        scan: Everything of Flux that is in it.
        places: Where the objects that were reached are written.
        files: The files that had a part in what was reached.
    """
    sources = FluxSources(scan.sources)
    for manifest in (*scan.kustomizations, *scan.helm_releases):
        if manifest.place in places:
            continue
        if manifest.place.path in files and not _is_complete(manifest):
            continue  # a patch, which was applied
        doubt = _reason(tree, manifest, files)
        if flux_objects.is_kustomization(manifest):
            written = text(spec(manifest).get("path"))
            path = flux_objects.normal_path(written) or written
            yield flux_kustomizations.origin(manifest, cluster="", parent="", path=path, remote=None, doubt=doubt)
        else:
            found, _ = helm_releases.origin(
                manifest, cluster="", parent="", sources=sources, holders=VariableHolders(), is_own=lambda _: False
            )
            yield dataclasses.replace(found, doubt=doubt)


def _is_complete(manifest: Manifest) -> bool:
    """Whether an object could stand by itself; a patch says only what it changes."""
    if flux_objects.is_kustomization(manifest):
        return bool(mapping(spec(manifest).get("sourceRef")))
    # A patch may well say the chart's version, but not again which chart.
    chart = mapping(mapping(spec(manifest).get("chart")).get("spec")).get("chart")
    return bool(chart or spec(manifest).get("chartRef"))


def _reason(tree: WorkTree, manifest: Manifest, files: Collection[str]) -> str:
    path = manifest.place.path
    if is_example_path(path):
        return "it is in a directory of templates or examples"
    if path in files:
        return "its file is read, but a patch removes it, or another object has its name"
    if not _is_complete(manifest):
        return "it looks like a patch, and no kustomization that was reached applies it"
    directory = posixpath.dirname(path) or "."
    for _ in range(_UP):
        if kustomize.file_of(tree, directory) and path in kustomize.build(tree, directory).files:
            return f"no cluster's tree leads to {directory}"
        if directory == ".":
            break
        directory = posixpath.dirname(directory) or "."
    return "no kustomization names its file, and no cluster's tree leads there"


# Where the trees of a repo begin.


_VARIABLE = re.compile(r"\$\{[^{}/]*\}")
_CLUSTER = re.compile(r"(?:^|.*/)clusters?/(?P<name>[^/]+)/.*")


def stated_roots(tree: WorkTree, scan: FluxScan, given: Sequence[FluxRoot]) -> list[FluxStart]:
    """The starts that somebody says, each path once; what the repo itself has for a path that is given counts more."""
    found: dict[str, FluxStart] = {}
    starts = [*_given(tree, scan, given)]
    written = {each.place for each in scan.kustomizations}
    assumed = {each.path for each in starts if each.place not in written}
    for each in [
        *starts,
        *_synced(tree, scan),
        *_prepared(tree, scan),
        *_instances(tree, scan),
    ]:
        for one in _spelled_out(tree, each):
            known = found.get(one.path)
            if known is None:
                found[one.path] = one
            else:
                # A path that is given without the place that says so adds nothing to what is known.
                if one.path in assumed and one.place != Place(one.path):
                    assumed.remove(one.path)
                    known = dataclasses.replace(known, manifests=one.manifests, why=one.why)
                found[one.path] = dataclasses.replace(
                    known,
                    cluster=known.cluster or one.cluster,
                    source=known.source or one.source,
                    instance=known.instance or one.instance,
                    components=known.components or one.components,
                )
    return list(found.values())


def _given(tree: WorkTree, scan: FluxScan, given: Sequence[FluxRoot]) -> Iterator[FluxStart]:
    for root in given:
        path = flux_objects.normal_path(root.path)
        if path is None:
            continue
        own = [each for each in scan.kustomizations if _path(each) == path and _is_in(each.place.path, path)]
        manifest = (
            own[0]
            if own
            else flux_bootstrap.synthesized(
                path, root.place or Place(path), namespace=root.namespace, name=root.namespace
            )
        )
        yield FluxStart(path, (manifest,), "it is declared so", cluster=root.cluster)


def _synced(tree: WorkTree, scan: FluxScan) -> Iterator[FluxStart]:
    for each in scan.kustomizations:
        path, file = _path(each), each.place.path
        if os.path.basename(file).startswith("gotk-sync.") and path and not is_example(each):
            name = mapping(spec(each).get("sourceRef")).get("name")
            beside = [one for one in scan.sources if one.place.path == file and one.id.name == name]
            components = posixpath.join(posixpath.dirname(file), "gotk-components.yaml")
            yield FluxStart(
                path,
                (each,),
                "gotk-sync says so",
                source=beside[0] if beside else None,
                components=components if tree.is_file(components) else "",
            )


def _prepared(tree: WorkTree, scan: FluxScan) -> Iterator[FluxStart]:
    """Directories in which ``flux bootstrap`` is going to write: its files are there, and still empty."""
    written = {each.place.path for each in scan.kustomizations}
    for file in tree.files:
        directory, name = posixpath.split(file)
        path, namespace = posixpath.split(directory)
        if not name.startswith("gotk-sync.") or file in written or not namespace or is_example_path(file):
            continue
        if kustomize.file_of(tree, directory):
            manifest = flux_bootstrap.synthesized(path or ".", Place(file), namespace=namespace, name=namespace)
            yield FluxStart(path or ".", (manifest,), "gotk-sync is to be written here")


def _instances(tree: WorkTree, scan: FluxScan) -> Iterator[FluxStart]:
    for each in scan.instances:
        if not is_example(each):
            yield from _instance(tree, spec(each), each.id.namespace, each.at("spec", "sync"))
    for each in scan.helm_releases:
        if is_instance_release(each) and not is_example(each):
            instance, place = _instance_values(tree, each)
            yield from _instance(tree, instance, each.id.namespace, place)
    for document, instance in scan.instance_values:
        if not is_example_path(document.path):
            yield from _instance(tree, instance, "", document.place("instance", "sync"))


def _instance(tree: WorkTree, instance: Mapping[str, Any], namespace: str, place: Place) -> Iterator[FluxStart]:
    made = flux_bootstrap.start_of_instance(instance, namespace or flux_names.FLUX_SYSTEM, place)
    path = flux_objects.normal_path(text(mapping(instance.get("sync")).get("path")))
    if made is None or path is None:
        return
    if made[1].id.kind == flux_names.OCI_REPOSITORY:
        # Its path is one of the artifact, whose root is the directory that somebody pushes.
        files = artifact_pushes.pushed(tree, text(spec(made[1]).get("url")))
        if files is not None and isinstance(files.tree, ArtifactTree):
            path = files.tree.repo_path(path) or path
    yield FluxStart(path, (made[0],), "a FluxInstance says so", source=made[1], instance=instance)


def is_instance_release(manifest: Manifest) -> bool:
    """Whether a HelmRelease is one of the chart that makes a FluxInstance."""
    chart = mapping(mapping(spec(manifest).get("chart")).get("spec")).get("chart")
    named = (chart, mapping(spec(manifest).get("chartRef")).get("name"))
    return any(text(each) == flux_names.INSTANCE_CHART for each in named)


def _instance_values(tree: WorkTree, manifest: Manifest) -> tuple[Mapping[str, Any], Place]:
    """The values of such a release: its own, or those of a ConfigMap that is made beside it."""
    own = mapping(mapping(spec(manifest).get("values")).get("instance"))
    if own.get("sync"):
        return own, manifest.at("spec", "values", "instance", "sync")
    directory = posixpath.dirname(manifest.place.path) or "."
    if not kustomize.file_of(tree, directory):
        return {}, manifest.place
    build = kustomize.build(tree, directory)
    release = next((each for each in build.manifests if each.place == manifest.place), manifest)
    maps = {each.id.name: each for each in build.manifests if each.id.kind == "ConfigMap"}
    for reference in flux_objects.entries(spec(release).get("valuesFrom")):
        held = maps.get(text(mapping(reference).get("name")))
        if held is not None:
            key = text(mapping(reference).get("valuesKey")) or helm_releases.VALUES_KEY
            read = helm_releases.parsed_values(text(mapping(held.value.get("data")).get(key)))
            own = mapping(mapping(read).get("instance"))
            if own.get("sync"):
                return own, held.place
    return {}, manifest.place


def _spelled_out(tree: WorkTree, found: FluxStart) -> list[FluxStart]:
    """A path with a variable for one directory, such as ``clusters/${CLUSTER}``, stands for each that there is."""
    if not _VARIABLE.search(found.path):
        return [found]
    before, variable, after = found.path.partition(_VARIABLE.search(found.path)[0])  # type: ignore[index]
    del variable
    parent = before.rstrip("/")
    if (before and not before.endswith("/")) or after:
        return []
    inner = [each[:-1] for each in tree.listing(parent or ".") if each.endswith("/")]
    return [
        dataclasses.replace(
            found,
            path=posixpath.join(parent, name),
            manifests=tuple(_at(each, posixpath.join(parent, name)) for each in found.manifests),
            why=f"{found.why}, with a variable in the path that could be any directory of {parent}",
            is_inferred=True,
        )
        for name in inner
    ]


def _at(manifest: Manifest, path: str) -> Manifest:
    value = {**manifest.value, "spec": {**spec(manifest), "path": path}}
    return dataclasses.replace(manifest, value=value)


def self_contained_roots(tree: WorkTree, scan: FluxScan) -> Iterator[FluxStart]:
    """Kustomizations that are in the directory that they apply, the shallowest first."""
    found = []
    for each in scan.kustomizations:
        path = _path(each)
        if path and "$" not in path and _is_in(each.place.path, path) and not is_example(each):
            found.append((path.count("/"), path, each))
    for _, path, manifest in sorted(found, key=lambda each: each[:2]):
        build = kustomize.build(tree, path, generate=True)
        if any(each.place == manifest.place for each in build.manifests):
            yield FluxStart(path, (manifest,), "the Kustomization is in the directory that it applies")


def guessed_roots(tree: WorkTree, scan: FluxScan) -> list[FluxStart]:
    """The Kustomizations that no other brings, as one cluster; as several where they are in ``clusters/NAME``."""
    brought = set()
    for each in scan.kustomizations:
        path = _path(each)
        if path and tree.is_dir(path):
            build = kustomize.build(tree, path, generate=True)
            brought |= {inner.place for inner in build.manifests if inner.place != each.place}
    groups: dict[str, list[Manifest]] = {}
    for each in scan.kustomizations:
        path = _path(each)
        if each.place not in brought and path and tree.is_dir(path) and not is_example(each):
            named = _CLUSTER.fullmatch(each.place.path)
            groups.setdefault(named["name"] if named else "", []).append(each)
    if len(groups) == 1:
        groups = {"": next(iter(groups.values()))}
    why = "nothing says where Flux begins, and no other Kustomization brings these"
    return [
        FluxStart(_common([each.place.path for each in tops]), tuple(tops), why, cluster=name, is_inferred=True)
        for name, tops in groups.items()
    ]


def _common(files: Sequence[str]) -> str:
    """The directory that has all files in it."""
    return posixpath.commonpath([posixpath.dirname(each) for each in files]) or "."


def _path(manifest: Manifest) -> str | None:
    return flux_objects.normal_path(text(spec(manifest).get("path"))) if flux_objects.spec(manifest) else None


def _is_in(file: str, directory: str) -> bool:
    return directory == "." or file.startswith(f"{directory}/")
