"""Images and replica counts, replaced."""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.repo.kustomize import fields, pattern
from firstlight.repo.kustomize.fields import FieldSpec
from firstlight.repo.kustomize.problem import Problem
from firstlight.repo.kustomize.resource import Resource

_TAG = "(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?"
_DEEPEST = 100
"""Levels of an object that are searched for containers; the reader refuses deeper documents anyway."""


def replaced(resources: Sequence[Resource], image: Mapping[str, Any], specs: Sequence[FieldSpec]) -> list[Resource]:
    """Objects with an image replaced, wherever it is used by containers.

    Raises:
        Problem: The entry has no name.
    """
    if not image.get("name"):
        raise Problem("an entry of images needs a name")

    def edit(value: Any) -> Any:
        return _updated(value, image) if isinstance(value, str) else value

    found = []
    for resource in resources:
        if resource.gvk.kind == "CustomResourceDefinition":
            found.append(resource)
            continue
        value = _in_containers(resource.value, edit, 0)
        wanted = [each for each in specs if resource.gvk.is_selected(each.gvk)]
        found.append(resource.changed(fields.applied(value, wanted, edit, None)))
    return found


def _in_containers(value: Any, edit: Any, depth: int) -> Any:
    """What is called containers or initContainers, at any depth."""
    if depth > _DEEPEST:
        return value
    if isinstance(value, list):
        items = [_in_containers(each, edit, depth + 1) for each in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if not isinstance(value, dict):
        return value
    found = value
    for name, each in value.items():
        new = _in_containers(each, edit, depth + 1)
        if name in ("containers", "initContainers") and isinstance(new, list):
            new = fields.change(new, ("image",), edit, create=None) if all(isinstance(i, dict) for i in new) else new
        if new is not each:
            found = {**found, name: new}
    return found


def _updated(text: str, image: Mapping[str, Any]) -> str:
    wanted = str(image["name"])
    if wanted[0].isalnum() and wanted[0] != text[:1]:
        return text  # nearly all images end here
    if not pattern.matches(wanted + _TAG, text):
        return text
    name, tag, digest = split(text)
    new_tag, new_digest = str(image.get("newTag") or ""), str(image.get("digest") or "")
    name = str(image.get("newName") or name)
    if new_tag or new_digest:
        tag, digest = new_tag, new_digest
    elif image.get("tagSuffix"):
        tag, digest = tag + str(image["tagSuffix"]), ""
    return name + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")


def split(text: str) -> tuple[str, str, str]:
    """The name of an image, its tag and its digest; a port in the name is no tag."""
    start = max(text.find("/"), 0)
    at, colon = text.find("@", start), text.find(":", start)
    if at >= 0 and (at < colon or colon < 0):
        return text[:at], "", text[at + 1 :]
    if colon < 0:
        return text, "", ""
    end = at if at >= 0 else len(text)
    return text[:colon], text[colon + 1 : end], text[at + 1 :] if at >= 0 else ""


def scaled(resources: Sequence[Resource], replica: Mapping[str, Any], specs: Sequence[FieldSpec]) -> list[Resource]:
    """Objects with a replica count set.

    Raises:
        Problem: No object has that name.
    """
    name, count = str(replica.get("name") or ""), replica.get("count")
    found = []
    is_met = False
    for resource in resources:
        names = [resource.id, *resource.previous_ids]
        wanted = [each for each in specs if any(i.name == name and i.gvk.is_selected(each.gvk) for i in names)]
        is_met = is_met or bool(wanted)
        found.append(resource.changed(fields.applied(resource.value, wanted, lambda _: count, int)))
    if not is_met:
        raise Problem(f"no workload is called {name!r} for replicas")
    return found
