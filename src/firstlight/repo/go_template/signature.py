"""What kinds of arguments a function takes; Go checks that before it calls, and so it is done here.

A signature has one letter for each argument: ``s`` string, ``i`` integer, ``b`` boolean, ``d`` map, ``l`` list,
``a`` anything. A ``*`` after a letter takes any number of them, a ``?`` none or one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from firstlight.repo.go_template.problem import TemplateError

_PART = re.compile(r"([sibdla])([*?]?)")


class Function(NamedTuple):
    """A function of templates."""

    signature: str
    run: Callable[..., Any]


def check(name: str, signature: str, arguments: Sequence[Any]) -> None:
    """Refuse arguments that Go would refuse."""
    at = 0
    for letter, times in _PART.findall(signature):
        if times == "*":
            for argument in arguments[at:]:
                _check(name, letter, argument)
            return
        if at >= len(arguments):
            if times == "?":
                return
            raise TemplateError(f"{name} is given too few arguments", name=name)
        _check(name, letter, arguments[at])
        at += 1
    if at < len(arguments):
        raise TemplateError(f"{name} is given too many arguments", name=name)


def _check(name: str, letter: str, argument: Any) -> None:
    match letter:
        case "s":
            good, wanted = isinstance(argument, str), "a string"
        case "i":
            good, wanted = isinstance(argument, int) and not isinstance(argument, bool), "an integer"
        case "b":
            good, wanted = isinstance(argument, bool), "a boolean"
        case "d":
            good, wanted = isinstance(argument, Mapping), "a map"
        case "l":
            good, wanted = isinstance(argument, (list, tuple)), "a list"
        case _:
            return
    if not good:
        raise TemplateError(f"{name} wants {wanted}, not {kind(argument)}", name=name)


def kind(value: Any) -> str:
    """A value's kind, as people call it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, (int, float)):
        return "a number"
    return "a map" if isinstance(value, Mapping) else "a list"
