"""Texts compared line by line, comments and blank lines aside."""

import dataclasses
import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from firstlight.model.change import Field, Verb
from firstlight.model.place import Place
from firstlight.repo.changing import commands, embedded, lines, secrecy, secret_texts
from firstlight.repo.changing.comparing import ABSENT, Difference, Steps
from firstlight.repo.changing.lines import Line

LINES = 20_000
"""Of a text that is compared; nobody writes more by hand."""
FIELDS = 1_000
"""Of a text that differs; of what comes after them only grave commands are looked at."""
_GRAVE = re.compile(
    r"\b(?:kubectl|talosctl|omnictl|helm|helmfile|flux|argocd|terraform|tofu|clusterctl|rm|dd|mkfs|wipefs)\b|--force"
)
_PAIRS = 1_000_000


@dataclasses.dataclass(frozen=True, slots=True)
class _Changed:
    """Something on a line that differs; None is what is not there."""

    steps: Steps
    number: int
    before: str | None
    after: str | None
    is_secret: bool

    @property
    def verb(self) -> Verb:
        return Verb.ADDED if self.before is None else Verb.REMOVED if self.after is None else Verb.CHANGED


def fields(before: Sequence[Line], after: Sequence[Line], path: str, *, old_path: str = "") -> tuple[Field, ...]:
    """What differs between lines; of a command with another argument only the argument."""
    return tuple(
        Field(
            steps=each.steps,
            verb=each.verb,
            place=Place(old_path or path if each.verb is Verb.REMOVED else path, each.number),
            before=None if each.is_secret else each.before,
            after=None if each.is_secret else each.after,
            values=embedded.values_at((), each.steps),
            is_secret=each.is_secret,
        )
        for each in _changed(before, after)
    )


def refined(found: Difference) -> Iterable[Difference]:
    """What differs inside of a value of a Taskfile: arguments of a command, lines of a script."""
    if not isinstance(found.before, str) or not isinstance(found.after, str):
        one, other = (_masked(each) for each in (found.before, found.after))
        return (dataclasses.replace(found, before=one, after=other),)
    before, after = lines.said(found.before), lines.said(found.after)
    made = []
    for each in _changed(before, after):
        is_long = "\n" in found.after.strip() or "\n" in found.before.strip()
        inner = each.steps if is_long else each.steps[1:]
        first, second = (_again(one, each.is_secret) for one in (each.before, each.after))
        line = each.number if is_long else 0
        made.append(Difference((*found.steps, *inner), each.verb, first, second, found.old, found.new, line))
    return made


def _masked(value: Any) -> Any:
    return secret_texts.masked(value) if isinstance(value, str) else value


def _again(value: str | None, is_secret: bool) -> Any:
    """A value that is judged once more; one that is known to be secret is replaced by something that is, too."""
    return ABSENT if value is None else secrecy.HIDDEN if is_secret else value


def _changed(before: Sequence[Line], after: Sequence[Line]) -> Iterator[_Changed]:
    one, other = [each.text for each in before], [each.text for each in after]
    count = 0
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=len(one) * len(other) > _PAIRS)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            continue
        for at in range(max(j - i, m - k)):
            was = before[i + at] if i + at < j else None
            will = after[k + at] if k + at < m else None
            if count >= FIELDS and not any(each and _GRAVE.search(each.text) for each in (was, will)):
                continue
            for each in _line(was, will):
                count += 1
                yield each


def _line(was: Line | None, will: Line | None) -> Iterator[_Changed]:
    both = [each for each in (was, will) if each is not None]
    number, is_hidden = _number(was, both[-1]), any(each.is_hidden for each in both)
    first, second = was.text.strip() if was else None, will.text.strip() if will else None
    words = tuple(commands.words(first, second)) if first is not None and second is not None else ()
    for steps, one, other in words:
        way = (f"line {number}", *steps)
        is_secret = is_hidden or _is_secret(way, one, first) or _is_secret(way, other, second)
        yield _Changed(way, number, one, other, is_secret)
    if not words:
        way = (f"line {number}",)
        one, other = (None if each is None else secret_texts.masked(each) for each in (first, second))
        is_secret = is_hidden or one == other or any(_is_whole(each) for each in (one, other) if each)
        yield _Changed(way, number, one, other, is_secret)


def _number(was: Line | None, shown: Line) -> int:
    """The number of a line; of a command in several the first of them that differs."""
    known = {text for _, text in was.parts} if was else set()
    return next((number for number, text in shown.parts if known and text not in known), shown.number)


def _is_secret(steps: Steps, value: str | None, line: str | None) -> bool:
    """Whether a word of a line is a secret: if the line is masked, it is not there any more."""
    if not value or line is None:
        return False
    if secrecy.by_name(steps[1:], value) or _is_whole(line):
        return True
    return not embedded.FLAGS.intersection(steps) and value not in secret_texts.masked(line)


def _is_whole(line: str) -> bool:
    """Whether nothing of a line may be told."""
    return line.startswith(secrecy.HIDDEN[:4]) or secret_texts.SECRET.search(line) is not None
