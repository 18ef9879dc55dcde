"""Patches of Kustomizations that find nothing to patch: kustomize passes over them without a word."""

import re
from collections.abc import Iterator
from typing import Any

from firstlight.document.within import at, mapping, sequence, text
from firstlight.model.component import Form, Stated
from firstlight.model.finding import Evidence
from firstlight.model.source import Directory
from firstlight.policy.auditing import kustomize_files
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene


def without_objects(scene: Scene) -> Iterator[Hit]:
    """Patches of Flux's Kustomizations for an object that, by its name before variables are put in, is not there."""
    for component in scene.platform.components:
        for origin in component.origins:
            if origin.form is not Form.KUSTOMIZATION or not origin.stated or not isinstance(origin.source, Directory):
                continue
            if not sequence(origin.definition, "spec", "patches"):
                continue
            declaring = scene.declaring(origin)
            written = origin.definition if declaring is None else _raw(scene, declaring)
            own = [mapping(each, "target") for each in sequence(written, "spec", "patches")]
            has_all = not _has_remote(scene, origin.source.path)
            for number, patch in enumerate(sequence(origin.definition, "spec", "patches")):
                target = mapping(patch, "target")
                kind, name = text(target, "kind"), text(target, "name")
                same = [each for each in origin.stated if each.id.kind == kind]
                if not kind or not name or any(_is_found(scene, each, name) for each in same):
                    continue
                late = next((each for each in same if re.fullmatch(name, each.id.name)), None)
                # What the one above patches into all that it brings is not for each of them.
                if late is None and (not has_all or target not in own):
                    continue
                why = ": its name is a variable still when patches are applied" if late else ""
                place = declaring.at("spec", "patches", number, "target") if declaring else origin.place
                yield Hit(
                    message=f"a patch of {origin.name} is for {kind} {name}, and finds none{why}",
                    place=place,
                    clusters=(component.cluster,),
                    component=component.name,
                    evidence=(Evidence(f"{late.id} is written as {_written(scene, late)}", late.place),)
                    if late
                    else (),
                )


def _is_found(scene: Scene, stated: Stated, name: str) -> bool:
    written = _written(scene, stated)
    try:
        return bool(re.fullmatch(name, written or stated.id.name))
    except re.error:
        return True  # what Go may understand is taken for found


def _written(scene: Scene, stated: Stated) -> str:
    """Its name as it stands in its file; empty where something made it."""
    return text(_raw(scene, stated), "metadata", "name")


def _raw(scene: Scene, stated: Stated) -> Any:
    """An object as it stands in its file; None where something made it."""
    if stated.way is None:
        return None
    index, steps = stated.way
    documents = [each for each in scene.files.documents(stated.place.path) if each.index == index]
    return at(documents[0].value, *steps) if documents else None


def _has_remote(scene: Scene, directory: str) -> bool:
    """Whether a directory takes something from elsewhere, which may be what is patched."""
    remote = {each.place.path for each in scene.platform.remarks if "is elsewhere, and not fetched" in each.message}
    return bool(remote and remote & kustomize_files.reached(scene.files, [directory]))
