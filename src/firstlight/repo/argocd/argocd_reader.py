"""Applications inside the inline manifests of Talos and Omni: a root that the machines themselves apply."""

import dataclasses
import functools
import posixpath
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.model import argocd_names
from firstlight.model.diagnostic import Diagnostic
from firstlight.repo.argocd import (
    application_origins,
    application_spec,
    application_tree,
    argocd_settings,
    definitions,
    directory_contents,
    engine_installs,
    git_urls,
    local_charts,
    plugins,
    set_generators,
)
from firstlight.repo.argocd.application_spec import SourceSpec
from firstlight.repo.argocd.application_tree import ApplicationNode, ApplicationTree
from firstlight.repo.argocd.definitions import Definition, Steps, items, mapping
from firstlight.repo.argocd.read_scope import ReadScope
from firstlight.repo.manifest import Manifest
from firstlight.repo.reader_result import ReaderResult
from firstlight.repo.talos import embedded_yaml
from firstlight.repo.work_tree import YAML, WorkTree

INLINE_KEY = "inlineManifests"
MAX_DEPTH = 10
"""How deep a list of inline manifests may stand; talhelper, Omni and Talos have it in the fourth level at most."""


def inline_definitions(tree: WorkTree, *, without: frozenset[str] = frozenset()) -> list[Definition]:
    """Objects of Argo CD in the inline manifests of any file."""
    found: list[Definition] = []
    for path in tree.files:
        if not path.endswith(YAML) or definitions.is_below(path, without):
            continue
        if not definitions.mentions(tree, path, INLINE_KEY) or not definitions.mentions(tree, path, definitions.API):
            continue
        for document in tree.documents(path):
            for steps, text in _texts(document.value, ()):
                for inner in embedded_yaml.read(document, steps, text).documents:
                    found += [each for each in definitions.of_document(inner) if definitions.is_one(each.value)]
    return found


def _texts(value: Any, steps: Steps) -> Iterator[tuple[Steps, str]]:
    """The contents of inline manifests that speak of Argo CD, with the way there."""
    if len(steps) > MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == INLINE_KEY and isinstance(inner, list):
                for number, each in enumerate(inner):
                    text = each.get("contents") if isinstance(each, Mapping) else None
                    if isinstance(text, str) and definitions.API in text:
                        yield (*steps, key, number, "contents"), text
            elif isinstance(inner, Mapping | list):
                yield from _texts(inner, (*steps, str(key)))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _texts(each, (*steps, number))


# Several installations of Argo CD in one repo: which root belongs to which, told by where the roots are written.
#
# Applications are objects of the cluster where Argo CD runs, so two of one name cannot live in one. Where a repo has
# such two, and different roots bring them, the directories in which those roots differ are taken for the names of
# clusters.


_HOMES = {"cluster", "clusters", "environment", "environments", "env", "envs", "overlays", "sites"}
"""Directories whose directories are clusters, as people name them."""


def read_instances(nodes: Sequence[ApplicationNode]) -> tuple[Mapping[ApplicationNode, str], list[Diagnostic]]:
    """The name of the installation of each Application, empty where there is one without a name."""
    first: dict[tuple[str, bool, bool], ApplicationNode] = {}
    rivals: list[tuple[ApplicationNode, ApplicationNode]] = []
    for node in nodes:
        # An inline manifest is often a copy of what is in Git for the same cluster, where the copy may lead to it.
        other = first.setdefault((node.id, node.root.is_inline, node.is_inline), node)
        if other is not node:
            rivals.append((other, node))
    parents = {node.parent for node in nodes}
    roots = {node.root for pair in rivals for node in pair}
    # Applications that bring others, or that a kustomization changes, are installations; what else is there twice is
    # theirs where it stands in their directories.
    leading = {root for root in roots if root in parents or root.group}
    names = _names({instance_label(root) for root in leading})
    if not names:
        names = _names({instance_label(root) for root in roots})
        if not all(root in leading or _is_at_home(instance_label(root), names) for root in roots):
            names = {}
    found = {node: _name(instance_label(node.root), names) for node in nodes}
    diagnostics = [
        Diagnostic.warning(
            "argocd-application-twice",
            f"{two.definition.name} is there twice: also in {one.definition.place}",
            at=two.definition.place,
        )
        for one, two in rivals
        if found[one] == found[two] and application_tree.key(one.definition) != application_tree.key(two.definition)
    ]
    return found, diagnostics


