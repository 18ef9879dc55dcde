"""Versions of Talos, Kubernetes, the CNI and the engine against each other, by the table in ``versions.yaml``."""

import dataclasses
import functools
import importlib.resources
from collections.abc import Iterator

import msgspec

from firstlight.document import yaml_reader
from firstlight.document.within import text
from firstlight.model import flux_names, versions
from firstlight.model.component import Component, Side
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.plan import cluster_facts as plan_cluster_facts
from firstlight.plan import pod_needs, well_known
from firstlight.plan.cluster_facts import ClusterFacts


@dataclasses.dataclass(frozen=True)
class ProductVersions:
    """What is known of a product's versions."""

    title: str
    kubernetes: dict[str, tuple[str, str]]
    refuses: bool = False
    image: str = ""
    label: str = ""
    chart: bool = False


@functools.cache
def table() -> dict[str, ProductVersions]:
    """Everything that is known."""
    file = importlib.resources.files("firstlight.plan") / "versions.yaml"
    (document,) = yaml_reader.read(file.read_bytes(), "versions.yaml").documents
    return msgspec.convert(document.value, dict[str, ProductVersions])


def problems(cluster_facts: ClusterFacts) -> list[Diagnostic]:
    """Versions that do not go together, and those of which nothing is known; each thing once."""
    return list({each.message: each for each in _problems(cluster_facts)}.values())


def _problems(cluster_facts: ClusterFacts) -> Iterator[Diagnostic]:
    cluster = cluster_facts.cluster
    if not cluster.kubernetes:
        if cluster_facts.has_talos:
            yield _unsaid("Kubernetes", cluster.name, cluster.place)
        return
    if cluster_facts.has_talos:
        if cluster.talos:
            yield from _judged(cluster_facts, "talos", cluster.talos, cluster.name, cluster_facts.said("talos"))
        else:
            yield _unsaid("Talos", cluster.name, cluster.place)
    for component in cluster_facts.components:
        about = well_known.of(component)
        for side in plan_cluster_facts.sides(component)[:1] if about and about[0] in table() else ():
            assert about is not None
            found = version_of(cluster_facts, component, side, about[0])
            if found or side == Side.BOOTSTRAP:
                yield from _judged(
                    cluster_facts, about[0], found, component.name, plan_cluster_facts.place(component, side)
                )


def version_of(cluster_facts: ClusterFacts, component: Component, side: Side, key: str) -> str:
    """The version of a product: as its images say, else as the repo says; empty where neither tells."""
    product = table()[key]
    for item in cluster_facts.objects(component, side):
        if found := _rendered(item, product):
            return found
    if key == "flux":
        distribution = ("distribution", "version")
        for origin in plan_cluster_facts.origins(component, side):
            if found := text(origin.definition, "spec", *distribution):
                return found
        found = plan_cluster_facts.value(component, side, "instance", *distribution)
        return (
            found if isinstance(found, str) else "" if plan_cluster_facts.charts(component, side) else component.version
        )
    return component.version if product.chart or not plan_cluster_facts.charts(component, side) else ""


def _rendered(item: Object, product: ProductVersions) -> str:
    if product.label:
        labels = ("metadata", "labels")
        is_own = text(item.value, *labels, "app.kubernetes.io/part-of") == flux_names.PART_OF
        return text(item.value, *labels, product.label) if is_own else ""
    for image in pod_needs.images(item):
        name, _, tag = image.partition("@")[0].rpartition(":")
        if name.endswith(product.image):
            return tag
    return ""


def _judged(cluster_facts: ClusterFacts, key: str, version: str, name: str, place: Place) -> Iterator[Diagnostic]:
    product, kubernetes = table()[key], cluster_facts.cluster.kubernetes
    found, wanted = versions.minor(version), versions.minor(kubernetes)
    chain = (
        Evidence(f"{product.title} {version or 'without a version that is known here'}", place, where=name),
        Evidence(f"Kubernetes {kubernetes}", cluster_facts.said("kubernetes"), where=cluster_facts.cluster.name),
    )
    span = product.kubernetes.get(f"{found[0]}.{found[1]}") if found else None
    if span is None or wanted is None:
        shown = f"{product.title} {version}".strip()
        yield Diagnostic.note(
            "version-unknown",
            f"whether {shown} goes with Kubernetes {kubernetes} is not known here",
            evidence=chain,
            fix=f"Look it up in the release notes of {product.title}.",
            subject="" if key == "talos" else name,
        )
        return
    first, last = (versions.minor(each) or (0, 0) for each in span)
    if first <= wanted <= last:
        return
    verb = "refuses" if product.refuses else "was not tested with"
    yield Diagnostic(
        code="version-refused" if product.refuses else "version-untested",
        severity=Severity.ERROR if product.refuses else Severity.WARNING,
        message=f"{product.title} {version} {verb} Kubernetes {kubernetes}: it is for {span[0]} to {span[1]}",
        evidence=chain,
        fix=_way_out(product, wanted, newer=wanted > last),
        subject="" if key == "talos" else name,
    )


def _way_out(product: ProductVersions, wanted: versions.Line, *, newer: bool) -> str:
    fitting = [
        version
        for version, (first, last) in product.kubernetes.items()
        if (versions.minor(first) or wanted) <= wanted <= (versions.minor(last) or wanted)
    ]
    if fitting:
        chosen = fitting[0] if newer else fitting[-1]
        return f"Take {product.title} {chosen}, which is for Kubernetes {wanted[0]}.{wanted[1]}, or another Kubernetes."
    return f"Take {'an older' if newer else 'a newer'} Kubernetes."


def _unsaid(what: str, name: str, place: Place) -> Diagnostic:
    return Diagnostic.note(
        "version-unknown",
        f"the repo does not say which version of {what} {name} has: nothing is compared",
        evidence=(Evidence(f"no version of {what}", place, where=name),),
        fix=f"Say it in firstlight.yaml: clusters.{name}.{what.lower()}.",
    )
