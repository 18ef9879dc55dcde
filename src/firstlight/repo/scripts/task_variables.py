"""What the variables of a task hold when it is called, and its lines with them put in."""

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.repo import go_template
from firstlight.repo.go_template.unknown_values import mark
from firstlight.repo.scripts import just_expression, makefile
from firstlight.repo.scripts.script_tasks import Task, TaskDialect
from firstlight.repo.scripts.shell.shell_expansion import REPO, ExpandedText

_MISE = re.compile(r"\{\{([^{}]*)\}\}")
_TASK_FUNCTIONS = {
    "joinPath": lambda *parts: posixpath.join(*parts),
    "shellQuote": lambda text: text,
    "q": lambda text: text,
    "splitArgs": lambda text: text.split(),
    "splitLines": lambda text: text.splitlines(),
    "catLines": lambda text: " ".join(text.splitlines()),
    "toSlash": lambda text: text,
    "fromSlash": lambda text: text,
}


def of(task: Task, given: Mapping[str, Any], arguments: Sequence[Any] = ()) -> dict[str, Any]:
    """Everything that a task's lines may ask for; what only a run tells is ``Unknown``."""
    match task.dialect:
        case TaskDialect.TASK:
            return _task(task, given)
        case TaskDialect.JUST:
            return _just(task, given, arguments)
        case TaskDialect.MAKE:
            return _make(task, given)
    return dict(given)


def render(task: Task, text: str, values: Mapping[str, Any]) -> go_template.RenderedTemplate:
    """Lines of a task with its variables put in.

    Raises:
        go_template.TemplateError: They are no template that Task would take.
    """
    if task.dialect != TaskDialect.MAKE and "{{" not in text:
        return go_template.RenderedTemplate(go_template.remove_marks(text))
    match task.dialect:
        case TaskDialect.TASK:
            return go_template.render_leniently(
                text, values, functions=_TASK_FUNCTIONS, missing_key=go_template.MissingKey.UNKNOWN
            )
        case TaskDialect.JUST:
            return just_expression.render(text, _texts(values), directory=task.directory, root=task.root)
        case TaskDialect.MAKE:
            return makefile.render(text, _texts(values))
        case TaskDialect.MISE:
            return _mise(text, posixpath.normpath(f"{REPO}/{task.root}"))
    return go_template.RenderedTemplate(text)


def _mise(text: str, root: str) -> go_template.RenderedTemplate:
    """Of mise's own templates only the root of the config is known; arguments and options are not."""
    unknowns: list[go_template.Unknown] = []

    def found(match: re.Match[str]) -> str:
        if match[1].strip() == "config_root":
            return root
        unknowns.append(go_template.Unknown(match.group(), "mise tells it when it runs", name=match[1].strip()))
        return mark(len(unknowns) - 1)

    made = _MISE.sub(found, go_template.remove_marks(text))
    return go_template.RenderedTemplate(made, tuple(unknowns))


def value(task: Task, raw: Any, values: Mapping[str, Any]) -> Any:
    """One value with variables put in."""
    if not isinstance(raw, str):
        return raw
    if task.dialect == TaskDialect.JUST:
        found = just_expression.evaluate(raw, _texts(values), directory=task.directory, root=task.root)
        return (
            found.text if found.is_known else go_template.Unknown(found.text, "it is not known", name=found.unknowns[0])
        )
    try:
        rendered = render(task, raw, values)
    except go_template.GoTemplateError as error:
        return go_template.Unknown(raw, error.reason, name=error.name)
    return go_template.settle(rendered.text, rendered.unknowns)


def as_text(found: Any) -> ExpandedText:
    """A value as the shell sees it."""
    if isinstance(found, go_template.Unknown):
        return ExpandedText(found.text, (found.name or found.text,))
    if isinstance(found, (str, ExpandedText)):
        return ExpandedText(found) if isinstance(found, str) else found
    try:
        return ExpandedText(go_template.render("{{.}}", found) if found is not None else "")
    except go_template.GoTemplateError:
        return ExpandedText("", ("{{…}}",))


def _texts(values: Mapping[str, Any]) -> dict[str, ExpandedText]:
    return {name: as_text(each) for name, each in values.items()}


def _task(task: Task, given: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, raw in task.variables:
        values[name] = value(task, raw, values)
    values |= given
    for name in task.required:
        if values.get(name) in (None, ""):
            values[name] = go_template.Unknown(
                f"{{{{.{name}}}}}", f"{name} must be given by the caller", name=f".{name}"
            )
    for name, raw in task.overriding:
        values[name] = value(task, raw, values)
    return values


def _just(task: Task, given: Mapping[str, Any], arguments: Sequence[Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, raw in task.variables:
        values[name] = given[name] if name in given else value(task, raw, values)
    for n, (name, default) in enumerate(task.parameters):
        if n < len(arguments):
            values[name] = arguments[n]
        elif default is not None:
            values[name] = value(task, default, values)
        else:
            values[name] = go_template.Unknown(f"{{{{ {name} }}}}", f"{name} is a parameter", name=name)
    return values


def _make(task: Task, given: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    # Variables may use others that are set further down, so they are put in twice.
    for _ in range(2):
        for name, raw in task.variables:
            values[name] = value(task, raw, values)
        values |= given
    return values


def unknown(text: ExpandedText) -> go_template.Unknown:
    """A text that is not known, as a value for templates."""
    return go_template.Unknown(
        text.text, f"{', '.join(text.unknowns)} is only known when it runs", name=text.unknowns[0]
    )
