"""Which of the components that a file declares a field of it is about: by names in the way to it, or by lines."""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.document import within
from firstlight.model.change import Change, Field, Matter, Verb
from firstlight.model.component import Component, Origin
from firstlight.model.place import Place
from firstlight.model.source import Chart, Embedded
from firstlight.policy.deciding.touching import Scene

_NAMED = re.compile(r"\[name=(?P<name>.*)\]", re.DOTALL)
_VARIABLES = {"vars", "env", "dotenv"}
"""What a Taskfile calls values that commands of all its tasks may use."""
_ASSIGNED = re.compile(r"[A-Za-z_][\w.-]*")
_HIDDEN = "***"
"""What stands in a change where something secret was, perhaps the name that is looked for."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Anchor:
    """A place of the file at which a component is declared, or the repository of its chart."""

    component: Component
    origin: Origin
    line: int


def concerned(
    change: Change, field: Field | None, components: Sequence[Component], *, scene: Scene
) -> tuple[Component, ...]:
    """The components that a field is about, of those that the change belongs to."""
    if change.matter is Matter.MACHINE:
        if field is None and change.verb in (Verb.ADDED, Verb.REMOVED):  # with all that stands in it
            return tuple(components)
        steps = field.steps if field is not None else ()
        return tuple(each for each in components if any(_is_inline_at(origin, steps) for origin in each.origins))
    if field is None or change.matter not in (Matter.RELEASE, Matter.SCRIPT):
        return tuple(components)
    paths = {change.place.path, change.old_path}
    anchors = [
        _Anchor(component, origin, origin.place.line)
        for component in components
        for origin in _origins(component, field, scene)
        if origin.place.path in paths
    ]
    if not anchors:
        return tuple(components)
    is_helmfile = change.matter is Matter.RELEASE
    chosen = _of_release(field, anchors, paths) if is_helmfile else _of_script(change, field, anchors)
    if chosen is None:
        return tuple(components)
    found = {id(each.component) for each in chosen}
    return tuple(each for each in components if id(each) in found)


def _origins(component: Component, field: Field, scene: Scene) -> Iterator[Origin]:
    """A component's origins in the state in which the field's line counts, and then those in the other one."""
    key = (component.cluster, component.name)
    once = scene.before.named(*key) if scene.before is not None else ()
    now = scene.after.named(*key)
    first, then = (once, now) if field.verb is Verb.REMOVED else (now, once)
    seen: set[str] = set()
    for each in (*first, *then, component):
        for origin in each.origins:
            if origin.id not in seen:
                yield origin
        seen |= {origin.id for origin in each.origins}


def _of_release(field: Field, anchors: Sequence[_Anchor], paths: set[str]) -> Sequence[_Anchor] | None:
    """Of a helmfile; None where the field is for all of its releases."""
    section, *inner = field.steps or ("",)
    if section == "releases":
        match = _NAMED.fullmatch(inner[0]) if inner else None
        if match is not None and "{{" not in match["name"]:
            # One that is declared and not installed is no component's.
            return [each for each in anchors if each.origin.name == match["name"]]
        return _nearest(field.place, anchors)
    if section == "repositories":
        charts = [
            _Anchor(each.component, each.origin, each.origin.source.origin.line)
            for each in anchors
            if isinstance(each.origin.source, Chart)
            and each.origin.source.origin is not None
            and each.origin.source.origin.path in paths
        ]
        return _nearest(field.place, charts)
    return None


def _of_script(change: Change, field: Field, anchors: Sequence[_Anchor]) -> Sequence[_Anchor] | None:
    """Of a Taskfile or script; None where the field may be for all of its commands."""
    name = _variable(field)
    if name:
        users = [each for each in anchors if _uses(each.origin.command, name, field)]
        return users or None
    if field.steps[:1] == ("tasks",) and len(field.steps) > 1:
        text = _task(change, field)
        if text and not any(each in text for each in ("{{", "$", _HIDDEN)):
            mine = [each for each in anchors if each.origin.name in text]
            return _nearest(field.place, mine) or mine
    return _nearest(field.place, anchors)


def _nearest(place: Place, anchors: Sequence[_Anchor]) -> Sequence[_Anchor] | None:
    """Whatever begins last before a line or on it; None where nothing does."""
    above = [each.line for each in anchors if 0 < each.line <= place.line]
    return [each for each in anchors if each.line == max(above)] if above else None


def _variable(field: Field) -> str:
    """The name of the variable that a field sets; empty where it is none."""
    if field.steps[0] in _VARIABLES:
        return field.steps[1] if len(field.steps) > 1 else ""
    is_line = len(field.steps) == 2 and field.steps[0].startswith("line ")
    return field.steps[1] if is_line and _ASSIGNED.fullmatch(field.steps[1]) else ""


def _uses(command: str, name: str, field: Field) -> bool:
    """Whether a command has the variable, or what it was or will be."""
    if re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", command):
        return True
    values = [str(each) for each in (field.before, field.after) if each is not None and len(str(each)) > 2]
    return any(value in command for value in values)


def _task(change: Change, field: Field) -> str:
    """All that the task of a field says, as it was and as it will be."""
    states: tuple[Mapping[str, Any] | None, ...] = (change.before, change.after)
    found = [within.at(each, "tasks", field.steps[1]) for each in states if each is not None]
    return " ".join(str(each) for each in found if each is not None)


def _is_inline_at(origin: Origin, steps: Sequence[str]) -> bool:
    """Whether it stands inline where a field of a machine config is."""
    if not isinstance(origin.source, Embedded):
        return False
    # Items are told apart by their names, or else by their numbers.
    numbers = [f"[{each}]" for each in origin.source.steps if isinstance(each, int)]
    lists = [place for place, each in enumerate(steps) if each in ("inlineManifests", "manifests")]
    return any(steps[place + 1 : place + 2] in ((f"[name={origin.name}]",), (*numbers[-1:],)) for place in lists)
