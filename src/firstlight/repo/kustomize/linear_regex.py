"""Regular expressions of selectors, matched in time that grows with the text and not with the cunning of its author.

kustomize has Go's expressions, which never backtrack; those of Python can be made to run for years. What selectors use
of them is small: letters, dots, classes, groups, alternatives and repetition. The text is matched against all ways
through the pattern at once, as Go does it.
"""

import dataclasses
import functools
import re
from collections.abc import Callable

from firstlight.repo.kustomize.resources import unknown_problem

_PLAIN = re.compile(r"[A-Za-z0-9_/:@ -]*")
_DOTTED = re.compile(r"[A-Za-z0-9_/:@ .-]*")
_BOUNDS = re.compile(r"\{(\d{1,4})(,)?(\d{1,4})?\}")
_LONGEST = 500
"""Letters of a pattern; names have 253 at most."""
_DEEPEST = 20
"""Groups in groups."""
_STATES = 5000
"""Places in a compiled pattern, which repetition such as ``(a{9}){9}`` multiplies."""

_CLASSES = {
    "d": "0123456789",
    "w": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_",
    "s": " \t\n\r\f",
}

Test = Callable[[str], bool]


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern matches the whole of a text.

    Raises:
        Problem: It has something in it that is not known here.
    """
    if _PLAIN.fullmatch(pattern):
        return pattern == text
    if _DOTTED.fullmatch(pattern):  # the group of a kind, nearly always
        return len(pattern) == len(text) and all(
            a == b or (a == "." and b != "\n") for a, b in zip(pattern, text, strict=True)
        )
    if pattern == ".*":
        return "\n" not in text
    start, end = _compiled(pattern)
    last = len(text)
    current = _reachable([start], at_start=True, at_end=not last)
    for number, letter in enumerate(text, 1):
        read = [state.ways[0] for state in current if state.test is not None and state.test(letter)]
        current = _reachable(read, at_start=False, at_end=number == last)
    return any(state is end for state in current)


@dataclasses.dataclass(slots=True)
class _State:
    """A place in the pattern: a letter to read, or ways to go on without reading."""

    test: Test | None = None
    anchor: str = ""
    ways: list["_State"] = dataclasses.field(default_factory=list)


def _reachable(states: list[_State], *, at_start: bool, at_end: bool) -> list[_State]:
    """The places that are reached without reading another letter."""
    found: dict[int, _State] = {}
    waiting = states
    while waiting:
        state = waiting.pop()
        if id(state) in found or (state.anchor == "^" and not at_start) or (state.anchor == "$" and not at_end):
            continue
        found[id(state)] = state
        if state.test is None:
            waiting += state.ways
    return list(found.values())


@dataclasses.dataclass(frozen=True, slots=True)
class _Node:
    """A part of a pattern: a letter, an anchor, alternatives of sequences, or the repetition of a part."""

    test: Test | None = None
    anchor: str = ""
    alternatives: tuple[tuple["_Node", ...], ...] = ()
    repeated: "_Node | None" = None
    low: int = 1
    high: int | None = 1


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0

    def parse(self) -> _Node:
        found = self._alternatives()
        if self._at < len(self._pattern):
            raise _refused(self._pattern)
        return found

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _alternatives(self) -> _Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _refused(self._pattern)
        found = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            found.append(self._sequence())
        self._depth -= 1
        return _Node(alternatives=tuple(found))

    def _sequence(self) -> tuple[_Node, ...]:
        found: list[_Node] = []
        while self._peek() not in ("", "|", ")"):
            part = self._part()
            low, high = self._bounds()
            found.append(part if (low, high) == (1, 1) else _Node(repeated=part, low=low, high=high))
        return tuple(found)

    def _bounds(self) -> tuple[int, int | None]:
        mark = self._peek()
        found: tuple[int, int | None] = (1, 1)
        if mark and mark in "*+?":
            self._at += 1
            found = {"*": (0, None), "+": (1, None), "?": (0, 1)}[mark]
        elif match := _BOUNDS.match(self._pattern, self._at):
            self._at = match.end()
            high = int(match[3]) if match[3] else None
            found = (int(match[1]), high if match[2] else int(match[1]))
        if found != (1, 1) and self._peek() == "?":
            self._at += 1  # lazy repetition matches the same texts
        return found

    def _part(self) -> _Node:
        letter = self._peek()
        self._at += 1
        if letter == "(":
            return self._group()
        if letter in "^$":
            return _Node(anchor=letter)
        if letter == "[":
            return _Node(test=self._set())
        if letter == "\\":
            letters, negated = self._escaped()
            return _Node(test=_one_of(letters, negated=negated))
        if letter == ".":
            return _Node(test=_one_of("\n", negated=True))
        if letter in "*+?":
            raise _refused(self._pattern)
        return _Node(test=_one_of(letter))

    def _group(self) -> _Node:
        if self._peek() == "?":
            if not self._pattern.startswith("?:", self._at):
                raise _refused(self._pattern)
            self._at += 2
        inner = self._alternatives()
        if self._peek() != ")":
            raise _refused(self._pattern)
        self._at += 1
        return inner

    def _escaped(self) -> tuple[str, bool]:
        letter = self._peek()
        self._at += 1
        if letter and letter.lower() in _CLASSES:
            return _CLASSES[letter.lower()], letter.isupper()
        if not letter or letter.isalnum():
            raise _refused(self._pattern)
        return letter, False

    def _set(self) -> Test:
        negated = self._peek() == "^"
        self._at += negated
        letters: set[str] = set()
        ranges: list[tuple[str, str]] = []
        first = True
        while first or self._peek() != "]":
            first = False
            low = self._peek()
            self._at += 1
            if not low or (low == "[" and self._peek() == ":"):
                raise _refused(self._pattern)
            if low == "\\":
                escaped, inverted = self._escaped()
                if inverted:
                    raise _refused(self._pattern)
                letters.update(escaped)
            elif self._peek() == "-" and self._pattern[self._at + 1 : self._at + 2] not in ("", "]"):
                ranges.append((low, self._pattern[self._at + 1]))
                self._at += 2
            else:
                letters.add(low)
        self._at += 1
        return lambda each: (each in letters or any(low <= each <= high for low, high in ranges)) is not negated


class _Builder:
    """Makes places of parts, from the end to the start."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._made = 0

    def state(self, test: Test | None = None, anchor: str = "", ways: tuple[_State, ...] = ()) -> _State:
        self._made += 1
        if self._made > _STATES:
            raise _refused(self._pattern)
        return _State(test, anchor, list(ways))

    def build(self, node: _Node, after: _State) -> _State:
        if node.test is not None or node.anchor:
            return self.state(node.test, node.anchor, (after,))
        if node.repeated is not None:
            return self._repetition(node.repeated, node.low, node.high, after)
        return self.state(ways=tuple(self._sequence(each, after) for each in node.alternatives))

    def _sequence(self, nodes: tuple[_Node, ...], after: _State) -> _State:
        for node in reversed(nodes):
            after = self.build(node, after)
        return after

    def _repetition(self, node: _Node, low: int, high: int | None, after: _State) -> _State:
        if high is None:
            again = self.state()
            again.ways += [self.build(node, again), after]
            found = again
        else:
            found = after
            for _ in range(high - low):
                found = self.state(ways=(self.build(node, found), after))
        for _ in range(low):
            found = self.build(node, found)
        return found


def _one_of(letters: str, *, negated: bool = False) -> Test:
    return lambda each: (each in letters) is not negated


def _refused(pattern: str) -> Exception:
    return unknown_problem(f"the pattern {pattern[:80]!r} is not understood")


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> tuple[_State, _State]:
    if len(pattern) > _LONGEST:
        raise unknown_problem(f"a pattern of {len(pattern)} letters is too long to follow")
    node = _Parser(pattern).parse()
    builder = _Builder(pattern)
    end = builder.state()
    return builder.build(node, end), end
