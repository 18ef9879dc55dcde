"""What findings rest on: what their rules need to know, held against what of the repo could be read.

A check says which facts it has used (``rule.finding(rests=…)``). What a rule needs besides, its card says
(``rests: [tree]``), and whether that was read is found out here, the same way for every rule.
"""

import dataclasses
import posixpath
from collections.abc import Callable, Iterator, Mapping

from firstlight.commands.audit.rule_form import AuditRule
from firstlight.model.cluster import Cluster
from firstlight.model.component import Certainty, Component
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.fact import Basis, Confidence, Standing
from firstlight.model.finding import Finding
from firstlight.model.source import DirectorySource
from firstlight.plan import cluster_facts
from firstlight.repo import chart_values
from firstlight.repo.platform_view import PlatformView

_GUESSED = frozenset({"cluster-machines-guessed", "cluster-unclear", "flux-cluster-inferred"})
"""Codes of readers that say that they have guessed which cluster something belongs to."""
_HIDDEN = frozenset({
    "argocd-applications-unknown", "argocd-chart-template-not-read", "argocd-plugin-not-run",
    "flux-artifact-not-followed", "flux-path-variable-unknown", "flux-resource-set-not-followed",
    "kustomize-not-followed", "kustomize-resource-remote", "repo-in-repo-not-read", "script-not-in-repo",
})  # fmt: skip
"""Codes of readers that say that something is deployed which was not read."""


def counted(rule: AuditRule, found: Finding, scene: PlatformView) -> Finding:
    """Return a finding with everything counted that its rule rests on."""
    if not found.basis.is_known:
        return found
    basis = Basis.of((found.basis, *_of_component(found, scene), *_of_rule(rule, found, scene)))
    return found if basis == found.basis else dataclasses.replace(found, basis=basis)


def _of_rule(rule: AuditRule, found: Finding, scene: PlatformView) -> Iterator[Basis]:
    for word in rule.rests:
        for name in found.clusters:
            cluster = scene.platform.cluster(name)
            if cluster is not None:
                yield from _READINGS[word](found, cluster, scene)


def _of_component(found: Finding, scene: PlatformView) -> Iterator[Basis]:
    """What is read from a command whose words only a run tells is not certain."""
    for component in _components(found, scene):
        here = [each for each in component.origins if each.place.path == found.place.path] or component.origins
        if all(each.certainty is Certainty.GUESSED for each in here):
            yield Basis(Standing.READ, Confidence.LIKELY, here[0].doubt or f"parts of {component.name} are variables")


def _components(found: Finding, scene: PlatformView) -> Iterator[Component]:
    for name in found.clusters:
        component = scene.facts[name].by_name.get(found.subject) if name in scene.facts else None
        if component is not None:
            yield component


def _attribution(found: Finding, cluster: Cluster, scene: PlatformView) -> Iterator[Basis]:
    # The only cluster has everything.
    for each in _of_codes(scene, _GUESSED) if len(scene.clusters) > 1 else ():
        if each.place.path in _paths(cluster):
            yield Basis(Standing.GUESS, Confidence.GUESS, f"{each.place}: {each.message}")


def _machines(found: Finding, cluster: Cluster, scene: PlatformView) -> Iterator[Basis]:
    for each in cluster.unread[:1]:
        yield Basis(Standing.UNKNOWN, Confidence.NONE, f"{each.place}: {each.message}")


def _tree(found: Finding, cluster: Cluster, scene: PlatformView) -> Iterator[Basis]:
    reach = _reach(scene, cluster)
    for each in _of_codes(scene, _HIDDEN):
        if each.place.path.startswith(reach):
            yield Basis(Standing.DEFAULT, Confidence.LIKELY, f"{each.place} was not followed: {each.message}")
            return


def _reach(scene: PlatformView, cluster: Cluster) -> tuple[str, ...]:
    """The directories that something of a cluster is read from, and its files."""
    found = {cluster.path} if cluster.path else set()
    for component in scene.platform.components_of(cluster.name):
        for origin in component.origins:
            found.add(posixpath.dirname(origin.place.path))
            found |= {each.path for each in cluster_facts.sources(origin) if isinstance(each, DirectorySource)}
    return tuple(f"{each}/" for each in found if each not in ("", "."))


def _values(found: Finding, cluster: Cluster, scene: PlatformView) -> Iterator[Basis]:
    for component in _components(found, scene):
        if component.cluster == cluster.name and (why := chart_values.unread_values(component)):
            yield Basis(Standing.READ, Confidence.LIKELY, why)


def _of_codes(scene: PlatformView, codes: frozenset[str]) -> list[Diagnostic]:
    return [each for each in scene.platform.diagnostics if each.code in codes and each.severity is not Severity.NOTE]


def _paths(cluster: Cluster) -> frozenset[str]:
    machines = (each.place.path for each in cluster.machines)
    return frozenset((cluster.place.path, *machines, *(each.path for each in cluster.files)))


_READINGS: Mapping[str, Callable[[Finding, Cluster, PlatformView], Iterator[Basis]]] = {
    "attribution": _attribution,
    "machines": _machines,
    "tree": _tree,
    "values": _values,
}
