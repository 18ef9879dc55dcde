"""What two things of one engine apply at once, so that neither knows whose it is."""

import re
from collections import defaultdict
from collections.abc import Iterator

from firstlight.document.within import text
from firstlight.model.component import Form, Side
from firstlight.model.finding import Evidence
from firstlight.model.source import Chart
from firstlight.plan import facts
from firstlight.policy.auditing import declared, listing
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Item, Scene

_IN_TURN = "Flux applies them in turn"
"""What the reader of Flux says of two Kustomizations or HelmReleases of one name."""
_TWICE = "makes two Applications named"
_SHARED = "kustomize.toolkit.fluxcd.io/ssa"
"""Whoever writes this knows that there are others: Merge, IfNotPresent, Ignore."""
_AT = re.compile(r" at (\S+?):\d+")
_SHOWN = 5


def objects(scene: Scene) -> Iterator[Hit]:
    """One object that two Kustomizations or two Applications apply; one finding a pair."""
    for cluster in scene.clusters:
        pairs: dict[tuple[str, str], list[tuple[Item, Item]]] = defaultdict(list)
        for first, second in _shared(scene, cluster.name):
            # What the other one brings comes second, whichever was met first.
            if first.origin.parent == second.origin.id:
                first, second = second, first
            pairs[first.origin.id, second.origin.id].append((first, second))
        for found in pairs.values():
            yield _pair(scene, found)


def _shared(scene: Scene, cluster: str) -> Iterator[tuple[Item, Item]]:
    owners: dict[object, Item] = {}
    for item in scene.items:
        if item.cluster != cluster or item.origin.side is not Side.GITOPS or not item.object.id.name:
            continue
        if item.origin.form not in (Form.KUSTOMIZATION, Form.APPLICATION) or "${" in str(item.object.id):
            continue
        if text(item.value, "metadata", "annotations", _SHARED):
            continue
        first = owners.setdefault((item.origin.form, item.object.id), item)
        if first.origin.id != item.origin.id:
            yield first, item


def _pair(scene: Scene, found: list[tuple[Item, Item]]) -> Hit:
    first, second = found[0]
    stated = declared.of(scene, second.origin)
    place = second.object.place
    if stated is not None and any(one.object.place == other.object.place for one, other in found):
        place = stated.at("spec", "path" if second.origin.form is Form.KUSTOMIZATION else "source")
    shared = listing.first(str(one.object.id) for one, _ in found)
    evidence = [
        Evidence(f"{each.object.id} of {each.origin.name}", each.object.place)
        for pair in found[:_SHOWN]
        for each in pair
    ]
    return Hit(
        message=f"{first.origin.name} and {second.origin.name} both apply {shared}",
        place=place,
        clusters=(first.cluster,),
        component=second.component.name,
        evidence=tuple(dict.fromkeys(evidence)),
        # One cause, however many objects come to it.
        key=f"{first.origin.name} and {second.origin.name}",
    )


def names(scene: Scene) -> Iterator[Hit]:
    """Two Kustomizations, HelmReleases or Applications of one name, and two HelmReleases of one Helm release."""
    for remark in scene.platform.remarks:
        if _IN_TURN in remark.message or _TWICE in remark.message:
            said = remark.message.replace(", and ", ": ")
            paths = [remark.place.path, *_AT.findall(remark.message)]
            yield Hit(message=said, place=remark.place, clusters=_clusters(scene, paths))
    for cluster in scene.clusters:
        releases: dict[tuple[str, str], tuple[str, Evidence]] = {}
        for component in scene.platform.components_of(cluster.name):
            for origin in facts.origins(component, Side.GITOPS):
                chart = origin.source
                if origin.form is not Form.HELM_RELEASE or not isinstance(chart, Chart) or "$" in chart.release:
                    continue
                here = Evidence(f"HelmRelease {origin.namespace}/{origin.name}", origin.place)
                key = chart.storage_namespace or chart.namespace, chart.release
                other, there = releases.setdefault(key, (origin.id, here))
                if all(key) and other != origin.id:
                    yield Hit(
                        message=f"two HelmReleases upgrade the Helm release {key[0]}/{key[1]}: "
                        f"{there.text.split()[1]} and {here.text.split()[1]}",
                        place=origin.place,
                        clusters=(cluster.name,),
                        component=component.name,
                        evidence=(there, here),
                    )


def _clusters(scene: Scene, paths: list[str]) -> tuple[str, ...]:
    """The clusters that all of these files belong to."""
    used: dict[str, set[str]] = defaultdict(set)
    for component in scene.platform.components:
        for origin in component.origins:
            used[component.cluster] |= {origin.place.path, *(each.place.path for each in origin.stated)}
    return tuple(cluster for cluster, files in used.items() if files.issuperset(paths))
