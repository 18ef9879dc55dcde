"""What people have excused in the files themselves: a rule, until when, and why.

    # firstlight: ignore RULE until 2027-01-31: reason         for this line, or for the one below
    # firstlight: ignore-file RULE until 2027-01-31: reason    in the first lines, for the whole file

Several rules are separated by commas. One without a reason or an end, or past its end, excuses nothing.
"""

import dataclasses
import datetime
import re
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from firstlight.commands.audit import wording
from firstlight.model.finding import Excuse, Excused, Finding
from firstlight.model.place import Place
from firstlight.repo.platform_view import RepoFiles

GROUP = "excuses"
"""Of rules about excuses themselves, which nothing excuses or replaces."""
LONGEST = datetime.timedelta(days=5 * 366)
"""How far away an end may be before nobody believes it."""
_MARK = "firstlight:"
_COMMENT = re.compile(
    # The braces are those of comments of templates: {# … #}, {{- /* … */ -}}.
    r"(?P<lead>^.*?)(?:\{(?=#)|\{\{-?\s*(?=/\*))?(?:#-?|//|/\*|<!--)\s*firstlight:\s*ignore(?P<file>-file)?\b(?P<rest>.*)$",
    re.IGNORECASE,
)
_COMMENTS = ("#", "//", "{#", "{{/*", "{{- /*")
_ENDS = ("*/}}", "*/ -}}", "*/-}}", "*/ }}", "*/", "-->", "-#}", "#}")
_RULES = re.compile(r"\s+(?P<rules>[\w.-]+(?:\s*,\s*[\w.-]+)*)(?P<after>.*)$")
_AFTER = re.compile(r"\s+until\s+(?P<until>[^\s:]+)(?P<reason>.*)$")
_FIRST = 10
"""Lines at the top of a file in which the whole of it can be excused."""
_PROSE = (".md", ".txt", ".rst", ".adoc", ".html", ".test.yaml", ".test.yml")
"""Files that speak of excuses without being excused."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class IgnoreComment:
    """A comment that excuses something."""

    place: Place
    rules: tuple[str, ...]
    lines: frozenset[int]
    """That it is about; none for the whole file."""
    until: datetime.date | None
    reason: str
    problem: str = ""
    """Why it excuses nothing, whatever the day."""


_KNOWN: weakref.WeakKeyDictionary[RepoFiles, tuple[IgnoreComment, ...]] = weakref.WeakKeyDictionary()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ExcuseOutcome:
    """What is left of findings."""

    findings: tuple[Finding, ...]
    excused: tuple[Excused, ...]


def ignores(files: RepoFiles) -> tuple[IgnoreComment, ...]:
    """Every comment of the repo that excuses something, or means to; several rules ask, and files do not change."""
    if files not in _KNOWN:
        _KNOWN[files] = tuple(_ignores(files))
    return _KNOWN[files]


def excused(
    found: Iterable[Finding], given: Sequence[IgnoreComment], *, today: datetime.date, never: Collection[str] = ()
) -> ExcuseOutcome:  # fmt: skip
    """Findings without those that a comment excuses today.

    Args:
        found: All of them.
        given: The comments.
        today: The day that ends are held against; the last one counts.
        never: Ids of rules whose findings nothing excuses.
    """
    by_path: dict[str, list[IgnoreComment]] = {}
    for each in given:
        if not each.problem and each.until is not None and each.until >= today:
            by_path.setdefault(each.place.path, []).append(each)
    left: list[Finding] = []
    gone: list[Excused] = []
    for finding in found:
        ignore = _for(finding, by_path) if finding.code not in never else None
        if ignore is None:
            left.append(finding)
        else:
            gone.append(
                Excused(
                    finding=finding, by=Excuse.INLINE, reason=ignore.reason, until=str(ignore.until),
                    place=ignore.place,
                )
            )  # fmt: skip
    return ExcuseOutcome(findings=tuple(left), excused=tuple(gone))


def _for(finding: Finding, by_path: Mapping[str, Sequence[IgnoreComment]]) -> IgnoreComment | None:
    for each in by_path.get(finding.place.path, ()):
        if finding.code in each.rules and (not each.lines or finding.place.line in each.lines):
            return each
    return None


def _ignores(files: RepoFiles) -> Iterator[IgnoreComment]:
    for path in files.files:
        if path.endswith(_PROSE):
            continue
        # Not the text of every file line by line: most have none.
        text = files.text(path)
        if text is None or _MARK not in text:
            continue
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            match = _COMMENT.search(line) if _MARK in line else None
            if match is not None and (not match["file"] or number <= _FIRST):
                yield _ignore(Place(path, number, match.end("lead") + 1), match, lines)


def _ignore(place: Place, match: re.Match[str], lines: Sequence[str]) -> IgnoreComment:
    about = frozenset() if match["file"] else frozenset(_about(place.line, match["lead"], lines))
    named = _RULES.match(match["rest"])
    if named is None:
        return IgnoreComment(place=place, rules=(), lines=about, until=None, reason="", problem="it names no rule")
    rules = tuple(each.strip() for each in named["rules"].split(","))
    after = _AFTER.match(_without_end(named["after"]))
    said = after["reason"].strip() if after is not None else ""
    if after is None or (said and not said.startswith(":")):
        return IgnoreComment(place=place, rules=rules, lines=about, until=None, reason="", problem="it has no end")
    until, reason = wording.parse_day(after["until"]), said.removeprefix(":").strip()
    problem = "" if reason else "it has no reason"
    if until is None:
        problem = f"its end, {after['until'][:40]}, is no day"
    return IgnoreComment(place=place, rules=rules, lines=about, until=until, reason=reason, problem=problem)


def _without_end(text: str) -> str:
    """Without what ends the comment; not by an expression, which a line of spaces could keep busy for hours."""
    bare = text.rstrip()
    return bare.removesuffix(next((each for each in _ENDS if bare.endswith(each)), ""))


def _about(number: int, lead: str, lines: Sequence[str]) -> Iterator[int]:
    """The line itself; of a comment alone on its line also the next one that is no comment."""
    yield number
    if lead.strip():
        return
    for below in range(number, len(lines)):
        line = lines[below].strip()
        yield below + 1
        if line and not line.startswith(_COMMENTS):
            return
