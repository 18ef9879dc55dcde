"""What a rule finds that says itself what it looks for, without a function."""

import fnmatch
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from firstlight.commands.audit.rule_form import AuditRule, FindClause, Scalar
from firstlight.document import path_patterns
from firstlight.model import secret_words
from firstlight.model.component import Component
from firstlight.model.finding import EditVerb, FileEdit, Finding
from firstlight.model.place import Place
from firstlight.repo import chart_values
from firstlight.repo.platform_view import PlatformView, value_text

Way = tuple[str | int, ...]
_WORDS = ("kind", "name", "namespace", "path", "value", "component")


def problems(rule: AuditRule) -> Iterator[tuple[str, str]]:
    """What is wrong with the ways and sentences of a rule, each with its code."""
    for each in rule.find:
        for way in (*each.has, *each.lacks):
            yield from _unread(way)
        if not (each.kinds or each.machines or each.charts):
            yield "audit-rule-find-wrong", "find needs kinds, machines or charts"
    for way in rule.set:
        yield from _unread(way)
        if "*" in way:
            yield "rule-path-wrong", f"{way}: what is set cannot have stars"
    if not _is_sentence(rule.says):
        yield "rule-placeholder-unknown", f"says may have {', '.join(f'{{{each}}}' for each in _WORDS)}"


def _unread(way: str) -> Iterator[tuple[str, str]]:
    try:
        steps = path_patterns.split(way)
    except ValueError as error:
        yield "rule-path-wrong", f"{way}: {error}"
        return
    if any(each.startswith("[") for each in steps):
        yield "rule-path-wrong", f"{way}: items of lists are found by a star, such as containers.*.image"


def _is_sentence(text: str) -> bool:
    """Whether it has nothing between braces but our words: what else a format could do is not for rules."""
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:
        return False
    return all(name is None or (name in _WORDS and not spec and not turned) for _, name, spec, turned in parts)


def findings(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Everything that a rule finds."""
    for each in rule.find:
        yield from _objects(rule, each, scene)
        yield from _machines(rule, each, scene)
        yield from _charts(rule, each, scene)


def _objects(rule: AuditRule, find: FindClause, scene: PlatformView) -> Iterator[Finding]:
    wanted = [kind for kind in scene.kinds() if any(fnmatch.fnmatchcase(kind, each) for each in find.kinds)]
    for item in scene.of_kind(*wanted):
        found = item.object.id
        if not _named(found.name, find.names) or not _named(found.namespace, find.namespaces):
            continue
        if not _in_role(item.component, find) or (way := _fits(item.value, find)) is None:
            continue
        edits: tuple[FileEdit, ...] = ()
        if item.object.way is not None:
            index, steps = item.object.way
            edits = _edits(rule, item.object.place.path, index, steps)
        words = {"kind": found.kind, "name": found.name, "namespace": found.namespace}
        yield _finding(
            rule, item.value, way, words, item.object.at, cluster=item.cluster, component=item.component, edits=edits
        )


def _machines(rule: AuditRule, find: FindClause, scene: PlatformView) -> Iterator[Finding]:
    for cluster in scene.clusters if find.machines else ():
        for part in cluster.parts:
            value = part.config.value
            if part.kind not in find.machines or not isinstance(value, Mapping):
                continue
            way = _fits(value, find)
            if way is not None:
                words = {"kind": part.kind, "name": part.machine, "namespace": ""}
                yield _finding(rule, value, way, words, part.config.place, cluster=cluster.name)


def _charts(rule: AuditRule, find: FindClause, scene: PlatformView) -> Iterator[Finding]:
    for component in scene.platform.components if find.charts else ():
        if not _in_role(component, find):
            continue
        for layer in scene.values(component):
            if not _named(chart_values.chart_name(layer.chart), find.charts):
                continue
            way = _fits(layer.value, find)
            if way is not None:
                edits = _edits(rule, layer.file, layer.document, layer.prefix) if layer.file else ()
                words = {"kind": "", "name": layer.chart.name, "namespace": layer.chart.namespace}
                yield _finding(
                    rule, layer.value, way, words, layer.at,
                    cluster=component.cluster, component=component, edits=edits,
                )  # fmt: skip


def _finding(
    rule: AuditRule,
    value: Any,
    way: Way,
    words: Mapping[str, str],
    at: Callable[..., Place],
    *,
    cluster: str,
    component: Component | None = None,
    edits: tuple[FileEdit, ...] = (),
) -> Finding:
    found = _at(value, way)
    is_shown = not isinstance(found, (dict, list)) and found is not None and not _is_hidden(words["kind"], way)
    shown = value_text(found) if is_shown else ""
    name = component.name if component else ""
    said = rule.says.format(**words, path=".".join(map(str, way)), value=shown, component=name)
    return rule.finding(said, at=at(*way), clusters=(cluster,) if cluster else (), subject=name, edits=edits)


def _is_hidden(kind: str, way: Way) -> bool:
    """Whether it is a secret, or a text that may hold some: what a team's rule says of it is its name."""
    name = str(way[-1]) if way else ""
    return (
        secret_words.is_certain(name) or name == "key" or (kind == "Secret" and way[:1] in (("data",), ("stringData",)))
    )


def _edits(rule: AuditRule, path: str, document: int, prefix: Way) -> tuple[FileEdit, ...]:
    return tuple(
        FileEdit(
            path=path, verb=EditVerb.SET, steps=(*prefix, *path_patterns.split(way)), value=value, document=document
        )
        for way, value in rule.set.items()
    )


def _named(name: str, wanted: Iterable[str]) -> bool:
    listed = tuple(wanted)
    return not listed or any(fnmatch.fnmatchcase(name, each) for each in listed)


def _in_role(component: Component, find: FindClause) -> bool:
    return not find.roles or component.role in find.roles


def _fits(value: Any, find: FindClause) -> Way | None:
    """The way to the first thing that ``has`` names, if all of it fits; None if something does not."""
    first: Way | None = None
    for way, wanted in find.has.items():
        matched = next((each for each in _walk(value, path_patterns.split(way)) if _is(_at(value, each), wanted)), None)
        if matched is None:
            return None
        first = matched if first is None else first
    if any(next(_walk(value, path_patterns.split(way)), None) is not None for way in find.lacks):
        return None
    return first or ()


def _walk(value: Any, steps: tuple[str, ...], done: Way = ()) -> Iterator[Way]:
    """Every way that a pattern leads to: ``*`` is any key or item."""
    if not steps:
        if value is not None:
            yield done
        return
    step, *rest = steps
    if step == "*" and isinstance(value, list):
        for number, each in enumerate(value):
            yield from _walk(each, tuple(rest), (*done, number))
    elif step == "*" and isinstance(value, Mapping):
        for key, each in value.items():
            yield from _walk(each, tuple(rest), (*done, key))
    elif isinstance(value, Mapping) and step in value:
        yield from _walk(value[step], tuple(rest), (*done, step))


def _at(value: Any, way: Way) -> Any:
    for step in way:
        value = value[step]
    return value


def _is(value: Any, wanted: Scalar | tuple[Scalar, ...]) -> bool:
    several = wanted if isinstance(wanted, tuple) else (wanted,)
    return any(
        fnmatch.fnmatchcase(str(value), each) if isinstance(each, str) else value == each and type(value) is type(each)
        for each in several
    )
