"""What every command shares: ``--output text|json``, and how each of the two is written."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

import click

from firstlight import errors
from firstlight.clients import atomic_file, path_safety
from firstlight.drawing import safe

Form = Literal["text", "json"]
"""How an answer is printed."""


def printable_diff(text: str) -> str:
    """A patch: as it is for programs, and harmless on a screen, where a file could say anything to the terminal."""
    return safe.text(text) if sys.stdout.isatty() else text


P = ParamSpec("P")
R = TypeVar("R")


def option(function: Callable[P, R]) -> Callable[P, R]:
    """Adds ``--output`` to a command."""
    choice = click.Choice(["text", "json"])

    @click.option(
        "-o", "--output", "form", type=choice, default="text", show_default=True, help="How to print the answer."
    )
    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return wrapper


def answer(form: str, text: str, value: Any) -> None:
    """Print an answer in the form that was asked for."""
    if form == "json":
        write_json(value)
    else:
        print(text)


def write_json(value: Any) -> None:
    """Print a value as JSON, indented for people and stable for programs."""
    sys.stdout.write(json_text(value))
    sys.stdout.flush()


def write_json_line(value: Any) -> None:
    """Print a value as JSON on one line, for programs that read as it comes."""
    sys.stdout.write(json_text(value, indent=0))
    sys.stdout.flush()


def json_text(value: Any, *, indent: int = 2) -> str:
    """Return an answer as JSON; its form is declared in the room's ``output_form.py``, and tests hold it to that."""
    return safe.json(value, indent=indent) + "\n"


def write_file(path: Path, text: str) -> None:
    """Put a file in its place, whole or not at all.

    Raises:
        errors.UsageError: That cannot be done.
    """
    path_safety.check_replaceable(path)
    try:
        atomic_file.replace(path, text.encode(), mode=None)
    except OSError as error:
        raise errors.UsageError(f"{path} cannot be written: {error.strerror or error}") from error
