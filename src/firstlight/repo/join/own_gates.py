"""The gates that firstlight.yaml declares for a component, and what is wrong with them."""

import math
from collections.abc import Iterator
from urllib.parse import urlsplit

from msgspec import UNSET

from firstlight.gates import fields
from firstlight.model import own_gate
from firstlight.model.own_gate import OwnGate
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.repo.declaration import form
from firstlight.repo.declaration.reading import Declaration

_KINDS = ("condition", "field", "cel", "http", "command")
_LONGEST = 3600.0
"""Seconds for one try; whoever needs longer has something else in mind."""


def of(declaration: Declaration, name: str) -> tuple[OwnGate, ...]:
    """The gates of a component; those that are wrong are left out, and named by ``problems``."""
    gates = declaration.platform.components[name].gates
    return tuple(
        _made(each, declaration.place("components", name, "gates", number))
        for number, each in enumerate(gates)
        if not [*_wrong(each)]
    )


def problems(declaration: Declaration) -> Iterator[Remark]:
    """Everything that is wrong with declared gates, beyond what the schema says."""
    for name, component in declaration.platform.components.items():
        for number, each in enumerate(component.gates):
            for step, message, hint in _wrong(each):
                place = declaration.place("components", name, "gates", number, *step)
                yield Remark(place, Grade.ERROR, f"components.{name}.gates[{number}] {message}", hint)


def _wrong(gate: form.Gate) -> Iterator[tuple[tuple[str, ...], str, str]]:
    given = [kind for kind in _KINDS if getattr(gate, kind) is not UNSET]
    if len(given) != 1:
        said = f"has {' and '.join(given)}" if given else "is empty"
        yield (), said, f"Write one of {', '.join(_KINDS)}."
        return
    if gate.field is not UNSET and fields.steps(gate.field.path) is None:
        hint = "Write it like status.phase, status.members[0].state or metadata.labels['example.org/tier']."
        yield ("field", "path"), f"has no path in {gate.field.path}", hint
    if gate.http is not UNSET:
        yield from _wrong_url(gate.http)
    for kind, timed in (("http", gate.http), ("command", gate.command)):
        if timed is not UNSET and not (math.isfinite(timed.timeout) and 0 < timed.timeout <= _LONGEST):
            yield (kind, "timeout"), "has a timeout that is none", f"Write seconds, up to {_LONGEST:g}."


def _wrong_url(gate: form.HttpGate) -> Iterator[tuple[tuple[str, ...], str, str]]:
    try:
        url = urlsplit(gate.url)
        is_url = url.scheme in ("http", "https") and bool(url.hostname)
    except ValueError:
        is_url = False
    else:
        if url.password or url.username:
            yield ("http", "url"), "has a login in its URL", "Leave it out: the URL is shown and kept."
            return
    if not is_url:
        yield ("http", "url"), "has a URL that is none", "Write http:// or https:// and a host."
    if not 100 <= gate.status <= 599:
        yield ("http", "status"), f"waits for the status {gate.status}", "Write a status of HTTP, such as 200."


def _made(gate: form.Gate, place: Place) -> OwnGate:
    if gate.condition is not UNSET:
        found = gate.condition
        return own_gate.ConditionGate(place=place, object=_watched(found), type=found.type, status=found.status)
    if gate.field is not UNSET:
        return own_gate.FieldGate(
            place=place, object=_watched(gate.field), path=gate.field.path, equals=gate.field.equals
        )
    if gate.cel is not UNSET:
        return own_gate.CelGate(place=place, object=_watched(gate.cel), expression=gate.cel.expression)
    if gate.http is not UNSET:
        http = gate.http
        return own_gate.HttpGate(place=place, url=http.url, status=http.status, timeout=http.timeout)
    assert gate.command is not UNSET  # one of them is given: the others are refused before
    return own_gate.CommandGate(place=place, run=gate.command.run, timeout=gate.command.timeout)


def _watched(found: form.ConditionGate | form.FieldGate | form.CelGate) -> own_gate.Watched:
    return own_gate.Watched(api_version=found.api_version, kind=found.kind, name=found.name, namespace=found.namespace)
