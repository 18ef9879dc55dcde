"""One release for one environment: templates inherited, expressions rendered, whether it is installed, and its hooks.

What a hook applies is deployed too; what it waits for is not.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.model.component import ComponentNeed, Origin, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo import go_template
from firstlight.repo.go_template import Unknown
from firstlight.repo.helmfile import environments, rendered_files
from firstlight.repo.helmfile.helmfile_state import HelmfileItem, HelmfileState
from firstlight.repo.scripts import masked_lines, script_survey
from firstlight.repo.scripts.command_context import CommandContext, Invocation, PathLookup, StepRole
from firstlight.repo.scripts.commands import recognised_commands
from firstlight.repo.scripts.script_tasks import Shell, Task, TaskDialect
from firstlight.repo.scripts.shell import shell_state
from firstlight.repo.scripts.shell.shell_expansion import ExpandedText
from firstlight.repo.scripts.task_walk import TaskWalk
from firstlight.repo.work_tree import WorkTree

MAX_ROUNDS = 6
"""Times that expressions may give expressions; helmfile's own number."""
MAX_INHERITANCE = 20
_EXCEPT = {"labels", "values", "valuesTemplate", "setTemplate", "set", "setString", "secrets"}
_TEXTS = (
    "name",
    "chart",
    "directory",
    "namespace",
    "version",
    "installedTemplate",
    "conditionTemplate",
    "waitTemplate",
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HelmfileRelease:
    """A release as helmfile would see it."""

    item: HelmfileItem
    spec: Mapping[str, Any] = dataclasses.field(repr=False)
    labels: Mapping[str, str]
    doubts: tuple[str, ...] = ()
    left_out: str = ""
    """Why it is not installed."""

    @property
    def name(self) -> str:
        """Its name."""
        return masked_lines.one_line(text(self.spec.get("name")))

    @property
    def namespace(self) -> str:
        """Where it is installed."""
        return masked_lines.one_line(text(self.spec.get("namespace")))


def text(value: Any) -> str:
    """A value as a text; one that is not known as it is written."""
    if isinstance(value, Unknown):
        return value.text
    return "" if value is None else go_template.render("{{.}}", value) if not isinstance(value, str) else value


def read(
    tree: WorkTree, state: HelmfileState, item: HelmfileItem, say: Callable[[Diagnostic], None]
) -> HelmfileRelease | None:
    """A release of a state; None, and a diagnostic, if it is none."""
    if not isinstance(item.value, Mapping):
        say(Diagnostic.error("helmfile-release-wrong", "this release is no map", at=item.place()))
        return None
    spec = _inherited(item.value, state, item.place(), say, (), is_top=True)
    if state.spec.get("namespace"):
        spec["namespace"] = state.spec["namespace"]
    common = state.spec.get("commonLabels")
    spec["labels"] = environments.override(_map(spec.get("labels")), _map(common))
    spec = _rendered(tree, state, spec)
    chart = text(spec.get("chart") or spec.get("directory"))
    labels = {str(key): text(each) for key, each in spec["labels"].items()}
    labels |= {"name": text(spec.get("name")), "namespace": text(spec.get("namespace"))}
    labels["chart"] = chart.rpartition("/")[2]
    doubts = [
        f"{key}: {each.reason}"
        for key in ("name", "namespace", "version")
        if isinstance(each := spec.get(key), Unknown)
    ]
    left_out, doubt = _installed(state, spec)
    if doubt:
        doubts.append(doubt)
    doubts += [f"only if {each.text} says so: {each.reason}" for each in _around(item)]
    return HelmfileRelease(item=item, spec=spec, labels=labels, doubts=tuple(doubts), left_out=left_out)


def _around(item: HelmfileItem) -> list[Unknown]:
    """The conditions around a release whose outcome is not known."""
    line = item.place().line - item.part.offset
    return [each for each in item.part.unknowns if each.line <= line < each.end]


def _map(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _inherited(
    spec: Mapping[str, Any],
    state: HelmfileState,
    place: Place,
    say: Callable[[Diagnostic], None],
    above: Sequence[str],
    *,
    is_top: bool = False,
) -> dict[str, Any]:
    templates = _map(state.spec.get("templates"))
    wanted = spec.get("inherit")
    wanted = [wanted] if isinstance(wanted, (Mapping, str)) else wanted if isinstance(wanted, list) else []
    named = [_map(each) if isinstance(each, Mapping) else {"template": each} for each in wanted]
    if is_top:
        default = state.spec.get("defaultInherit")
        listed = [default] if isinstance(default, str) else default if isinstance(default, list) else []
        taken = {each.get("template") for each in named}
        named = [*({"template": each} for each in listed if each not in taken), *named]
    merged: dict[str, Any] = {}
    for each in named:
        name = str(each.get("template") or "")
        if name not in templates or name in above or len(above) > MAX_INHERITANCE:
            why = "is not defined" if name not in templates else "inherits itself"
            say(Diagnostic.error("helmfile-inherit-wrong", f"the template {name} {why}", at=place))
            continue
        below = _inherited(_map(templates[name]), state, place, say, (*above, name))
        left_out = each.get("except")
        excluded = {str(key) for key in left_out} & _EXCEPT if isinstance(left_out, list) else set()
        merged = environments.layered(merged, {key: value for key, value in below.items() if key not in excluded})
    made = environments.layered(merged, {key: value for key, value in spec.items() if key != "inherit"})
    return made


def data(state: HelmfileState, spec: Mapping[str, Any]) -> dict[str, Any]:
    """What templates of a release are given."""
    release = {
        "Name": spec.get("name") or "",
        "Chart": spec.get("chart") or "",
        "Namespace": spec.get("namespace") or "",
        "Labels": _map(spec.get("labels")),
        "KubeContext": spec.get("kubeContext") or "",
        "ChartVersion": spec.get("version") or "",
    }
    return state.environment.data(Release=release, KubeContext="", Chart="")


def expression(tree: WorkTree, state: HelmfileState, value: Any, given: Mapping[str, Any]) -> Any:
    """A text with its expressions put in; ``Unknown`` where that cannot be told."""
    if not isinstance(value, str) or "{{" not in value:
        return value
    rendered = rendered_files.render(tree, value, given, directory=state.directory)
    if isinstance(rendered, go_template.GoTemplateError):
        return Unknown(value, rendered.reason, name=rendered.name, is_secret=rendered.is_secret)
    return go_template.settle(rendered.text, rendered.unknowns)


def _rendered(tree: WorkTree, state: HelmfileState, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Expressions in the fields of a release, which may use each other."""
    before = dict(spec)
    for _ in range(MAX_ROUNDS):
        given = data(state, before)
        after = dict(before)
        for key in _TEXTS:
            value = expression(tree, state, before.get(key), given)
            after[key] = value.strip() if isinstance(value, str) else value
        after["labels"] = {
            key: expression(tree, state, each, given) for key, each in _map(before.get("labels")).items()
        }
        for key in ("values", "secrets", "needs"):
            if isinstance(before.get(key), list):
                after[key] = [expression(tree, state, each, given) for each in before[key]]
        if after == before:
            break
        before = after
    return {key: value for key, value in before.items() if value is not None or key in spec}


def _installed(state: HelmfileState, spec: Mapping[str, Any]) -> tuple[str, str]:
    """Why a release is left out, and what is doubtful about that."""
    installed = spec.get("installed")
    template = spec.get("installedTemplate")
    if template is not None and not isinstance(template, Unknown):
        installed = str(template).strip().lower() not in ("false", "no", "off")
    for each in (template, installed):
        if isinstance(each, Unknown):
            return "", f"whether it is installed is not known: {each.reason}"
    if installed is False or str(installed).lower() in ("false", "no", "off", "n"):
        return "installed: false", ""
    condition = spec.get("conditionTemplate") if spec.get("conditionTemplate") is not None else spec.get("condition")
    if isinstance(condition, Unknown):
        return "", f"its condition is not known: {condition.reason}"
    return _condition(state, str(condition or ""))


def _condition(state: HelmfileState, condition: str) -> tuple[str, str]:
    where = f"in environment {state.environment.name}"
    if condition.lower() in ("", "true"):
        return "", ""
    if condition.lower() == "false":
        return "its condition is false", ""
    value: Any = state.environment.merged()
    for name in condition.split("."):
        if isinstance(value, Unknown):
            break
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, Unknown):
        return "", f"its condition {condition} is not known: {value.reason}"
    return ("", "") if value is True else (f"its condition {condition} is not true {where}", "")


# Hooks: what they apply is deployed too; what they wait for is not.


BEFORE = {"prepare", "presync", "preapply", "pre_sync"}
AFTER = {"postsync", "cleanup", "postapply"}
_SHELLS = {"bash", "sh", "zsh", "/bin/sh", "/bin/bash"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HelmfileHook:
    """A hook with what it deploys."""

    place: Place
    events: tuple[str, ...]
    command: str
    """On one line, without secrets."""
    origins: tuple[Origin, ...] = ()

    @property
    def is_before(self) -> bool:
        """Whether it runs before the release."""
        return bool(BEFORE & set(self.events)) and not AFTER & set(self.events)


def read_hooks(
    tree: WorkTree, state: HelmfileState, release: HelmfileRelease | None, hooks: Sequence[HelmfileItem]
) -> Iterator[HelmfileHook]:
    """The hooks of a release, or of the whole file."""
    for item in hooks:
        value = item.value
        if not isinstance(value, Mapping):
            continue
        given = data(state, release.spec) if release is not None else state.environment.data()
        listed = value.get("events")
        events = tuple(str(each) for each in listed) if isinstance(listed, list) else ()
        words = _words(tree, state, value, {**given, "Event": {"Name": events[0] if events else "", "Error": None}})
        if not words:
            continue
        found = _deployed(tree, state, words, item.place())
        deploys = bool((BEFORE | AFTER) & set(events))
        yield HelmfileHook(
            place=item.place(),
            events=events,
            command=found[0],
            origins=tuple(found[1]) if deploys else (),
        )


def _words(
    tree: WorkTree, state: HelmfileState, hook: Mapping[str, Any], given: Mapping[str, Any]
) -> list[ExpandedText]:
    applied = hook.get("kubectlApply")
    if isinstance(applied, Mapping):
        flag = "-k" if applied.get("kustomize") else "-f"
        raw: list[Any] = ["kubectl", "apply", flag, applied.get("kustomize") or applied.get("filename") or ""]
    else:
        arguments = hook.get("args")
        raw = [hook.get("command") or "", *(arguments if isinstance(arguments, list) else [])]
    words: list[ExpandedText] = []
    for each in raw:
        value = expression(tree, state, text(each) if not isinstance(each, Unknown) else each, given)
        if isinstance(value, Unknown):
            words.append(ExpandedText(value.text, (value.name or value.text,)))
        else:
            words.append(ExpandedText(str(value)))
    return words if words and words[0].text else []


def _deployed(
    tree: WorkTree, state: HelmfileState, words: list[ExpandedText], place: Place
) -> tuple[str, list[Origin]]:
    """The command for people, and what it deploys; scripts are followed."""
    command = masked_lines.masked_line([words])
    context = CommandContext(PathLookup(tree))
    found: list[Origin] = []

    def listen(pipeline: Sequence[Invocation], task: Task, before: tuple[str, ...], aside: str) -> Sequence[str]:
        readings = recognised_commands.recognise(pipeline, context)
        made = [
            reading.origin for _, reading in readings if reading.role == StepRole.DEPLOY and reading.origin is not None
        ]
        found.extend(made)
        return [each.id for each in made]

    text = ""
    if words[0].text in _SHELLS and len(words) > 2 and words[1].text.startswith("-") and words[1].text.endswith("c"):
        text = words[2].text
    elif "/" in words[0].text or words[0].text in _SHELLS:
        text = " ".join("'" + word.text.replace("'", "'\\''") + "'" for word in words)
    task = Task(
        name="hook", local="hook", dialect=TaskDialect.SHELL, place=place, directory=state.directory,
        body=(Shell(text, (place.line,)),),
    )  # fmt: skip
    if text:
        TaskWalk(script_survey.survey_of(tree).book, listen, is_aside=lambda _: "").follow(task)
    else:
        invocation = Invocation(
            words=shell_state.without_prefix_programs(words),
            written=tuple(words),
            place=place,
            directory=state.directory,
        )
        listen([invocation], task, (), "")
    return command, [_hooked(each, command, place) for each in found]


def _hooked(origin: Origin, command: str, place: Place) -> Origin:
    """What a hook deploys; what a script of the repo deploys keeps the place in the script."""
    is_inside = origin.place.path != place.path
    return dataclasses.replace(origin, form=SourceForm.HOOK, command=origin.command if is_inside else command)


def needed(origin: Origin, ids: Sequence[str], place: Place, why: str) -> Origin:
    """An origin that needs others."""
    more = tuple(ComponentNeed(id=each, place=place, why=why) for each in ids if each != origin.id)
    return dataclasses.replace(origin, needs=(*origin.needs, *more))