def _is_at_home(label: tuple[str, ...], names: Mapping[tuple[str, ...], str]) -> bool:
    return any(label[: len(prefix)] == prefix and set(prefix[:-1]) & _HOMES for prefix in names)


def instance_label(root: ApplicationNode) -> tuple[str, ...]:
    """The directories that tell where a root is, and its file."""
    path = root.group or posixpath.splitext(root.definition.place.path)[0]
    return tuple(path.split("/"))


def _names(labels: set[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """The directories in which the roots differ, with the names that they give."""
    if len(labels) < 2:
        return {}
    length = 0
    shortest = min(len(each) for each in labels)
    while length < shortest and len({each[length] for each in labels}) == 1:
        length += 1
    if length == shortest:
        return {}
    found = {each[: length + 1]: each[length] for each in labels}
    # Overlays of overlays: ``overlays/main/dev`` and ``overlays/main/prod`` beside ``overlays/preview``.
    directories = {each[:-1] for each in labels}
    if len(found) < len(labels) == len({each[-1:] for each in directories if each}):
        return {each: each[-1] for each in directories}
    return found


def _name(label: tuple[str, ...], names: Mapping[tuple[str, ...], str]) -> str:
    """The name of the deepest directory that a root is in."""
    fitting = [prefix for prefix in names if label[: len(prefix)] == prefix]
    return names[max(fitting, key=len)] if fitting else ""


# What a repo tells Argo CD to deploy: Applications, those that ApplicationSets make, and what they lead to.
#
# Two functions are for others. ``read`` takes a whole tree, inline manifests of Talos and Omni included.
# ``of_manifests`` takes objects that only another reader can see, such as those of a template that it renders.
#
# The cluster where Argo CD runs has no name here: its origins have an empty ``cluster``, and it is the Cluster
# without a name. Clusters that Argo CD knows by an address alone have that address for a name, and as their network's
# endpoint.


def read(tree: WorkTree, *, urls: Collection[str] = ()) -> ReaderResult:
    """Read a tree.

    Args:
        tree: The files.
        urls: The addresses of this repo; where none is given it is told by the paths that Applications name.
    """
    templates = local_charts.template_directories(tree)
    patches = directory_contents.patch_files(tree)
    declared = [each for each in definitions.of_tree(tree, without=templates) if each.place.path not in patches]
    inner = inline_definitions(tree, without=templates)
    scope = _scope(tree, [*declared, *inner], urls, templates)
    return _found(application_tree.follow(declared, scope, inline=inner), scope)


def of_manifests(tree: WorkTree, manifests: Iterable[Manifest], *, urls: Collection[str] = ()) -> ReaderResult:
    """Read the Applications among manifests that are no files of the tree, and what they lead to in it."""
    templates = local_charts.template_directories(tree)
    given = [definitions.of_manifest(each) for each in manifests]
    given = [each for each in given if definitions.is_one(each.value)]
    scope = _scope(tree, given, urls, templates)
    return _found(application_tree.follow([], scope, inline=given), scope)


def _scope(
    tree: WorkTree, all_of_them: Sequence[Definition], given: Collection[str], templates: frozenset[str]
) -> ReadScope:
    scope = ReadScope(
        tree,
        registered=argocd_settings.read_registered(tree, without=templates)
        if all_of_them
        else argocd_settings.Registered(),
        settings=argocd_settings.read_settings(tree) if all_of_them else argocd_settings.ArgoCDSettings(),
        templates=templates,
        plugins=plugins.kustomizing(tree) if any(_has_plugin(each.value) for each in all_of_them) else frozenset(),
        users=directory_contents.kustomization_users(tree) if all_of_them else {},
    )
    evidence = [
        each
        for one in all_of_them
        for _, variant in application_tree.variants(one, scope)
        for each in _evidence(variant, scope)
    ]
    own = git_urls.own(evidence, given=given, directory=tree.root.name)
    revisions = Counter(
        spec.revision
        for one in all_of_them
        for spec in application_spec.source_specs(one)
        if own.has(spec.url)
        and spec.revision not in ("", "HEAD")
        and not application_spec.has_placeholder(spec.revision)
    )
    revision = revisions.most_common(1)[0][0] if revisions else ""
    return dataclasses.replace(scope, own=dataclasses.replace(own, revision=revision))


def _has_plugin(value: Any) -> bool:
    """Whether an object has a source that a plugin makes manifests of, at whatever depth."""
    if isinstance(value, Mapping):
        return "plugin" in value or any(map(_has_plugin, value.values()))
    return isinstance(value, list) and any(map(_has_plugin, value))


def _evidence(one: Definition, scope: ReadScope) -> Iterator[git_urls.UrlEvidence]:
    """What an object says of paths in repositories."""
    if one.kind == argocd_names.APPLICATION:
        specs = application_spec.source_specs(one)
        for spec in specs:
            yield from _of_source(spec, specs, scope)
    elif one.kind == argocd_names.APPLICATION_SET:
        for git in _git_generators(items(one.spec.get("generators")), 0):
            url, exists = definitions.text(git.get("repoURL")), set_generators.git_matches(git, scope)
            if url and "{{" not in url and exists is not None:
                yield git_urls.UrlEvidence(url, exists, lambda: one.place)
        template = dataclasses.replace(
            one, value={**mapping(one.spec.get("template")), "kind": argocd_names.APPLICATION}
        )
        specs = application_spec.source_specs(template)
        for spec in specs:
            yield from _of_source(spec, specs, scope)


def _of_source(spec: SourceSpec, specs: Sequence[SourceSpec], scope: ReadScope) -> Iterator[git_urls.UrlEvidence]:
    if not spec.url or application_spec.has_placeholder(spec.url + spec.written_path) or spec.chart:
        return
    at = functools.partial(spec.at, "repoURL")
    if spec.path not in (None, "."):
        yield git_urls.UrlEvidence(spec.url, scope.tree.is_dir(spec.path or "."), at)
    elif spec.ref:
        wanted = f"${spec.ref}/"
        files = [definitions.text(each) for other in specs for each in items(other.helm.get("valueFiles"))]
        for file in files:
            if file.startswith(wanted):
                yield git_urls.UrlEvidence(spec.url, scope.tree.is_file(file.removeprefix(wanted)), at)


def _git_generators(entries: Sequence[object], depth: int) -> Iterator[dict[str, object]]:
    """The Git generators of a set, those in others too."""
    for entry in entries if depth < 5 else ():
        for kind, value in mapping(entry).items():
            if kind == "git" and isinstance(value, dict):
                yield value
            elif kind in ("matrix", "merge"):
                yield from _git_generators(items(mapping(value).get("generators")), depth + 1)


def _found(followed: ApplicationTree, scope: ReadScope) -> ReaderResult:
    names, doubled = read_instances(followed.nodes)
    ordered = application_origins.waves_of(followed.nodes, has_health=scope.settings.has_application_health)
    parents = {node.parent for node in followed.nodes}
    made = [
        application_origins.origin(
            node,
            scope,
            cluster=node.destination.cluster or names[node],
            is_leaf=node not in parents,
            needs=ordered.needs[node],
            wave=ordered.numbers.get(node),
        )
        for node in followed.nodes
    ]
    checked = application_spec.check_projects(
        [(node.definition, node.destination) for node in followed.nodes], followed.projects
    )
    left = [application_origins.origin(node, scope, cluster="", is_leaf=False) for node in followed.unreached]
    instances = {name for name in names.values() if name}
    installs = engine_installs.find(scope, followed.nodes, instances) if followed.nodes else []
    diagnostics = [*scope.own.diagnostics, *followed.diagnostics, *doubled, *ordered.diagnostics, *checked]
    return ReaderResult(
        clusters=application_origins.clusters(followed.nodes, names, scope),
        origins=(*made, *installs),
        unreached=tuple(left),
        diagnostics=tuple(dict.fromkeys(diagnostics)),
    )
