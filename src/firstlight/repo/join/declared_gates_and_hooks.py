"""The gates that firstlight.yaml declares for a component, and what is wrong with them."""

import math
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from msgspec import UNSET

from firstlight.gates import own_gates
from firstlight.model import own_gates as model_own_gates
from firstlight.model.component import Component, Side
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.own_gates import Hook, OwnGate
from firstlight.model.place import Place
from firstlight.repo.declaration import declaration_form
from firstlight.repo.declaration.declaration_file import Declaration

_KINDS = ("condition", "field", "cel", "http", "command")
_LONGEST = 3600.0
"""Seconds for one try; whoever needs longer has something else in mind."""


def gates_of(declaration: Declaration, name: str) -> tuple[OwnGate, ...]:
    """The gates of a component; those that are wrong are left out, and named by ``problems``."""
    gates = declaration.platform.components[name].gates
    return tuple(
        _made(each, declaration.place("components", name, "gates", number))
        for number, each in enumerate(gates)
        if not [*_wrong(each)]
    )


def gate_problems(declaration: Declaration) -> Iterator[Diagnostic]:
    """Everything that is wrong with declared gates, beyond what the schema says."""
    for name, component in declaration.platform.components.items():
        for number, each in enumerate(component.gates):
            for code, step, message, hint in _wrong(each):
                place = declaration.place("components", name, "gates", number, *step)
                yield Diagnostic.error(code, f"components.{name}.gates[{number}] {message}", at=place, fix=hint)


def _wrong(gate: declaration_form.GateSection) -> Iterator[tuple[str, tuple[str, ...], str, str]]:
    """Yield a code, the way to the field, what is wrong, and what to write."""
    given = [kind for kind in _KINDS if getattr(gate, kind) is not UNSET]
    if len(given) != 1:
        said = f"has {' and '.join(given)}" if given else "is empty"
        yield "gate-kind-wrong", (), said, f"Write one of {', '.join(_KINDS)}."
        return
    if gate.field is not UNSET and own_gates.field_steps(gate.field.path) is None:
        hint = "Write it like status.phase, status.members[0].state or metadata.labels['example.org/tier']."
        yield "gate-path-wrong", ("field", "path"), f"has no path in {gate.field.path}", hint
    if gate.http is not UNSET:
        yield from _wrong_url(gate.http)
    for kind, timed in (("http", gate.http), ("command", gate.command)):
        if timed is not UNSET and not (math.isfinite(timed.timeout) and 0 < timed.timeout <= _LONGEST):
            hint = f"Write seconds, up to {_LONGEST:g}."
            yield "gate-timeout-wrong", (kind, "timeout"), "has a timeout that is none", hint


def _wrong_url(gate: declaration_form.HttpGateSection) -> Iterator[tuple[str, tuple[str, ...], str, str]]:
    try:
        url = urlsplit(gate.url)
        is_url = url.scheme in ("http", "https") and bool(url.hostname)
    except ValueError:
        is_url = False
    else:
        if url.password or url.username:
            hint = "Leave it out: the URL is shown and kept."
            yield "gate-url-with-login", ("http", "url"), "has a login in its URL", hint
            return
    if not is_url:
        yield "gate-url-wrong", ("http", "url"), "has a URL that is none", "Write http:// or https:// and a host."
    if not 100 <= gate.status <= 599:
        hint = "Write a status of HTTP, such as 200."
        yield "gate-status-wrong", ("http", "status"), f"waits for the status {gate.status}", hint


def _made(gate: declaration_form.GateSection, place: Place) -> OwnGate:
    if gate.condition is not UNSET:
        found = gate.condition
        return model_own_gates.ConditionGate(place=place, object=_watched(found), type=found.type, status=found.status)
    if gate.field is not UNSET:
        return model_own_gates.FieldGate(
            place=place, object=_watched(gate.field), path=gate.field.path, equals=gate.field.equals
        )
    if gate.cel is not UNSET:
        return model_own_gates.CelGate(place=place, object=_watched(gate.cel), expression=gate.cel.expression)
    if gate.http is not UNSET:
        http = gate.http
        return model_own_gates.HttpGate(place=place, url=http.url, status=http.status, timeout=http.timeout)
    assert gate.command is not UNSET  # one of them is given: the others are refused before
    return model_own_gates.CommandGate(place=place, run=gate.command.run, timeout=gate.command.timeout)


def _watched(
    found: declaration_form.ConditionGateSection | declaration_form.FieldGateSection | declaration_form.CelGateSection,
) -> model_own_gates.WatchedObject:
    return model_own_gates.WatchedObject(
        api_version=found.api_version, kind=found.kind, name=found.name, namespace=found.namespace
    )


# The hooks that firstlight.yaml declares for a component, and what is wrong with them.


LONGEST_HOOK = 3600.0
"""Seconds; whoever needs longer has something else in mind."""
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def hooks_of(declaration: Declaration, name: str) -> tuple[Hook, ...]:
    """The hooks of a component; those that are wrong are left out, and named by ``problems``."""
    return tuple(
        Hook(
            place=declaration.place("components", name, "hooks", number),
            run=each.run,
            unless=each.unless,
            timeout=_seconds(each.timeout),
        )
        for number, each in enumerate(declaration.platform.components[name].hooks)
        if not [*_own_hooks_wrong(each)]
    )


def hook_problems(declaration: Declaration) -> Iterator[Diagnostic]:
    """Everything that is wrong with declared hooks, beyond what the schema says."""
    for name, component in declaration.platform.components.items():
        for number, each in enumerate(component.hooks):
            for code, step, message, hint in _own_hooks_wrong(each):
                place = declaration.place("components", name, "hooks", number, *step)
                yield Diagnostic.error(code, f"components.{name}.hooks[{number}] {message}", at=place, fix=hint)


def useless_hooks(declaration: Declaration, component: Component) -> Iterator[Diagnostic]:
    """That hooks never run, since bootstrap does not have the component."""
    if component.hooks and component.side == Side.GITOPS:
        yield Diagnostic.error(
            "hooks-never-run",
            f"{component.name} has hooks, and they run after bootstrap alone: Git has all of it in {component.cluster}",
            at=component.hooks[0].place,
            fix="Write phase: core for it, or make the hook a Job in Git.",
        )


def _own_hooks_wrong(hook: declaration_form.HookSection) -> Iterator[tuple[str, tuple[str | int, ...], str, str]]:
    for field, words in (("run", hook.run), ("unless", hook.unless)):
        if not words[0]:
            hint = "Write a program, or the path of a script: ./x.sh."
            yield "hook-program-wrong", (field, 0), f"has an empty program in {field}", hint
        elif any("\0" in each for each in words):
            hint = "Leave it out: no command line can have one."
            yield "hook-program-wrong", (field,), f"has a zero byte in {field}", hint
    if not (math.isfinite(seconds := _seconds(hook.timeout)) and 0 < seconds <= LONGEST_HOOK):
        hint = "Write seconds, 90s or 5m; an hour at most."
        yield "hook-timeout-wrong", ("timeout",), "has a timeout that is none", hint


def _seconds(written: float | str) -> float:
    """Seconds; not a number where it is no duration."""
    if not isinstance(written, str):
        return float(written)
    found = _DURATION.fullmatch(written.strip())
    return float(found[1]) * _UNITS[found[2]] if found else math.nan
