"""Variables in texts, expanded as Flux does it: ``${name}``, defaults, cutting, replacing, and ``$$`` for a dollar.

The grammar is that of Flux's own envsubst, errors included: ``${a-b}``, which every shell knows, is refused by it. It
is parsed and expanded in one go. What depends on a variable that nobody knows here stays as it is written.
"""

import dataclasses
from collections.abc import Callable, Iterable

_DEEPEST = 30
"""Expressions in expressions."""
LETTERS = 16_000_000
"""That variables may stand for in all texts of a cluster together: the largest repos have less than one million."""
_TRIMMING = 4
"""How much longer a letter takes that a pattern is tried at than one that is copied."""


class BadSubstitution(Exception):
    """Flux would refuse the text."""


class SubstitutionTooLarge(BadSubstitution):
    """Flux might take it, but what its variables stand for is more than anybody writes."""


@dataclasses.dataclass(slots=True)
class SubstitutionBudget:
    """How many letters variables may still stand for; shared by all texts that belong together."""

    letters: int = LETTERS

    def spend(self, letters: int) -> None:
        """Take some of it, before they are written.

        Raises:
            TooMuch: There is not enough left.
        """
        self.letters -= letters
        if self.letters < 0:
            raise SubstitutionTooLarge(f"variables stand for more than {LETTERS // 1_000_000} million letters in all")


Lookup = Callable[[str], str | None]
"""The value of a variable; None where it cannot be known."""


@dataclasses.dataclass(slots=True)
class Expansion:
    """What became of a text."""

    text: str
    unknown: dict[str, None] = dataclasses.field(default_factory=dict)
    """Variables that are not known; what depends on them stands as it was written."""
    assumed: dict[str, None] = dataclasses.field(default_factory=dict)
    """Variables that are not known, and whose defaults were taken."""
    empty: dict[str, None] = dataclasses.field(default_factory=dict)
    """Variables without a default that stand for nothing."""


def expand(text: str, lookup: Lookup, budget: SubstitutionBudget | None = None) -> Expansion:
    """Expand the variables of a text.

    Args:
        text: The text.
        lookup: What variables stand for.
        budget: How much they may stand for; one for this text alone if it is not given.

    Raises:
        BadSubstitution: Flux would refuse it.
        TooMuch: It would become too long, or take too long.
    """
    parser = _Parser(text, lookup, budget or SubstitutionBudget())
    parser.found.text = parser.everything()
    return parser.found


