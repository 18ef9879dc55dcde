"""Texts of a repo for people: on one line, and not longer than somebody reads."""

import dataclasses
import re

from firstlight.model.component import Origin
from firstlight.model.remark import Remark

MAX_LENGTH = 500
_UNPRINTABLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\ue0f0\ue0f1]+")


def line(text: str) -> str:
    """A text on one line."""
    short = text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]} …"
    return _UNPRINTABLE.sub(" ", short).strip()


def remark(value: Remark) -> Remark:
    """A remark that can be printed."""
    return dataclasses.replace(value, message=line(value.message), hint=line(value.hint))


def origin(value: Origin) -> Origin:
    """An origin whose names and doubts can be printed."""
    return dataclasses.replace(
        value,
        name=line(value.name),
        namespace=line(value.namespace),
        doubt=line(value.doubt),
        version=line(value.version),
    )
