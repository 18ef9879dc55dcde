"""What a repo tells Argo CD to deploy: Applications, those that ApplicationSets make, and what they lead to.

Two functions are for others. ``read`` takes a whole tree, inline manifests of Talos and Omni included. ``of_manifests``
takes objects that only another reader can see, such as those of a template that it renders.

The cluster where Argo CD runs has no name here: its origins have an empty ``cluster``, and it is the Cluster without a
name. Clusters that Argo CD knows by an address alone have that address for a name, and as their network's endpoint.
"""

import dataclasses
import functools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from firstlight.repo.argocd import (
    definition,
    following,
    git_generator,
    helm_chart,
    inline,
    instances,
    kustomizations,
    origins,
    projects,
    registered,
    settings,
    source_spec,
    urls,
    waves,
)
from firstlight.repo.argocd.definition import APPLICATION, APPLICATION_SET, Definition, items, mapping, text
from firstlight.repo.argocd.following import Followed
from firstlight.repo.argocd.scope import Scope
from firstlight.repo.argocd.source_spec import SourceSpec
from firstlight.repo.found import Found
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree


def read(tree: WorkTree, *, urls: Collection[str] = ()) -> Found:
    """Read a tree.

    Args:
        tree: The files.
        urls: The addresses of this repo; where none is given it is told by the paths that Applications name.
    """
    templates = helm_chart.template_directories(tree)
    declared = definition.of_tree(tree, without=templates)
    inner = inline.of_tree(tree, without=templates)
    scope = _scope(tree, [*declared, *inner], urls, templates)
    return _found(following.follow(declared, scope, inline=inner), scope)


def of_manifests(tree: WorkTree, manifests: Iterable[Manifest], *, urls: Collection[str] = ()) -> Found:
    """Read the Applications among manifests that are no files of the tree, and what they lead to in it."""
    templates = helm_chart.template_directories(tree)
    given = [definition.of_manifest(each) for each in manifests]
    given = [each for each in given if definition.is_one(each.value)]
    scope = _scope(tree, given, urls, templates)
    return _found(following.follow([], scope, inline=given), scope)


def _scope(
    tree: WorkTree, all_of_them: Sequence[Definition], given: Collection[str], templates: frozenset[str]
) -> Scope:
    scope = Scope(
        tree,
        registered=registered.read(tree, without=templates) if all_of_them else registered.Registered(),
        settings=settings.read(tree) if all_of_them else settings.Settings(),
        templates=templates,
        users=kustomizations.users(tree) if all_of_them else {},
    )
    evidence = [
        each
        for one in all_of_them
        for _, variant in following.variants(one, scope)
        for each in _evidence(variant, scope)
    ]
    own = urls.own(evidence, given=given, directory=tree.root.name)
    revisions = Counter(
        spec.revision
        for one in all_of_them
        for spec in source_spec.of(one)
        if own.has(spec.url) and spec.revision not in ("", "HEAD") and not source_spec.has_placeholder(spec.revision)
    )
    revision = revisions.most_common(1)[0][0] if revisions else ""
    return dataclasses.replace(scope, own=dataclasses.replace(own, revision=revision))


def _evidence(one: Definition, scope: Scope) -> Iterator[urls.Evidence]:
    """What an object says of paths in repositories."""
    if one.kind == APPLICATION:
        specs = source_spec.of(one)
        for spec in specs:
            yield from _of_source(spec, specs, scope)
    elif one.kind == APPLICATION_SET:
        for git in _git_generators(items(one.spec.get("generators")), 0):
            url, exists = text(git.get("repoURL")), git_generator.matches(git, scope)
            if url and "{{" not in url and exists is not None:
                yield urls.Evidence(url, exists, lambda: one.place)
        template = dataclasses.replace(one, value={**mapping(one.spec.get("template")), "kind": APPLICATION})
        specs = source_spec.of(template)
        for spec in specs:
            yield from _of_source(spec, specs, scope)


def _of_source(spec: SourceSpec, specs: Sequence[SourceSpec], scope: Scope) -> Iterator[urls.Evidence]:
    if not spec.url or source_spec.has_placeholder(spec.url + spec.written_path) or spec.chart:
        return
    at = functools.partial(spec.at, "repoURL")
    if spec.path not in (None, "."):
        yield urls.Evidence(spec.url, scope.tree.is_dir(spec.path or "."), at)
    elif spec.ref:
        wanted = f"${spec.ref}/"
        files = [text(each) for other in specs for each in items(other.helm.get("valueFiles"))]
        for file in files:
            if file.startswith(wanted):
                yield urls.Evidence(spec.url, scope.tree.is_file(file.removeprefix(wanted)), at)


def _git_generators(entries: Sequence[object], depth: int) -> Iterator[dict[str, object]]:
    """The Git generators of a set, those in others too."""
    for entry in entries if depth < 5 else ():
        for kind, value in mapping(entry).items():
            if kind == "git" and isinstance(value, dict):
                yield value
            elif kind in ("matrix", "merge"):
                yield from _git_generators(items(mapping(value).get("generators")), depth + 1)


def _found(followed: Followed, scope: Scope) -> Found:
    names, doubled = instances.read(followed.nodes)
    ordered = waves.read(followed.nodes, has_health=scope.settings.has_application_health)
    parents = {node.parent for node in followed.nodes}
    made = [
        origins.origin(
            node,
            scope,
            cluster=node.destination.cluster or names[node],
            is_leaf=node not in parents,
            needs=ordered.needs[node],
            wave=ordered.numbers.get(node),
        )
        for node in followed.nodes
    ]
    checked = projects.check([(node.definition, node.destination) for node in followed.nodes], followed.projects)
    left = [origins.origin(node, scope, cluster="", is_leaf=False) for node in followed.unreached]
    remarks = [*scope.own.remarks, *followed.remarks, *doubled, *ordered.remarks, *checked]
    return Found(
        clusters=origins.clusters(followed.nodes, names, scope),
        origins=tuple(made),
        unreached=tuple(left),
        remarks=tuple(dict.fromkeys(remarks)),
    )
