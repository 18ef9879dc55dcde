"""Texts of a repo for people: on one line, and not longer than somebody reads."""

import dataclasses
import re

from firstlight.model.component import Origin
from firstlight.model.remark import Remark
from firstlight.model.source import Chart, Remote, Source, Sources, Unresolved
from firstlight.repo.scripts import masking

MAX_LENGTH = 500
_UNPRINTABLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\ue0f0\ue0f1]+")


def line(text: str) -> str:
    """A text on one line."""
    text = masking.url(text)
    short = text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]} …"
    return _UNPRINTABLE.sub(" ", short).strip()


def remark(value: Remark) -> Remark:
    """A remark that can be printed."""
    return dataclasses.replace(value, message=line(masking.text(value.message)), hint=line(value.hint))


def origin(value: Origin) -> Origin:
    """An origin whose names and doubts can be printed."""
    return dataclasses.replace(
        value,
        name=line(value.name),
        namespace=line(value.namespace),
        doubt=line(value.doubt),
        version=line(value.version),
        source=source(value.source),
    )


def source(value: Source | Sources) -> Source | Sources:
    """A source whose URLs have no passwords."""
    if isinstance(value, Sources):
        return Sources(each=tuple(_source(each) for each in value.each))
    return _source(value)


def _source(value: Source) -> Source:
    match value:
        case Chart():
            return dataclasses.replace(value, name=masking.url(value.name), repository=masking.url(value.repository))
        case Remote():
            return dataclasses.replace(value, url=masking.url(value.url))
        case Unresolved():
            return dataclasses.replace(value, text=masking.url(value.text), reason=masking.url(value.reason))
        case _:
            return value
