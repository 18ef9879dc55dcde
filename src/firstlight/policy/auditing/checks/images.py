"""Images that are another thing tomorrow."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.model.finding import Evidence
from firstlight.plan import pods
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

_MOVING = re.compile(r"(latest|main|master|edge|nightly|stable)")
_DEEPEST = 12
Way = tuple[str | int, ...]


def untagged(scene: Scene) -> Iterator[Hit]:
    """Containers and chart values whose image has no tag, or one that moves; one finding for each workload."""
    for (group, kind), path in pods.TEMPLATES.items():
        for item in scene.of_kind(f"{group}/{kind}"):
            found = [*_containers(item.value, path)]
            if found:
                (way, image), *more = found
                yield Hit(
                    message=f"{item.object.id} runs {image}, which {_what(image)}",
                    place=item.object.at(*way),
                    clusters=(item.cluster,),
                    component=item.component.name,
                    evidence=tuple(Evidence(f"and {other}", item.object.at(*there)) for there, other in more),
                )
    yield from _charts(scene)


def _containers(value: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[Way, str]]:
    spec = mapping(value, *path, "spec")
    for key in ("initContainers", "containers"):
        for number, each in enumerate(sequence(spec, key)):
            image = text(each, "image")
            if image and _what(image):
                yield (*path, "spec", key, number, "image"), image


def _what(image: str) -> str:
    """What is wrong with an image; empty where it is fixed, or not known."""
    if "@" in image or "$" in image or "{" in image:
        return ""
    _, colon, tag = image.rpartition("/")[2].partition(":")
    if not colon:
        return "has no tag, so that it is latest"
    return f"is another image after each push to {tag}" if _MOVING.fullmatch(tag) else ""


def _charts(scene: Scene) -> Iterator[Hit]:
    for component in scene.platform.components:
        for layer in scene.values(component):
            if not layer.chart.name:
                continue
            found = [*_tags(layer.value, ())]
            if found:
                (way, tag), *more = found
                yield Hit(
                    message=f"{component.name} sets {'.'.join(map(str, way))}: {tag}, which is another image after "
                    "each push",
                    place=layer.at(*way),
                    clusters=(component.cluster,),
                    component=component.name,
                    evidence=tuple(
                        Evidence(f"{'.'.join(map(str, there))}: {each}", layer.at(*there)) for there, each in more
                    ),
                )


def _tags(value: Any, way: Way) -> Iterator[tuple[Way, str]]:
    """Tags of images in values: ``image.tag`` without a digest, at any depth."""
    if isinstance(value, list) and len(way) < _DEEPEST:
        for number, each in enumerate(value):
            yield from _tags(each, (*way, number))
    if not isinstance(value, Mapping) or len(way) >= _DEEPEST:
        return
    for key, inner in value.items():
        is_image = isinstance(key, str) and key.lower().endswith("image")
        if is_image and isinstance(inner, Mapping):
            tag = text(inner, "tag")
            if _MOVING.fullmatch(tag) and not text(inner, "digest"):
                yield (*way, key, "tag"), tag
        elif is_image and isinstance(inner, str) and ":" in inner and _what(inner):
            yield (*way, key), inner
        else:
            yield from _tags(inner, (*way, key))
