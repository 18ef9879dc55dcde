"""Fields of Flux's objects that their CRDs do not have: the API refuses the object, or drops the field."""

import difflib
import functools
import importlib.resources
import json
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document import within
from firstlight.model.finding import Finding
from firstlight.repo.platform_view import AppliedObject, PlatformView

_TABLE = "flux_fields.json"
"""From the CRDs themselves: tests/flux_fields.py writes it."""
_TOP = frozenset({"apiVersion", "kind", "metadata", "spec", "status", "sops"})
_MARKS = ("$", "{{", "<<")
_DEEPEST = 20
_SHOWN = 3

Way = tuple[str | int, ...]


def unknown_fields(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Fields that no version of a CRD has; one finding for each, and silence about APIs that are not in the table."""
    for kind in list(scene.kinds()):
        group, _, name = kind.rpartition("/")
        if not any(each.startswith(f"{group}/") and each.endswith(f"/{name}") for each in _table()):
            continue
        for item in scene.of_kind(kind):
            fields = _table().get(f"{item.value.get('apiVersion')}/{name}")
            if fields is not None:
                yield from _of_object(rule, item, fields)


def _of_object(rule: AuditRule, item: AppliedObject, fields: Mapping[str, Any]) -> Iterator[Finding]:
    ways = [(str(key),) for key in item.value if str(key) not in _TOP and not _is_templated(key)]
    found: list[tuple[Way, Mapping[str, Any]]] = [(way, {"spec": None}) for way in ways]
    found += _unknown(within.at(item.value, "spec"), fields, ("spec",))
    for way, known in found[:_SHOWN]:
        written = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in way)[1:]
        yield rule.finding(
            f"{item.object.id.kind} {item.object.id.name} has no field {written}",
            at=item.object.at(*way),
            clusters=(item.cluster,),
            subject=item.component.name,
            fix=_fix(str(way[-1]), written, known, fields),
        )


def _unknown(value: Any, fields: Any, way: Way) -> Iterator[tuple[Way, Mapping[str, Any]]]:
    """Yield the ways to unknown fields, each with what is known beside them."""
    if fields is None or len(way) > _DEEPEST:
        return
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from _unknown(each, fields, (*way, number))
    elif isinstance(value, Mapping):
        for key, each in value.items():
            name = str(key)
            if name in fields:
                yield from _unknown(each, fields[name], (*way, name))
            elif "*" in fields:
                yield from _unknown(each, fields["*"], (*way, name))
            elif not _is_templated(name):
                yield (*way, name), fields


def _is_templated(name: object) -> bool:
    return any(each in str(name) for each in _MARKS)


def _fix(name: str, written: str, known: Mapping[str, Any], fields: Mapping[str, Any]) -> str:
    """Return what was probably meant: a similar name in the same place, or the same name in another one."""
    near = difflib.get_close_matches(name, [each for each in known if each != "*"], n=1, cutoff=0.75)
    if near:
        return f"Write {near[0]} instead of {name}."
    elsewhere = sorted(set(_places(fields, name, "spec")))
    if len(elsewhere) == 1:
        return f"Move it to {elsewhere[0]}."
    return f"Take {written} away, or look for its place in the API reference."


def _places(fields: Any, name: str, above: str) -> Iterator[str]:
    for key, each in fields.items() if isinstance(fields, Mapping) else ():
        if key == name:
            yield f"{above}.{key}"
        yield from _places(each, name, f"{above}.{key}")


@functools.cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    """Return the fields of spec by ``group/version/Kind``; ``*`` stands for any name, None for anything below."""
    file = importlib.resources.files("firstlight.commands.audit") / _TABLE
    found: dict[str, Mapping[str, Any]] = json.loads(file.read_bytes())
    return found
