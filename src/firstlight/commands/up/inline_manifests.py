"""Inline components that no file of the repo embeds: what the machine configs of the first start get instead."""

import dataclasses
import datetime
from collections.abc import Iterator, Mapping, Sequence

from firstlight.model import source
from firstlight.model.component import Component, ObjectId, Phase, Side
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.model.source import Embedded
from firstlight.render.inline import confidential, manifest_contents, prepared_objects, requirements, unstable_values


@dataclasses.dataclass(frozen=True, kw_only=True)
class InlineManifests:
    """Manifests for the machine configs."""

    contents: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """By the name of the manifest."""
    objects: Mapping[str, tuple[ObjectId, ...]] = dataclasses.field(default_factory=dict)
    """By the name of the component."""
    diagnostics: tuple[Diagnostic, ...] = ()


def inline_manifests(
    platform: Platform, cluster: str, renditions: Sequence[Rendition], *, now: datetime.datetime
) -> InlineManifests:
    """The inline components of a cluster whose manifests are made from the GitOps sources at the start of a run.

    Args:
        platform: The repo.
        cluster: Which cluster.
        renditions: What its components deploy.
        now: For values that look as if they had been made just now.
    """
    texts: dict[str, str] = {}
    ids: dict[str, tuple[ObjectId, ...]] = {}
    diagnostics: list[Diagnostic] = []
    crds = [each for one in renditions if one.cluster == cluster for each in one.objects if each.is_crd]
    talos = next((each.talos for each in platform.clusters if each.name == cluster), "")
    for component in _wanted(platform, cluster):
        rendition = next(
            (each for each in renditions if each.component == component.name and each.side == Side.BOOTSTRAP), None
        )
        if rendition is None:
            continue
        place = component.origins[0].place
        namespace = next((found for each in component.origins if (found := source.namespace(each.source))), "")
        ready = prepared_objects.prepare(rendition.objects, place=place, namespace=namespace, crds=crds)
        brought = requirements.needed_crds(ready.objects, others=crds, elsewhere=(), place=place)
        objects: list[Object] = [*ready.objects, *brought.crds]
        objects += [
            requirements.namespace_object(name) for name in requirements.missing_namespaces(objects, elsewhere=())
        ]
        ordered = manifest_contents.in_order(objects)
        text = manifest_contents.dump_objects(ordered)
        texts[component.name.rpartition("/")[2]] = text
        ids[component.name] = tuple(each.id for each in ordered)
        diagnostics += [*ready.diagnostics, *brought.diagnostics, *confidential.refused(ordered, (), place=place)]
        diagnostics += unstable_values.diagnostics(unstable_values.suspects(ordered, now=now), ordered, place=place)
        diagnostics += requirements.size_diagnostics(
            ordered, size=len(text.encode()), others=0, talos=talos, place=place
        )
    return InlineManifests(contents=texts, objects=ids, diagnostics=tuple(dict.fromkeys(diagnostics)))


def _wanted(platform: Platform, cluster: str) -> Iterator[Component]:
    """Inline components without an inline manifest in a file."""
    for each in platform.components_of(cluster):
        if each.phase == Phase.INLINE and not any(isinstance(one.source, Embedded) for one in each.origins):
            yield each
