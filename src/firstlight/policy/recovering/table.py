"""The table of ways back, from ``options.yaml``."""

import functools
import importlib.resources
from collections.abc import Mapping

import msgspec

from firstlight.document import reading

_FILE = "options.yaml"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab", kw_only=True):
    """One option."""

    does: str
    risk: str
    needs: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    by_hand: bool = False


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"condition": "while"}, kw_only=True):
    """What helps against something that a rule of the doctor has found."""

    rule: str
    options: tuple[str, ...]
    """Each an option, and what it is done to: ``rebuild-machine {machine}``."""
    condition: str = ""
    """``no-quorum``: only while etcd has none. ``no-data``: only where no control plane has its data any more."""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All of it."""

    parts: Mapping[str, tuple[str, ...]]
    needs: Mapping[str, str]
    options: Mapping[str, Entry]
    answers: tuple[Answer, ...]


@functools.cache
def read() -> Table:
    """The table, as it stands in the file."""
    file = importlib.resources.files("firstlight.policy.recovering") / _FILE
    (document,) = reading.read(file.read_bytes(), _FILE).documents
    return msgspec.convert(document.value, Table)
