"""Whether the documentation still tells the truth: files that name what was changed, and were not touched."""

import re
from collections.abc import Iterator

from firstlight.commands.decide.checks import answer, check_input
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import CheckInput
from firstlight.model import versions
from firstlight.model.change import Matter
from firstlight.model.decision import Decision
from firstlight.model.place import Place
from firstlight.repo.changes import file_classification

_LEGAL = ("license", "licence", "notice")
"""Documentation that tells nothing of the platform."""
_WORTH = 1 << 20
_MOST = 3


async def docs_up_to_date(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """What documentation names of it, and whether that was touched; a version that is stale is a failure."""
    names = sorted({each.component.rpartition("/")[2] for each in check_input.meant(decision, scene)})
    changed = [each for each in scene.paths if file_classification.is_documentation(each)]
    if not names:
        only = all(each.change.matter in (Matter.DOCUMENTATION, Matter.TOOLING) for each in decision.items)
        if only:
            return [answer.skipped("it touches no component that documentation could name")]
        return [
            answer.person(
                "documentation-unchecked",
                "nothing tells which words to look for",
                fix="see that the documentation is still right",
            )
        ]
    answers: list[CheckAnswer] = []
    for name in names:
        answers += _of(name, decision, scene, changed)
    return answers


def _of(name: str, decision: Decision, scene: CheckInput, changed: list[str]) -> list[CheckAnswer]:
    places = list(_named(name, scene))
    stale = [
        answer.failed("documentation-stale", f"{place.path} still says {name} {old}", fix=f"write {new}", at=place)
        for place, line in places
        for old, new in _versions(name, decision)
        if re.search(rf"(?<![\w.])v?{re.escape(old.removeprefix('v'))}(?![\w.]*\w)", line)
    ]
    if stale:
        return stale
    touched = [each for each in changed if any(place.path == each for place, _ in places)]
    if touched:
        return [answer.passed(f"{', '.join(touched[:_MOST])} names {name}, and is a part of the change")]
    if not places:
        return [answer.passed(f"no documentation names {name}, so that there is none to change")]
    first = {place.path: place for place, _ in reversed(places)}
    shown = ", ".join(str(place) for place in sorted(first.values())[:_MOST])
    more = f" and {len(first) - _MOST} more" if len(first) > _MOST else ""
    return [
        answer.person(
            "documentation-untouched",
            f"{shown}{more} names {name}, and was not touched",
            fix="see that it is still right",
        )
    ]


def _named(name: str, scene: CheckInput) -> Iterator[tuple[Place, str]]:
    """Where documentation names a component as a word of its own, with the line."""
    word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE)
    for path in scene.after.tree.files:
        if not file_classification.is_documentation(path) or path.rpartition("/")[2].lower().startswith(_LEGAL):
            continue
        data = scene.after.tree.bytes(path)
        if data is None or len(data) > _WORTH or b"\0" in data:  # a picture, say
            continue
        for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
            if word.search(line):
                yield Place(path, number), line


def _versions(name: str, decision: Decision) -> Iterator[tuple[str, str]]:
    """Versions of a component that became others."""
    for item in decision.items:
        if not any(each.component.rpartition("/")[2] == name for each in item.touched):
            continue
        for field in item.change.fields:
            old, new = field.before, field.after
            if field.is_secret or not (isinstance(old, str) and isinstance(new, str)):
                continue
            if old != new and versions.is_written(old) and versions.is_written(new):
                yield old, new


# How a change stands in Git: on a branch of its own, and with nothing beside it.


_FOLLOWED = "main"
"""What engines follow where the repo does not say."""
_BRANCHING_MOST = 5


async def own_branch(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Whether it is on a branch that no engine follows."""
    if scene.history is None:
        return [answer.skipped("the repo has no history")]
    names = {each.cluster for each in check_input.touched(decision)}
    clusters = [each for each in scene.after.platform.clusters if each.name in names]
    followed = {each.branch or _FOLLOWED for each in clusters} or {_FOLLOWED}
    head = await scene.history.git.head(scene.history.path)
    if not head.branch:
        return [answer.skipped("no branch is checked out")]
    if head.branch in followed:
        says = f"the work tree is on {head.branch}, which the engine follows"
        return [answer.person("branch-followed-by-engine", says, fix="git switch -c NAME, and reach it by a merge")]
    return [answer.passed(f"it is on {head.branch}; the engine follows {', '.join(sorted(followed))}")]


async def committed(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Whether the work tree has anything besides the change that a hasty commit would sweep in."""
    if scene.history is None:
        return [answer.skipped("the repo has no history")]
    status = await scene.history.git.status(scene.history.path)
    others = sorted({each.path for each in status} - {*scene.paths})
    if others:
        names = ", ".join(others[:_BRANCHING_MOST]) + (
            f" and {len(others) - _BRANCHING_MOST} more" if len(others) > _BRANCHING_MOST else ""
        )
        says = f"the work tree has more than this change: {names}"
        return [answer.failed("work-tree-has-more", says, fix="commit or stash it by name, and never git add -A")]
    return [answer.passed("the work tree has nothing besides this change")]


# Whether a secret would get into Git as anybody can read it; what it is, is never said.


_TODO = "do not push; encrypt it (sops) or make it an ExternalSecret; what was pushed is rotated"
_CLEAR_TEXT_MOST = 5


async def no_clear_text(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Each object with a secret in clear text."""
    answers = []
    for change in (item.change for item in decision.items):
        clear = [each for each in change.fields if each.is_clear]
        if clear:
            more = f" and {len(clear) - _CLEAR_TEXT_MOST} more" if len(clear) > _CLEAR_TEXT_MOST else ""
            names = ", ".join(each.path for each in clear[:_CLEAR_TEXT_MOST]) + more
            says = f"{change.title} is unencrypted in Git: {names}"
            answers.append(answer.failed("secret-in-clear", says, fix=_TODO, at=clear[0].place))
    return answers or [answer.passed("no secret in clear text comes with it")]
