"""Read firstlight.yaml with its gates and hooks, or tell everything that is wrong with it at once."""

import dataclasses
import math
import posixpath
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET

from firstlight.document import mistakes
from firstlight.document.mistakes import OwnExplanation
from firstlight.document.yaml_reader import YamlDocument
from firstlight.gates import own_gates
from firstlight.model import own_gates as model_own_gates
from firstlight.model.component import Component, Side
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.own_gates import Hook, OwnGate
from firstlight.model.place import Place
from firstlight.repo.declaration import declaration_form
from firstlight.repo.work_tree import WorkTree

_HINTS = mistakes.FormHints(
    # What fields are called elsewhere: in talhelper's file, above all.
    meant={
        "talosVersion": "talos",
        "kubernetesVersion": "kubernetes",
        "clusterName": "metadata",
        "nodes": "machines",
        "hostname": "name",
        "ipAddress": "address",
        "installDisk": "disk",
        "installDiskSelector": "diskSelector",
        "networkInterfaces": "interfaces",
        "talosImageURL": "image",
    },
    required={
        "apiVersion": declaration_form.API_VERSION,
        "kind": declaration_form.KIND,
        "metadata": "{name: …}",
        "data": "{key: op://vault/item/field}",
        "address": "10.0.0.11",
        "unless": "[COMMAND], one that exits with 0 where the hook has nothing to do any more",
    },
    own=(
        OwnExplanation(
            "type", ("clusters", "*", "talos"), "must be a text", "Write the whole version, such as v1.13.0."
        ),
        OwnExplanation(
            "type", ("clusters", "*", "kubernetes"), "must be a text", "Write the whole version, such as v1.36.0."
        ),
        # What stands there may be the secret itself, so it is not shown.
        OwnExplanation(
            "pattern",
            ("secrets", "*", "data", "*"),
            "is no reference to a secret",
            "Write op://vault/item/field, sops:FILE#key, vault:PATH#key, env:NAME or file:PATH.",
        ),
        OwnExplanation(
            "type",
            ("secrets", "*", "data", "*"),
            "must be a text",
            "Write a reference to a secret, such as op://vault/item/field.",
        ),
        OwnExplanation("anyOf", ("timeout",), "is no time", "Write seconds, or such as 90s or 5m."),
        OwnExplanation(
            "anyOf", (), "is neither a path nor a list", "Write the path of a Talos file, or a list of machines."
        ),
    ),
)


@dataclasses.dataclass(frozen=True)
class Declaration:
    """A firstlight.yaml that is what it must be."""

    platform: declaration_form.PlatformSection
    document: YamlDocument

    def place(self, *steps: str | int) -> Place:
        """Where something is declared."""
        return self.document.place(*steps)


def read(tree: WorkTree) -> tuple[Declaration | None, tuple[Diagnostic, ...]]:
    """The declaration of a repo, if there is one and it is right; and what is wrong with it."""
    if not tree.is_file(declaration_form.FILE):
        return None, ()
    documents = tree.documents(declaration_form.FILE)
    if not documents and any(each.place.path == declaration_form.FILE for each in tree.diagnostics):
        return None, ()  # what is wrong with it is said already
    if not documents:
        hint = "Let it be written: firstlight init --force"
        return None, (
            Diagnostic.error(
                "declaration-empty", "there is no platform in it", at=Place(declaration_form.FILE), fix=hint
            ),
        )
    document, *others = documents
    diagnostics = [
        Diagnostic.error(
            "declaration-several-documents",
            "a platform is one document",
            at=Place(declaration_form.FILE, other.line),
            fix="Remove the --- before it.",
        )
        for other in others
    ]
    try:
        platform = msgspec.convert(document.value, declaration_form.PlatformSection, strict=True)
    except msgspec.ValidationError:
        return None, (*diagnostics, *mistakes.problems(document, declaration_form.schema(), hints=_HINTS))
    return Declaration(platform, document), tuple(diagnostics)


# The scripts that firstlight.yaml declares as hooks and gates: what they do is no bootstrap of its own.


def command_files(tree: WorkTree) -> frozenset[str]:
    """The files of the repo that declared commands name."""
    declaration, _ = read(tree)
    if declaration is None:
        return frozenset()
    words = {word for each in declaration.platform.components.values() for word in _words(each)}
    return frozenset(path for word in words if word and tree.is_file(path := posixpath.normpath(word)))


def _words(component: declaration_form.ComponentSection) -> Iterator[str]:
    for hook in component.hooks:
        yield from (*hook.run, *hook.unless)
    for gate in component.gates:
        if gate.command is not UNSET:
            yield from gate.command.run


# The gates that firstlight.yaml declares for a component, and what is wrong with them.


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
