"""What an engine adds to the kustomization of a directory before it is built."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.model.place import Place
from firstlight.repo.kustomize.kustomization import Kustomization

_REPLACED = ("namespace", "namePrefix", "nameSuffix")
_APPENDED = ("components", "patches", "patchesStrategicMerge", "patchesJson6902")


@dataclasses.dataclass(frozen=True)
class Overlay:
    """Fields of a kustomization, and who adds them."""

    place: Place
    fields: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)


def laid_over(kustomization: Kustomization, overlay: Overlay) -> Kustomization:
    """A kustomization as the engine would write it to disk before it builds."""
    value = dict(kustomization.value)
    own = {}
    for name in _REPLACED:
        if name in overlay.fields:
            value[name] = overlay.fields[name]
    for name in _APPENDED:
        if more := overlay.fields.get(name):
            own[name] = len(kustomization.entries(name))
            value[name] = [*kustomization.entries(name), *more]
    if images := overlay.fields.get("images"):
        value["images"] = _images(kustomization.entries("images"), images)
    return dataclasses.replace(kustomization, value=value, own=own, origin=overlay.place)


def _images(own: Sequence[Any], more: Sequence[Any]) -> list[Any]:
    """Both lists, an image of the second on top of the one with its name; a tag takes the place of a digest."""
    found = [dict(each) if isinstance(each, dict) else each for each in own]
    for image in more:
        same = next((each for each in found if isinstance(each, dict) and each.get("name") == image.get("name")), None)
        if same is None:
            found.append(image)
            continue
        if image.get("newName"):
            same["newName"] = image["newName"]
        if image.get("newTag") or image.get("digest"):
            same["newTag"], same["digest"] = image.get("newTag"), image.get("digest")
    return found
