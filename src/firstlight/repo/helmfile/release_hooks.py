"""Hooks: what they apply is deployed too; what they wait for is not."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.model.component import ComponentNeed, Origin, SourceForm
from firstlight.model.place import Place
from firstlight.repo.go_template import Unknown
from firstlight.repo.helmfile import releases
from firstlight.repo.helmfile.helmfile_state import HelmfileItem, HelmfileState
from firstlight.repo.helmfile.releases import HelmfileRelease
from firstlight.repo.scripts import masked_lines, script_survey
from firstlight.repo.scripts.command_context import CommandContext, PathLookup, StepRole
from firstlight.repo.scripts.command_line import Invocation
from firstlight.repo.scripts.commands import recognised_commands
from firstlight.repo.scripts.script_tasks import Shell, Task, TaskDialect
from firstlight.repo.scripts.shell import shell_state
from firstlight.repo.scripts.shell.shell_expansion import ExpandedText
from firstlight.repo.scripts.task_walk import TaskWalk
from firstlight.repo.work_tree import WorkTree

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


def read(
    tree: WorkTree, state: HelmfileState, release: HelmfileRelease | None, hooks: Sequence[HelmfileItem]
) -> Iterator[HelmfileHook]:
    """The hooks of a release, or of the whole file."""
    for item in hooks:
        value = item.value
        if not isinstance(value, Mapping):
            continue
        given = releases.data(state, release.spec) if release is not None else state.environment.data()
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
        value = releases.expression(tree, state, releases.text(each) if not isinstance(each, Unknown) else each, given)
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
