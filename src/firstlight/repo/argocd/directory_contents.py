"""What a directory of this repo holds, as Argo CD's repo server would read it."""

import dataclasses
import enum
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.model.diagnostic import Diagnostic
from firstlight.model.source import ChartSource, RemoteSource
from firstlight.repo import kustomize, work_tree
from firstlight.repo.argocd import definitions, globs, local_charts
from firstlight.repo.argocd.application_spec import SourceSpec
from firstlight.repo.argocd.definitions import Definition, items, mapping, of_document, of_manifest, text
from firstlight.repo.argocd.read_scope import ReadScope
from firstlight.repo.work_tree import WorkTree

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_MANIFESTS = (".yaml", ".yml", ".json")
_FIELDS = ("namespace", "namePrefix", "nameSuffix", "components", "patches")
"""What an Application adds to a kustomization under the same names."""
_IMAGE = re.compile(r"^(?:(?P<name>[^=]+)=)?(?P<new>[^@=]*?)(?::(?P<tag>[^:/@]+))?(?:@(?P<digest>.+))?$")
_SKIP = "# +argocd:skip-file-rendering"
_OVERRIDES = ".argocd-source.yaml"


class SourceTool(enum.StrEnum):
    """What makes manifests of a directory."""

    HELM = "helm"
    KUSTOMIZE = "kustomize"
    DIRECTORY = "directory"
    PLUGIN = "plugin"


