"""Hooks: what they apply is deployed too; what they wait for is not."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.model.component import Form, Need, Origin
from firstlight.model.place import Place
from firstlight.repo.go_template import Unknown
from firstlight.repo.helmfile import release as releases
from firstlight.repo.helmfile.release import Release
from firstlight.repo.helmfile.state import Item, State
from firstlight.repo.scripts import masking, prefix, survey
from firstlight.repo.scripts.commands import recognising
from firstlight.repo.scripts.commands.context import Context
from firstlight.repo.scripts.invocation import Invocation
from firstlight.repo.scripts.lookup import Lookup
from firstlight.repo.scripts.shell.expansion import Text
from firstlight.repo.scripts.step import Role
from firstlight.repo.scripts.task import Dialect, Shell, Task
from firstlight.repo.scripts.walking import Walk
from firstlight.repo.work_tree import WorkTree

BEFORE = {"prepare", "presync", "preapply", "pre_sync"}
AFTER = {"postsync", "cleanup", "postapply"}
_SHELLS = {"bash", "sh", "zsh", "/bin/sh", "/bin/bash"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
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


def read(tree: WorkTree, state: State, release: Release | None, hooks: Sequence[Item]) -> Iterator[Hook]:
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
        yield Hook(
            place=item.place(),
            events=events,
            command=found[0],
            origins=tuple(found[1]) if deploys else (),
        )


def _words(tree: WorkTree, state: State, hook: Mapping[str, Any], given: Mapping[str, Any]) -> list[Text]:
    applied = hook.get("kubectlApply")
    if isinstance(applied, Mapping):
        flag = "-k" if applied.get("kustomize") else "-f"
        raw: list[Any] = ["kubectl", "apply", flag, applied.get("kustomize") or applied.get("filename") or ""]
    else:
        arguments = hook.get("args")
        raw = [hook.get("command") or "", *(arguments if isinstance(arguments, list) else [])]
    words: list[Text] = []
    for each in raw:
        value = releases.expression(tree, state, releases.text(each) if not isinstance(each, Unknown) else each, given)
        if isinstance(value, Unknown):
            words.append(Text(value.text, (value.name or value.text,)))
        else:
            words.append(Text(str(value)))
    return words if words and words[0].text else []


def _deployed(tree: WorkTree, state: State, words: list[Text], place: Place) -> tuple[str, list[Origin]]:
    """The command for people, and what it deploys; scripts are followed."""
    command = masking.line([words])
    context = Context(Lookup(tree))
    found: list[Origin] = []

    def listen(pipeline: Sequence[Invocation], task: Task, before: tuple[str, ...], aside: str) -> Sequence[str]:
        readings = recognising.read(pipeline, context)
        made = [reading.origin for _, reading in readings if reading.role == Role.DEPLOY and reading.origin is not None]
        found.extend(made)
        return [each.id for each in made]

    text = ""
    if words[0].text in _SHELLS and len(words) > 2 and words[1].text.startswith("-") and words[1].text.endswith("c"):
        text = words[2].text
    elif "/" in words[0].text or words[0].text in _SHELLS:
        text = " ".join("'" + word.text.replace("'", "'\\''") + "'" for word in words)
    task = Task(
        name="hook", local="hook", dialect=Dialect.SHELL, place=place, directory=state.directory,
        body=(Shell(text, (place.line,)),),
    )  # fmt: skip
    if text:
        Walk(survey.of(tree).book, listen, is_aside=lambda _: "").follow(task)
    else:
        invocation = Invocation(words=prefix.strip(words), written=tuple(words), place=place, directory=state.directory)
        listen([invocation], task, (), "")
    return command, [_hooked(each, command, place) for each in found]


def _hooked(origin: Origin, command: str, place: Place) -> Origin:
    """What a hook deploys; what a script of the repo deploys keeps the place in the script."""
    is_inside = origin.place.path != place.path
    return dataclasses.replace(origin, form=Form.HOOK, command=origin.command if is_inside else command)


def needed(origin: Origin, ids: Sequence[str], place: Place, why: str) -> Origin:
    """An origin that needs others."""
    more = tuple(Need(id=each, place=place, why=why) for each in ids if each != origin.id)
    return dataclasses.replace(origin, needs=(*origin.needs, *more))
