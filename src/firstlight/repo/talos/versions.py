"""Which version of a thing a set of manifests is, guessed from labels and images."""

import collections
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.repo.talos.config import mapping, sequence

_CHART = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]{0,80}?)-(?P<version>v?\d{1,4}\.\d{1,4}\.\d{1,6}[0-9A-Za-z.+_-]{0,60})"
)
_VERSION = re.compile(r"v?\d{1,6}(\.\d{1,6}){1,3}([-+_][0-9A-Za-z.+_-]{1,60})?")
_IN_URL = re.compile(r"(?<![0-9A-Za-z])v?\d{1,4}\.\d{1,4}\.\d{1,6}(?:-(?:alpha|beta|rc)[0-9.]{0,6})?(?![0-9A-Za-z])")


def of(objects: Iterable[Mapping[str, Any]], name: str) -> str:
    """The version that most objects claim: the chart's, the application's, or the tag of an image of that name."""
    charts: collections.Counter[str] = collections.Counter()
    applications: collections.Counter[str] = collections.Counter()
    images: list[str] = []
    for each in objects:
        labels = mapping(mapping(each.get("metadata")).get("labels"))
        if chart := _CHART.fullmatch(str(labels.get("helm.sh/chart", ""))):
            charts[chart["version"].replace("_", "+")] += 1
        application = str(labels.get("app.kubernetes.io/version", ""))
        if _VERSION.fullmatch(application):
            applications[application] += 1
        images += _images(each)
    for counted in (charts, applications):
        if counted:
            return counted.most_common(1)[0][0]
    return _of_images(images, name)


def in_url(url: str) -> str:
    """The version in a URL; the last one, since earlier ones may be those of an API."""
    found = _IN_URL.findall(url)
    return found[-1] if found else ""


def _of_images(images: Iterable[str], name: str) -> str:
    tags = {}
    for image in images:
        path, _, tag = image.partition("@")[0].rpartition(":")
        if path and _VERSION.fullmatch(tag):
            tags[path] = tag
    own = [tag for path, tag in tags.items() if name and name in path.split("/")[1:]]
    if own:
        return own[0]
    return next(iter(tags.values())) if len(set(tags.values())) == 1 else ""


def _images(value: Mapping[str, Any]) -> Iterator[str]:
    """The images of a workload's containers."""
    spec = mapping(value.get("spec"))
    for pod in (
        spec,
        mapping(mapping(spec.get("template")).get("spec")),
        mapping(mapping(mapping(mapping(spec.get("jobTemplate")).get("spec")).get("template")).get("spec")),
    ):
        for key in ("containers", "initContainers"):
            for container in sequence(pod.get(key)):
                image = mapping(container).get("image")
                if isinstance(image, str):
                    yield image