@dataclasses.dataclass(frozen=True, slots=True)
class DirectoryContents:
    """What was found in it."""

    definitions: tuple[Definition, ...] = ()
    """Every object, those of other kinds too."""
    charts: tuple[ChartSource, ...] = ()
    remotes: tuple[RemoteSource, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def overridden(spec: SourceSpec, path: str, tree: WorkTree) -> tuple[SourceSpec, list[Diagnostic]]:
    """A source with what ``.argocd-source.yaml`` files in its directory change in it."""
    diagnostics: list[Diagnostic] = []
    for name in (_OVERRIDES, f".argocd-source-{spec.app.name}.yaml"):
        file = posixpath.normpath(f"{path}/{name}")
        if not tree.is_file(file):
            continue
        document = next(iter(tree.documents(file)), None)
        patch = mapping(document.value) if document else {}
        if document and ("kind" in patch or "spec" in patch):
            message = f"{name} is where Argo CD looks for parameters of a source, and this is an object"
            diagnostics.append(Diagnostic.warning("argocd-override-is-object", message, at=document.place()))
        if patch:
            tools = {each: patch[each] for each in SourceTool if each in patch}
            spec = spec.with_value(definitions.json_merge_patch(spec.value, tools))
    return spec, diagnostics


def tool(spec: SourceSpec, path: str, tree: WorkTree) -> SourceTool | Diagnostic:
    """The tool that a source names, or that fits the files of its directory; a diagnostic where it cannot be right."""
    named = [SourceTool(each) for each in spec.tools()]
    if len(named) > 1:
        message = f"{' and '.join(named)} are both set, and Argo CD takes one of them"
        return Diagnostic.error("argocd-tools-conflict", message, at=spec.at(named[1]), fix="Use one source for each.")
    names = [each for each in tree.listing(path) if not each.endswith("/")]
    found = SourceTool.DIRECTORY
    for name in names:  # in the order of Go's walk, where the last one that fits wins
        if name.endswith(local_charts.CHART_FILE):
            found = SourceTool.HELM
        if name in KUSTOMIZATIONS:
            found = SourceTool.KUSTOMIZE
    if not named:
        return found
    if named[0] == SourceTool.HELM and local_charts.CHART_FILE not in names:
        return Diagnostic.error(
            "argocd-tool-without-files", f"helm is set, and {path} has no {local_charts.CHART_FILE}", at=spec.at("helm")
        )
    if named[0] == SourceTool.KUSTOMIZE and not set(KUSTOMIZATIONS) & set(names):
        return Diagnostic.error(
            "argocd-tool-without-files",
            f"kustomize is set, and {path} has no kustomization.yaml",
            at=spec.at("kustomize"),
        )
    return named[0]


def kustomized(spec: SourceSpec, path: str, scope: ReadScope) -> DirectoryContents:
    """What kustomize makes of a directory, with what the Application adds to it."""
    options = mapping(spec.value.get("kustomize"))
    fields = {name: options[name] for name in _FIELDS if options.get(name)}
    if isinstance(options.get("images"), list):
        fields["images"] = images(options["images"])
    over = kustomize.Overlay(spec.at("kustomize"), fields) if fields else None
    built = scope.build(path, over)
    definitions = [_adjusted(of_manifest(each), options) for each in built.manifests]
    diagnostics = list(built.diagnostics)
    if built.charts and not scope.settings.builds_charts and spec.value.get("plugin") is None:
        message = "kustomize builds helmCharts only if argocd-cm has kustomize.buildOptions: --enable-helm"
        place = built.charts[0].origin or spec.at("path")
        diagnostics.append(
            Diagnostic.warning("argocd-helm-in-kustomize-off", f"{message}, and nothing in this repo says so", at=place)
        )
    remotes = tuple(each.remote for each in built.remotes)
    return DirectoryContents(tuple(definitions), built.charts, remotes, tuple(diagnostics))


def images(written: list[Any]) -> list[dict[str, str]]:
    """Images as kustomizations write them, from ``name=new:tag@digest``."""
    found: list[dict[str, str]] = []
    for each in written:
        match = _IMAGE.match(text(each)) if len(text(each)) < 1000 else None
        if not match:
            continue
        new = match["new"] if match["name"] else ""
        parts = {"newName": new, "newTag": match["tag"], "digest": match["digest"]}
        found.append({"name": match["name"] or match["new"]} | {key: value for key, value in parts.items() if value})
    return found


def plain(spec: SourceSpec, path: str, tree: WorkTree) -> DirectoryContents:
    """The files of a directory as they are."""
    options = mapping(spec.value.get("directory"))
    definitions: list[Definition] = []
    diagnostics: list[Diagnostic] = []
    for file in _files(path, options, tree):
        if file.endswith(".jsonnet"):
            message = f"{file} is jsonnet, which is not run"
            diagnostics.append(Diagnostic.unknown("argocd-jsonnet-not-run", message, at=spec.at("path")))
            continue
        if _SKIP in (tree.text(file) or ""):
            continue
        for document in tree.documents(file):
            objects = of_document(document)
            definitions += [each for each in objects if text(each.value.get("apiVersion")) and each.kind]
    return DirectoryContents(tuple(definitions), diagnostics=tuple(diagnostics))


def _files(path: str, options: Mapping[str, Any], tree: WorkTree) -> Iterator[str]:
    include, exclude = text(options.get("include")), text(options.get("exclude"))
    prefix = "" if path == "." else f"{path}/"
    for file in sorted(tree.below(path, *_MANIFESTS, ".jsonnet")):
        inner = file.removeprefix(prefix)
        if "/" in inner and options.get("recurse") is not True:
            continue
        if exclude and _fits(exclude, inner):
            continue
        if include and not _fits(include, inner):
            continue
        yield file


def _fits(pattern: str, path: str) -> bool:
    try:
        return globs.gobwas_match(pattern, path)
    except globs.BadPattern:
        return False


def _adjusted(one: Definition, options: Mapping[str, Any]) -> Definition:
    """An object with the labels and annotations that the Application sets for all of them."""
    changes: dict[str, Any] = {}
    for ours, theirs in (("labels", "commonLabels"), ("annotations", "commonAnnotations")):
        if mapping(options.get(theirs)):
            changes[ours] = {**mapping(one.metadata.get(ours)), **mapping(options[theirs])}
    if not changes:
        return one
    return dataclasses.replace(one, value={**one.value, "metadata": {**one.metadata, **changes}})


# Kustomizations that bring Applications and that no Application reads: somebody applies them.


_KUSTOMIZATIONS_FIELDS = ("resources", "bases", "components")


def kustomization_users(tree: WorkTree) -> Mapping[str, frozenset[str]]:
    """Which directories of kustomizations name a file or directory."""
    found: dict[str, set[str]] = {}
    for file in tree.files:
        directory, name = posixpath.split(file)
        if name not in KUSTOMIZATIONS:
            continue
        for document in tree.documents(file)[:1]:
            for field in _KUSTOMIZATIONS_FIELDS:
                for each in items(mapping(document.value).get(field)):
                    target = work_tree.join(directory or ".", text(each)) if text(each) else None
                    if target:
                        found.setdefault(target, set()).add(directory or ".")
    return {target: frozenset(directories) for target, directories in found.items()}


def patch_files(tree: WorkTree) -> frozenset[str]:
    """Return the files that kustomizations name as patches only: they change objects, and are none of their own."""
    patches: set[str] = set()
    for file in tree.files:
        directory, name = posixpath.split(file)
        if name not in KUSTOMIZATIONS:
            continue
        for document in tree.documents(file)[:1]:
            value = mapping(document.value)
            fields = [*items(value.get("patches")), *items(value.get("patchesJson6902"))]
            written = [
                *(text(mapping(each).get("path")) for each in fields),
                *items(value.get("patchesStrategicMerge")),
            ]
            found = (work_tree.join(directory or ".", each) for each in written if isinstance(each, str) and each)
            patches |= {each for each in found if each}
    return frozenset(patches - set(kustomization_users(tree)))


def top_kustomizations(file: str, used: Mapping[str, frozenset[str]]) -> list[str]:
    """The directories from which kustomize comes to a file, and to which no other kustomization leads."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [file]
    while waiting:
        here = waiting.pop()
        above = used.get(here, frozenset())
        if not above and here != file:
            found.add(here)
        waiting += above - seen
        seen |= above
    return sorted(found)
