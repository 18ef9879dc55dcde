"""The four kinds of globs that Argo CD knows, each matched in time that grows with pattern and text, never faster.

``path.Match`` for directories of a Git generator, ``git ls-files`` or doublestar for its files, doublestar for value
files, and gobwas/glob for projects and for includes and excludes of plain directories.
"""

import dataclasses
import enum
import functools
from collections.abc import Iterable, Sequence

MAX_ALTERNATIVES = 64
"""Patterns that one with ``{a,b}`` may stand for; people write two or three."""


class BadPattern(ValueError):
    """A pattern that Go refuses, too."""


class Star(enum.Enum):
    """Runs of characters."""

    SEGMENT = "within a segment of the path"
    ANY = "anything"


@dataclasses.dataclass(frozen=True, slots=True)
class Class:
    """One character out of some: ``[a-z]``, ``?`` or a plain one."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool = False
    crosses: bool = False
    """Whether a negated one also takes a separator."""

    def takes(self, character: str) -> bool:
        """Whether it is one of them."""
        if self.negated and character == "/" and not self.crosses:
            return False
        return any(low <= character <= high for low, high in self.ranges) != self.negated


Token = Star | Class
Tokens = tuple[Token, ...]


def path_match(pattern: str, path: str) -> bool:
    """Go's ``path.Match``: a star stays within a segment, and there is no ``**``."""
    return _matches(_tokens(pattern, star=Star.SEGMENT, double=Star.SEGMENT, negation="^"), path)


def git_match(pattern: str, path: str) -> bool:
    """What ``git ls-files -- pattern`` lists: a star crosses directories, and a directory stands for what is in it."""
    if path == pattern or path.startswith(pattern.rstrip("/") + "/"):
        return True
    return _matches(_tokens(pattern, star=Star.ANY, double=Star.ANY, negation="!^", crosses=True), path)


def doublestar_match(pattern: str, path: str) -> bool:
    """What ``doublestar`` matches: ``**`` as a segment of its own stands for any number of directories."""
    for each in _alternatives(pattern):
        segments = [segment for segment in each.split("/") if segment not in ("", ".")]
        if _segments_match(segments, path.split("/")):
            return True
    return False


def gobwas_match(pattern: str, text: str, *, separated: bool = False) -> bool:
    """What Argo CD's ``glob.Match`` matches; where nothing separates, a star takes slashes too."""
    star = Star.SEGMENT if separated else Star.ANY
    return any(
        _matches(_tokens(each, star=star, double=Star.ANY, negation="!", crosses=not separated), text)
        for each in _alternatives(pattern)
    )


def is_glob(text: str) -> bool:
    """Whether there is something to match in it."""
    return any(each in text for each in "*?[{")


def _segments_match(pattern: Sequence[str], path: Sequence[str]) -> bool:
    reached = {0}
    for segment in path:
        reached = _beyond_stars(pattern, reached)
        after = set()
        for position in reached:
            if position == len(pattern):
                continue
            if pattern[position] == "**":
                after.add(position)
            elif path_match(pattern[position], segment):
                after.add(position + 1)
        reached = after
    return len(pattern) in _beyond_stars(pattern, reached)


def _beyond_stars(pattern: Sequence[str], reached: Iterable[int]) -> set[int]:
    beyond = set()
    for position in reached:
        beyond.add(position)
        while position < len(pattern) and pattern[position] == "**":
            position += 1
            beyond.add(position)
    return beyond


def _alternatives(pattern: str) -> list[str]:
    """A pattern with its innermost ``{a,b}`` written out, again and again."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        each = waiting.pop()
        close = each.find("}")
        start = each.rfind("{", 0, close) if close >= 0 else -1
        if start < 0:
            done.append(each)
            continue
        waiting += [each[:start] + option + each[close + 1 :] for option in each[start + 1 : close].split(",")]
        if len(waiting) + len(done) > MAX_ALTERNATIVES:
            raise BadPattern(f"{pattern} stands for more than {MAX_ALTERNATIVES} patterns")
    return done


@functools.lru_cache(maxsize=1024)
def _tokens(pattern: str, *, star: Star, double: Star, negation: str, crosses: bool = False) -> Tokens:
    tokens: list[Token] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "*":
            run = position
            while position < len(pattern) and pattern[position] == "*":
                position += 1
            tokens.append(star if position - run == 1 else double)
            continue
        if character == "[":
            made, position = _class(pattern, position + 1, negation=negation, crosses=crosses)
            tokens.append(made)
            continue
        if character == "?":
            tokens.append(Class((), negated=True, crosses=crosses))
        else:
            if character == "\\":
                position += 1
                if position == len(pattern):
                    raise BadPattern(f"{pattern} ends with a backslash")
            tokens.append(Class(((pattern[position], pattern[position]),)))
        position += 1
    return tuple(tokens)


def _class(pattern: str, position: int, *, negation: str, crosses: bool) -> tuple[Class, int]:
    negated = position < len(pattern) and pattern[position] in negation
    position += negated
    ranges: list[tuple[str, str]] = []
    while position < len(pattern) and (pattern[position] != "]" or not ranges):
        low = pattern[position]
        if low == "\\" and position + 1 < len(pattern):
            position += 1
            low = pattern[position]
        high = low
        if pattern[position + 1 : position + 2] == "-" and pattern[position + 2 : position + 3] not in ("", "]"):
            position += 2
            high = pattern[position]
        ranges.append((low, high))
        position += 1
    if position >= len(pattern):
        raise BadPattern(f"{pattern} has a [ that is not closed")
    return Class(tuple(ranges), negated=negated, crosses=crosses), position + 1


def _matches(tokens: Tokens, text: str) -> bool:
    """All ways through the pattern at once, so that no text makes it try them one after the other."""
    reached = _past_stars(tokens, {0})
    for character in text:
        after = set()
        for position in reached:
            if position == len(tokens):
                continue
            token = tokens[position]
            if isinstance(token, Star):
                if token == Star.ANY or character != "/":
                    after.add(position)
            elif token.takes(character):
                after.add(position + 1)
        reached = _past_stars(tokens, after)
        if not reached:
            return False
    return len(tokens) in reached


def _past_stars(tokens: Tokens, reached: Iterable[int]) -> set[int]:
    past = set()
    for position in reached:
        past.add(position)
        while position < len(tokens) and isinstance(tokens[position], Star):
            position += 1
            past.add(position)
    return past
