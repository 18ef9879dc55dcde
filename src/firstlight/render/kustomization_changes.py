"""What engines write into the kustomization of a directory before they build it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from firstlight import errors
from firstlight.model.place import Place
from firstlight.repo.argocd.definition import items, mapping, text
from firstlight.repo.kustomize import overlay
from firstlight.repo.kustomize.kustomization import Kustomization
from firstlight.repo.kustomize.overlay import Overlay

Change = Callable[[Kustomization], Mapping[str, Any]]
"""A kustomization as the engine writes it."""

_KEPT = "*"
"""What stands for a part of an image that is to stay as the kustomization has it."""
_IMAGE = re.compile(r"(?P<name>[^:@]*(?::[0-9]+/[^:@]*)?)(?::(?P<tag>[^@]*))?(?:@(?P<digest>.*))?")


def none(kustomization: Kustomization) -> Mapping[str, Any]:
    """Nothing is changed."""
    return kustomization.value


def by_flux(fields: Mapping[str, Any], place: Place) -> Change:
    """What a Flux Kustomization adds: ``fields`` as its overlay has them, and buildMetadata."""

    def change(kustomization: Kustomization) -> Mapping[str, Any]:
        changed = overlay.laid_over(kustomization, Overlay(place, fields))
        value = dict(changed.value)
        for field in ("patchesStrategicMerge", "patchesJson6902"):
            if fields.get(field):
                value[field] = [_written(each) for each in changed.entries(field)]
        if kustomization.file and not kustomization.entries("resources"):
            # Flux asks for annotations with the origin where there are no resources, lest the file be empty.
            value["buildMetadata"] = ["originAnnotations"]
        if fields.get("buildMetadata"):
            value["buildMetadata"] = fields["buildMetadata"]
        return value

    return change


def by_argocd(options: Mapping[str, Any], filled: Callable[[str], str], components: Sequence[str]) -> Change:
    """What the ``kustomize edit`` commands of Argo CD's repo server change.

    Args:
        options: The Application's ``kustomize``.
        filled: Puts Argo CD's variables into a text.
        components: Those that are to be added.

    Raises:
        errors.UsageError: kustomize refuses it; raised when a kustomization is changed.
    """

    def change(kustomization: Kustomization) -> Mapping[str, Any]:
        value = dict(kustomization.value)
        for field in ("namePrefix", "nameSuffix", "namespace"):
            if text(options.get(field)):
                value[field] = text(options[field])
        if images := [filled(text(each)) for each in items(options.get("images"))]:
            value["images"] = _images(kustomization.entries("images"), images)
        if replicas := items(options.get("replicas")):
            value["replicas"] = _replicas(kustomization.entries("replicas"), replicas)
        labels = {str(name): filled(text(each)) for name, each in mapping(options.get("commonLabels")).items()}
        if labels:
            _add_labels(value, labels, options)
        annotations = {str(name): text(each) for name, each in mapping(options.get("commonAnnotations")).items()}
        if options.get("commonAnnotationsEnvsubst") is True:
            annotations = {name: filled(each) for name, each in annotations.items()}
        if annotations:
            forced = options.get("forceCommonAnnotations") is True
            value["commonAnnotations"] = _added(value.get("commonAnnotations"), annotations, "annotation", forced)
        if patches := [each for each in items(options.get("patches")) if isinstance(each, Mapping)]:
            value["patches"] = [*items(value.get("patches")), *patches]
        if components:
            value["components"] = list(dict.fromkeys([*items(value.get("components")), *components]))
        return value

    return change


def _written(patch: Any) -> Any:
    """A patch as kustomize wants it: a text; Flux lets people write it as YAML in YAML."""
    if isinstance(patch, dict) and isinstance(patch.get("patch"), list):
        return {**patch, "patch": msgspec.json.encode(patch["patch"]).decode()}
    if isinstance(patch, dict) and "kind" in patch:
        return msgspec.json.encode(patch).decode()
    return patch


def _images(own: Sequence[Any], written: Sequence[str]) -> list[dict[str, Any]]:
    found = {str(each.get("name")): dict(each) for each in own if isinstance(each, dict)}
    for each in written:
        name, image = _image(each)
        before = found.get(name, {})
        kept = {key: before.get(key, "") if value == _KEPT else value for key, value in image.items()}
        found[name] = {"name": name, **{key: value for key, value in kept.items() if value}}
    return [found[name] for name in sorted(found)]


def _image(written: str) -> tuple[str, dict[str, str]]:
    """``name=new:tag@digest`` in parts."""
    key, has_key, rest = written.partition("=")
    match = _IMAGE.fullmatch(rest if has_key else written) if len(written) < 1000 else None
    if match is None or (not has_key and match["name"] == written):
        raise errors.UsageError(f"{written[:100]!r} is not an image with a tag, a digest or another name")
    parts = {"newName": match["name"] if has_key else "", "newTag": match["tag"] or "", "digest": match["digest"] or ""}
    return (key if has_key else match["name"]), parts


def _replicas(own: Sequence[Any], wished: Sequence[Any]) -> list[dict[str, Any]]:
    found = {str(each.get("name")): dict(each) for each in own if isinstance(each, dict)}
    for each in map(mapping, wished):
        count = text(each.get("count"))
        if not count.isdecimal():
            raise errors.UsageError(f"{count[:40]!r} is no number of replicas")
        found[text(each.get("name"))] = {"name": text(each.get("name")), "count": int(count)}
    return list(found.values())


def _add_labels(value: dict[str, Any], labels: Mapping[str, str], options: Mapping[str, Any]) -> None:
    forced = options.get("forceCommonLabels") is True
    if options.get("labelWithoutSelector") is not True:
        value["commonLabels"] = _added(value.get("commonLabels"), labels, "label", forced)
        return
    templates = options.get("labelIncludeTemplates") is True
    entries = [dict(each) if isinstance(each, dict) else each for each in items(value.get("labels"))]
    same = next(_matching(entries, templates), None)
    if same is None:
        same = {"pairs": {}, "includeSelectors": False, **({"includeTemplates": True} if templates else {})}
        entries.append(same)
    same["pairs"] = _added(same.get("pairs"), labels, "label", forced)
    value["labels"] = entries


def _matching(entries: Sequence[Any], templates: bool) -> Iterator[dict[str, Any]]:
    for each in entries:
        if (
            isinstance(each, dict)
            and not each.get("includeSelectors")
            and bool(each.get("includeTemplates")) == templates
        ):
            yield each


def _added(own: Any, more: Mapping[str, str], what: str, forced: bool) -> dict[str, Any]:
    for name in more:
        if name in mapping(own) and not forced:
            raise errors.UsageError(
                f"the {what} {name[:100]} is in the kustomization already, and is not forced over it"
            )
    return {**mapping(own), **more}
