"""YAML that strangers wrote: read or refused, but never the end of this process."""

from typing import Any

import yaml

from firstlight.document import depth


def load_all(text: str | bytes) -> list[Any]:
    """Every document of a text.

    Raises:
        ValueError: It is not YAML, or deeper than anybody writes; ``problem_of`` says where.
    """
    if isinstance(text, bytes):
        text = text.decode()
    try:
        if line := depth.too_deep(text):
            raise ValueError(f"line {line} is nested deeper than {depth.LIMIT} levels")
        return list(yaml.load_all(text, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, RecursionError, OverflowError) as error:
        # A date that no calendar has is a ValueError by itself; it comes through as it is.
        raise ValueError("it is not YAML") from error


def problem_of(error: ValueError) -> tuple[str, int]:
    """What is wrong, and in which line; 0 if that is not known."""
    cause = error.__cause__
    mark = getattr(cause, "problem_mark", None)
    problem = getattr(cause, "problem", None) or str(error)
    return str(problem), mark.line + 1 if mark is not None else 0