class _Parser:
    def __init__(self, text: str, lookup: Lookup, budget: SubstitutionBudget) -> None:
        self._text = text
        self._find = lookup
        self._budget = budget
        self._at = 0
        self._depth = 0
        self.found = Expansion("")

    def everything(self) -> str:
        parts: list[str] = []
        text = self._text
        while True:
            dollar = text.find("$", self._at)
            if dollar < 0:
                return "".join([*parts, text[self._at :]])
            parts.append(text[self._at : dollar])
            if text.startswith("${", dollar):
                self._at = dollar + 2
                parts.append(self._shown(dollar, self._expression()))
            else:
                self._at = dollar + (2 if text.startswith("$$", dollar) else 1)
                parts.append("$")

    def _shown(self, start: int, value: str | None) -> str:
        return self._text[start : self._at] if value is None else value

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _close(self) -> None:
        if self._peek() != "}":
            raise BadSubstitution("a closing brace is missing")
        self._at += 1

    def _take(self, accept: Callable[[str], bool], *, most: int = 0) -> str:
        start = self._at
        while self._peek() and accept(self._peek()) and (not most or self._at - start < most):
            self._at += 1
        return self._text[start : self._at]

    def _name(self) -> str:
        name = self._take(lambda each: each == "_" or each.isalpha() or each.isdigit())
        if not name:
            raise BadSubstitution("a variable has no name")
        return name

    def _lookup(self, name: str) -> str | None:
        value = self._find(name)
        self._budget.spend(len(value) if value else 1)
        return value

    def _value(self, name: str) -> str | None:
        value = self._lookup(name)
        if value is None:
            self.found.unknown[name] = None
        elif not value:
            self.found.empty[name] = None
        return value

    def _expression(self) -> str | None:
        """What stands for an expression, whose ``${`` is read; None where that is not known."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise BadSubstitution(f"expressions are nested more than {_DEEPEST} deep")
        if self._peek() == "#":
            self._at += 1
            value = self._value(self._name())
            self._close()
            found = None if value is None else str(len(value.encode()))
        else:
            found = self._operation(self._name())
        self._depth -= 1
        return found

    def _operation(self, name: str) -> str | None:
        mark = self._peek()
        following = self._text[self._at + 1 : self._at + 2]
        if mark == "=" or (mark == ":" and following and following in "=-?+"):
            return self._default(name)
        if mark == ":":
            return self._cut(name)
        if mark and mark in ",^":
            return self._cased(name)
        if mark == "/":
            return self._replaced(name)
        if mark and mark in "#%":
            return self._trimmed(name, mark)
        self._close()
        return self._value(name)

    def _default(self, name: str) -> str | None:
        self._at += 1 if self._peek() == "=" else 2
        parts: list[str | None] = []
        noted, self.found.unknown = self.found.unknown, {}
        while self._peek() != "}":
            parts.append(self._argument(lambda each: each != "}"))
        self._close()
        value = self._lookup(name)
        within, self.found.unknown = self.found.unknown, noted
        if value:
            return value  # what is only in the default does not matter
        noted.update(within)
        if value is None:
            self.found.assumed[name] = None
        return None if None in parts else "".join(each for each in parts if each is not None)

    def _argument(self, accept: Callable[[str], bool], *, escapes: bool = False) -> str | None:
        """An expression, or letters up to one or to what is not accepted."""
        if self._text.startswith("${", self._at):
            self._at += 2
            return self._expression()
        parts: list[str] = []
        start = self._at
        while (letter := self._peek()) and not self._text.startswith("${", self._at):
            following = self._text[self._at + 1 : self._at + 2]
            if escapes and (letter + following == "$$" or (letter == "\\" and following and following in "/\\")):
                parts.append(following)
                self._at += 2
                continue
            if not accept(letter):
                break
            parts.append(letter)
            self._at += 1
        if self._at == start:
            raise BadSubstitution("an expression is not complete")
        return "".join(parts)

    def _cut(self, name: str) -> str | None:
        self._at += 1
        start = self._argument(lambda each: each not in ":}")
        length: str | None = ""
        if self._take(lambda each: each == ":"):
            length = self._argument(lambda each: each != "}")
            self._close()
            return self._applied(name, lambda value, first, second: _substring(value, first, second), start, length)
        self._close()
        return self._applied(name, lambda value, first: _substring(value, first, None), start)

    def _cased(self, name: str) -> str | None:
        mark = self._take(lambda each: each in ",^", most=2)
        self._close()
        return self._applied(name, lambda value: _cased(value, mark))

    def _trimmed(self, name: str, mark: str) -> str | None:
        marks = self._take(lambda each: each == mark, most=2)
        pattern = self._argument(lambda each: each != "}")
        self._close()
        return self._applied(
            name,
            lambda value, glob: _trimmed(value, glob, self._budget, at_end=mark == "%", longest=len(marks) == 2),
            pattern,
        )

    def _replaced(self, name: str) -> str | None:
        self._at += 1
        mark = self._take(lambda each: each in "/#%", most=1)
        old = self._argument(lambda each: each != "/", escapes=True)
        if not self._take(lambda each: each == "/"):
            raise BadSubstitution("a replacement has no second slash")
        new: str | None = ""
        has_new = self._peek() != "}"
        if has_new:
            new = self._argument(lambda each: each != "}", escapes=True)
        self._close()
        if not has_new and mark in ("#", "%") and mark:
            return self._value(name)  # Flux's own quirk: nothing is replaced by nothing
        return self._applied(name, lambda value, a, b: _replaced(value, mark, a, b, self._budget), old, new)

    def _applied(self, name: str, work: Callable[..., str], *arguments: str | None) -> str | None:
        value = self._value(name)
        return None if value is None or None in arguments else work(value, *arguments)


def _substring(value: str, start: str, length: str | None) -> str:
    """Bytes of a text, as Go counts; a number that is none changes nothing."""
    data = value.encode()
    try:
        first = int(start)
        count = len(data) if length is None else int(length)
    except ValueError:
        return value
    first = max(len(data) + first, 0) if first < 0 else first
    if first + count < first:
        raise BadSubstitution("a negative length makes Flux fail")
    return data[first : first + count].decode(errors="replace")


def _cased(value: str, mark: str) -> str:
    match mark:
        case ",":
            return value[:1].lower() + value[1:]
        case ",,":
            return value.lower()
        case "^":
            return value[:1].upper() + value[1:]
        case "^^":
            return value.upper()
        case _:
            return value


def _replaced(value: str, mark: str, old: str, new: str, budget: SubstitutionBudget) -> str:
    budget.spend((value.count(old) if mark == "/" else 1) * len(new))
    match mark:
        case "/":
            return value.replace(old, new)
        case "#":
            return value.replace(old, new, 1) if value.startswith(old) else value
        case "%":
            return value.removesuffix(old) + new if value.endswith(old) else value
        case _:
            return value.replace(old, new, 1)


def _trimmed(value: str, glob: str, budget: SubstitutionBudget, *, at_end: bool, longest: bool) -> str:
    budget.spend(len(value) * len(glob) * _TRIMMING)
    text = value[::-1] if at_end else value
    try:
        lengths = [each for each in _matching(text, _tokens(glob[::-1] if at_end else glob)) if each]
    except ValueError:
        return value  # a pattern that is none changes nothing
    if not lengths:
        return value
    rest = text[max(lengths) if longest else min(lengths) :]
    return rest[::-1] if at_end else rest


def _matching(text: str, tokens: Iterable[Callable[[str], bool] | None]) -> list[int]:
    """How many letters of the text's start a pattern can match: all possibilities at once."""
    places = {0}
    for token in tokens:
        if token is None:
            places = set(range(min(places), len(text) + 1)) if places else places
        else:
            places = {each + 1 for each in places if each < len(text) and token(text[each])}
    return sorted(places)


def _tokens(glob: str) -> list[Callable[[str], bool] | None]:
    """The parts of a pattern: a test for one letter each, or None for a star."""
    found: list[Callable[[str], bool] | None] = []
    at = 0
    while at < len(glob):
        letter = glob[at]
        at += 1
        if letter == "*":
            found.append(None)
        elif letter == "?":
            found.append(lambda _: True)
        elif letter == "[":
            test, at = _class(glob, at)
            found.append(test)
        else:
            if letter == "\\":
                if at == len(glob):
                    raise ValueError("a backslash at the end")
                letter, at = glob[at], at + 1
            found.append(lambda each, wanted=letter: each == wanted)  # type: ignore[misc]
    return found


def _class(glob: str, at: int) -> tuple[Callable[[str], bool], int]:
    negated = glob.startswith("^", at)
    at += negated
    end = glob.index("]", at + 1)
    inside = glob[at:end]
    ranges = []
    while inside:
        if len(inside) > 2 and inside[1] == "-":
            ranges.append((inside[0], inside[2]))
            inside = inside[3:]
        else:
            ranges.append((inside[0], inside[0]))
            inside = inside[1:]
    return lambda each: any(low <= each <= high for low, high in ranges) is not negated, end + 1
