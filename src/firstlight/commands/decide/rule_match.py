"""Whether a rule fits: a field that differs, or an object as a whole, against what the rule says of it."""

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from firstlight.commands.decide import talos_ways
from firstlight.commands.decide.rule_form import Scalar, When
from firstlight.document import path_patterns
from firstlight.model.change import Change, ChangedField, Matter
from firstlight.model.component import Component
from firstlight.model.source import ChartSource
from firstlight.plan import cluster_facts, manifest_diff, version_bump


@dataclasses.dataclass(frozen=True, slots=True)
class MatchSubject:
    """What changed, with one of the components that it belongs to: all but the fields."""

    change: Change
    component: Component | None
    kind: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, change: Change, component: Component | None = None) -> "MatchSubject":
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
            for source in cluster_facts.sources(origin):
                if isinstance(source, ChartSource):
                    yield source.name.rstrip("/").rpartition("/")[2]


class RuleCondition:
    """A ``When``, ready to be asked often."""

    def __init__(self, when: When) -> None:
        self._when = when
        self._kinds, self._files = path_patterns.kinds(when.kinds), path_patterns.files(when.files)
        self._names = path_patterns.names(when.names)
        self._needs_component = bool(when.roles or when.phases or when.owners)
        self._needs_field = bool(
            when.paths or when.values or when.bump or when.before or when.after or when.grows is not None
        )

    # Most are never asked for a field, and expressions take long to make.
    @functools.cached_property
    def _paths(self) -> re.Pattern[str] | None:
        return path_patterns.ways(self._when.paths)

    @functools.cached_property
    def _values(self) -> re.Pattern[str] | None:
        return path_patterns.ways(self._when.values)

    def fits_thing(self, thing: MatchSubject) -> bool:
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

    def fits_field(self, change: Change, field: ChangedField | None, way: str, values: Sequence[str]) -> bool:
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
        old_way = talos_ways.old_way(change, field) if self._paths else ""
        if field is None:
            # Talos's documents come and go as a whole where fields did.
            return self._is_of_ways and self._is_at("", old_way)
        if self._paths and not self._is_at(way, old_way):
            return False
        if self._values and not any(map(self._values.fullmatch, values)):
            return False
        if when.bump and not version_bump.is_any(field.before, field.after, when.bump):
            return False
        if when.grows is not None and grows(field.before, field.after) is not when.grows:
            return False
        return _is_any(field.before, when.before, field) and _is_any(field.after, when.after, field)

    @property
    def _is_of_ways(self) -> bool:
        """Whether nothing but the way to a field is asked for."""
        when = self._when
        is_more = when.values or when.bump or when.before or when.after or when.grows is not None
        return bool(when.paths) and not is_more

    def _is_at(self, *ways: str) -> bool:
        return self._paths is not None and any(self._paths.fullmatch(each) for each in ways if each)


def _is_clear(change: Change, field: ChangedField | None) -> bool:
    return field.is_clear if field is not None else any(each.is_clear for each in change.fields)


def _is_any(value: Any, wanted: tuple[Scalar, ...], field: ChangedField) -> bool:
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
    found = path_patterns.names([text])
    assert found is not None
    return found


# Whether a number, a quantity of Kubernetes or a time grows.


_TIMES = re.compile(r"(?:(\d{1,20}(?:\.\d{1,20})?)(ms|us|ns|s|m|h|d|w|y))")
_SECONDS = {
    "ns": Decimal("1e-9"), "us": Decimal("1e-6"), "ms": Decimal("1e-3"), "s": Decimal(1), "m": Decimal(60),
    "h": Decimal(3600), "d": Decimal(86400), "w": Decimal(604800), "y": Decimal(31536000),
}  # fmt: skip


def grows(before: Any, after: Any) -> bool | None:
    """Whether something grows; None where that cannot be said, or nothing differs."""
    for parse in (_quantity, _time):
        old, new = _parsed(parse, before), _parsed(parse, after)
        if old is not None and new is not None:
            return None if old == new else new > old
    return None


def _parsed(parse: Callable[[str], Decimal | None], value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = parse(str(value).strip()) if isinstance(value, str) else Decimal(str(value))
    except InvalidOperation:
        return None
    return found if found is not None and found.is_finite() else None


def _quantity(text: str) -> Decimal | None:
    found = manifest_diff.quantity_value(text.removesuffix("%"))
    return found / 100 if found is not None and text.endswith("%") else found


def _time(text: str) -> Decimal | None:
    """A time as Go and Prometheus write it: ``1h30m``, ``15d``."""
    if not text or _TIMES.sub("", text):
        return None
    return sum((Decimal(number) * _SECONDS[unit] for number, unit in _TIMES.findall(text)), Decimal(0))
