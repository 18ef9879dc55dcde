"""Whether a rule fits: a field that differs, or an object as a whole, against what the rule says of it."""

import dataclasses
import functools
import re
from collections.abc import Iterable, Sequence
from typing import Any

from firstlight.model.change import Change, Field, Matter
from firstlight.model.component import Component
from firstlight.model.source import Chart
from firstlight.plan import facts as plan_facts
from firstlight.policy.deciding import patterns, quantities, versions
from firstlight.policy.deciding.form import Scalar, When


@dataclasses.dataclass(frozen=True, slots=True)
class Thing:
    """What changed, with one of the components that it belongs to: all but the fields."""

    change: Change
    component: Component | None
    kind: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, change: Change, component: Component | None = None) -> "Thing":
        """A change seen with one of its components, or without any."""
        return cls(change, component, kind_of(change), tuple(_names(change, component)))


def kind_of(change: Change) -> str:
    """The kind as rules write it: ``apps/Deployment``, ``/Secret``, ``talos/v1alpha1``; empty for what has none."""
    if change.matter is Matter.MACHINE:
        return f"talos/{change.kind}" if change.kind else ""
    if change.object is not None:
        return f"{change.object.group}/{change.object.kind}"
    return f"/{change.kind}" if change.kind else ""


def _names(change: Change, component: Component | None) -> Iterable[str]:
    if change.object is not None and change.object.name:
        yield change.object.name
    if component is not None:
        yield component.name
        if "/" in component.name:  # kustomization/cilium is called cilium
            yield component.name.rpartition("/")[2]
        for origin in component.origins:
            for source in plan_facts.sources(origin):
                if isinstance(source, Chart):
                    yield source.name.rstrip("/").rpartition("/")[2]


class Condition:
    """A ``When``, ready to be asked often."""

    def __init__(self, when: When) -> None:
        self._when = when
        self._kinds, self._files = patterns.kinds(when.kinds), patterns.files(when.files)
        self._names = patterns.names(when.names)
        self._needs_component = bool(when.roles or when.phases or when.owners)
        self._needs_field = bool(
            when.paths or when.values or when.bump or when.before or when.after or when.grows is not None
        )

    # Most are never asked for a field, and expressions take long to make.
    @functools.cached_property
    def _paths(self) -> re.Pattern[str] | None:
        return patterns.ways(self._when.paths)

    @functools.cached_property
    def _values(self) -> re.Pattern[str] | None:
        return patterns.ways(self._when.values)

    def fits_thing(self, thing: Thing) -> bool:
        """Whether all but the fields is as it must be."""
        when, change = self._when, thing.change
        if when.matter and change.matter not in when.matter:
            return False
        if when.hooked is not None and when.hooked != change.is_hooked:
            return False
        if self._kinds and not self._kinds.fullmatch(thing.kind):
            return False
        if self._files and not any(
            each and self._files.fullmatch(each) for each in (change.place.path, change.old_path)
        ):
            return False
        if self._names and not any(map(self._names.fullmatch, thing.names)):
            return False
        if not self._needs_component:
            return True
        component = thing.component
        return component is not None and not (
            (when.roles and component.role not in when.roles)
            or (when.phases and component.phase not in when.phases)
            or (when.owners and component.owner not in when.owners)
        )

    def fits_field(self, change: Change, field: Field | None, way: str, values: Sequence[str]) -> bool:
        """Whether a field, or the object as a whole, is as it must be; ``way`` leads to it, and any of ``values``."""
        when = self._when
        if when.whole is not None and when.whole != (field is None):
            return False
        if when.clear is not None and when.clear != _is_clear(change, field):
            return False
        if when.verb and (field.verb if field is not None else change.verb) not in when.verb:
            return False
        if not self._needs_field:
            return True
        if field is None:
            return False
        if self._paths and not self._paths.fullmatch(way):
            return False
        if self._values and not any(map(self._values.fullmatch, values)):
            return False
        if when.bump and not versions.is_any(field.before, field.after, when.bump):
            return False
        if when.grows is not None and quantities.grows(field.before, field.after) is not when.grows:
            return False
        return _is_any(field.before, when.before, field) and _is_any(field.after, when.after, field)


def _is_clear(change: Change, field: Field | None) -> bool:
    return field.is_clear if field is not None else any(each.is_clear for each in change.fields)


def _is_any(value: Any, wanted: tuple[Scalar, ...], field: Field) -> bool:
    """Whether a value is one of those that are wanted; of what is secret nobody can say."""
    if not wanted:
        return True
    return not field.is_secret and any(_is(value, each) for each in wanted)


def _is(value: Any, wanted: Scalar) -> bool:
    # A star alone is what rules of RBAC say for everything.
    if isinstance(wanted, str) and "*" in wanted and wanted != "*" and isinstance(value, str):
        return _star(wanted).fullmatch(value) is not None
    # Python takes 1 for true; people do not.
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


@functools.lru_cache(maxsize=1000)
def _star(text: str) -> re.Pattern[str]:
    found = patterns.names([text])
    assert found is not None
    return found
