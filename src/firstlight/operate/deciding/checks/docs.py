"""Whether the documentation still tells the truth: files that name what was changed, and were not touched."""

import re
from collections.abc import Iterator

from firstlight.model.change import Matter
from firstlight.model.decision import Decision
from firstlight.model.place import Place
from firstlight.operate.deciding.checks import scene as scenes
from firstlight.operate.deciding.checks.scene import Scene
from firstlight.policy.checking import note
from firstlight.policy.checking.note import Note
from firstlight.repo.changing import matter

_LEGAL = ("license", "licence", "notice")
"""Documentation that tells nothing of the platform."""
_VERSION = re.compile(r"v?\d+\.\d+(?:\.\d+)?(?:[-+.][0-9A-Za-z.-]+)?")
_WORTH = 1 << 20
_MOST = 3


async def look(decision: Decision, scene: Scene) -> list[Note]:
    """What documentation names of it, and whether that was touched; a version that is stale is a failure."""
    names = sorted({each.component.rpartition("/")[2] for each in scenes.meant(decision, scene)})
    changed = [each for each in scene.paths if matter.is_documentation(each)]
    if not names:
        only = all(each.change.matter in (Matter.DOCUMENTATION, Matter.TOOLING) for each in decision.items)
        if only:
            return [note.skipped("it touches no component that documentation could name")]
        return [note.person("nothing tells which words to look for", todo="see that the documentation is still right")]
    notes: list[Note] = []
    for name in names:
        notes += _of(name, decision, scene, changed)
    return notes


def _of(name: str, decision: Decision, scene: Scene, changed: list[str]) -> list[Note]:
    places = list(_named(name, scene))
    stale = [
        note.failed(f"{place.path} still says {name} {old}", todo=f"write {new}", place=place)
        for place, line in places
        for old, new in _versions(name, decision)
        if re.search(rf"(?<![\w.])v?{re.escape(old.removeprefix('v'))}(?![\w.]*\w)", line)
    ]
    if stale:
        return stale
    touched = [each for each in changed if any(place.path == each for place, _ in places)]
    if touched:
        return [note.passed(f"{', '.join(touched[:_MOST])} names {name}, and is a part of the change")]
    if not places:
        return [note.passed(f"no documentation names {name}, so that there is none to change")]
    first = {place.path: place for place, _ in reversed(places)}
    shown = ", ".join(str(place) for place in sorted(first.values())[:_MOST])
    more = f" and {len(first) - _MOST} more" if len(first) > _MOST else ""
    return [note.person(f"{shown}{more} names {name}, and was not touched", todo="see that it is still right")]


def _named(name: str, scene: Scene) -> Iterator[tuple[Place, str]]:
    """Where documentation names a component as a word of its own, with the line."""
    word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE)
    for path in scene.after.tree.files:
        if not matter.is_documentation(path) or path.rpartition("/")[2].lower().startswith(_LEGAL):
            continue
        data = scene.after.tree.bytes(path)
        if data is None or len(data) > _WORTH or b"\0" in data:  # a picture, say
            continue
        for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
            if word.search(line):
                yield Place(path, number), line


def _versions(name: str, decision: Decision) -> Iterator[tuple[str, str]]:
    """Versions of a component that became others."""
    for item in decision.items:
        if not any(each.component.rpartition("/")[2] == name for each in item.touched):
            continue
        for field in item.change.fields:
            old, new = field.before, field.after
            if field.is_secret or not (isinstance(old, str) and isinstance(new, str)):
                continue
            if old != new and _VERSION.fullmatch(old) and _VERSION.fullmatch(new):
                yield old, new
