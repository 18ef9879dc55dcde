"""What talosctl prints as JSON: one document after another, with any white space or none between them."""

import datetime
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.model import secret_words
from firstlight.model.secret import MASK, Secret

_decoder = json.JSONDecoder()


def parse_documents(text: str) -> tuple[Mapping[str, Any], ...]:
    """All documents.

    Raises:
        ValueError: It is not JSON, or a document is not an object.
    """
    documents = []
    position = 0
    while (position := _after_space(text, position)) < len(text):
        try:
            document, position = _decoder.raw_decode(text, position)
        except RecursionError as error:
            raise ValueError("a document is nested too deeply") from error
        if not isinstance(document, dict):
            raise ValueError(f"a document is a {type(document).__name__}, not an object")
        documents.append(document)
    return tuple(documents)


def _after_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


# Tables of talosctl, for the few commands that print nothing better: etcd and time.
#
# Columns start where their heading starts, and are three spaces apart at least. Cells may be empty, so lines cannot
# be split at spaces.


_HEADING = re.compile(r"\S+(?: \S+)*")


def parse_table(text: str) -> tuple[Mapping[str, str], ...]:
    """The rows, by heading.

    Raises:
        ValueError: There are rows without a heading.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return ()
    headings = list(_HEADING.finditer(lines[0]))
    if not headings or lines[0] != lines[0].upper():
        raise ValueError("the table has no heading")
    starts = [heading.start() for heading in headings]
    ends = [*starts[1:], None]
    return tuple(
        {heading[0]: line[start:end].strip() for heading, start, end in zip(headings, starts, ends, strict=True)}
        for line in lines[1:]
    )


# Durations, sizes and times as Go programs write them.


_DURATION = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>h|ms|m|s|µs|us|ns)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "ns": 1e-9}
_SIZE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?) (?P<unit>[kMGTPE]?B)")
_BYTES: dict[str, int] = {unit: 1000**power for power, unit in enumerate(("B", "kB", "MB", "GB", "TB", "PB", "EB"))}
_TIME = re.compile(r"(?P<until>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(?P<fraction>\d+))? (?P<zone>[+-]\d{4})")


def format_duration(seconds: float) -> str:
    """Seconds as an option wants them: ``90s``, ``0.25s``."""
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"


def parse_duration(text: str) -> float:
    """The seconds of a duration such as ``1h2m3s``."""
    bare = text.removeprefix("-")
    parts = list(_DURATION.finditer(bare))
    if not parts or "".join(part[0] for part in parts) != bare:
        raise ValueError(f"{text!r} is not a duration")
    return (-1 if text.startswith("-") else 1) * sum(float(part["number"]) * _SECONDS[part["unit"]] for part in parts)


def parse_size(text: str) -> int:
    """The bytes of a size such as ``8.9 MB``, as exact as it was written."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a size")
    return round(float(match["number"]) * _BYTES[match["unit"]])


def parse_time(text: str) -> datetime.datetime:
    """A time such as ``2026-03-01 12:00:00.123456789 +0000 UTC``."""
    match = _TIME.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time")
    fraction = (match["fraction"] or "0")[:6].ljust(6, "0")
    return datetime.datetime.strptime(f"{match['until']}.{fraction} {match['zone']}", "%Y-%m-%d %H:%M:%S.%f %z")


# What talosctl says, without what it must not repeat.
#
# It quotes machine configs in its messages: keys that it does not know come with their values, and a change that needs
# a reboot comes with a diff of the whole. So its standard error is masked before anybody sees it: by the look of keys
# and tokens, and by the values that it was given.


_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\Z)", re.DOTALL)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_TOKEN = re.compile(r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b")
_DIFF = re.compile(r"\n(?:diff:|--- a\b).*", re.DOTALL)
_UNKNOWN_KEYS = re.compile(r"(unknown keys found during decoding:\n)(.*?)(?=\n\s*\n|\Z)", re.DOTALL)
_WRONG_TYPE = re.compile(r"(cannot (?:unmarshal|decode|construct) \S+) `.*?`(?= into |\n|\Z)", re.DOTALL)
"""go-yaml quotes a value of a wrong type, shortened to its first seven letters, so that it is not found as a whole."""
_KEY_AND_VALUE = re.compile(r"^(?P<indent>\s*)(?P<before>(?:- )?[^\s:\"'][^:\n]*:|- )\s*(?P<value>\S.*)$")
_SENSITIVE = re.compile(rf"""(?i)^[\s-]*["']?[\w.-]*{secret_words.IN_MACHINE_CONFIG}\w*["']?:\s*(\S.*)$""")
_SHORTEST = 4
"""Values that are shorter are parts of too many words."""
_HARMLESS = re.compile(r"true|false|null|~|[0-9]+")


def masked_output(said: str, *, given: Iterable[Secret] = ()) -> str:
    """A message in which secrets are masked.

    Args:
        said: What the program printed.
        given: What it was fed, whose sensitive values must not come back.
    """
    said = _DIFF.sub(f"\n{MASK}", said)
    said = _UNKNOWN_KEYS.sub(lambda match: match[1] + _keys_only(match[2]), said)
    said = _WRONG_TYPE.sub(lambda match: f"{match[1]} {MASK}", said)
    said = _PEM.sub(MASK, said)
    said = _TOKEN.sub(MASK, said)
    said = _BASE64.sub(lambda match: MASK if _is_random(match[0]) else match[0], said)
    for value in sorted(_values(given), key=len, reverse=True):
        said = said.replace(value, MASK)
    return said


def _is_random(run: str) -> bool:
    """Whether a run of letters looks like a key: paths and digests lack capitals, words lack digits."""
    return any(c.islower() for c in run) and any(c.isupper() for c in run) and any(c.isdigit() for c in run)


def _keys_only(block: str) -> str:
    """A block of YAML whose keys stay and whose values do not."""
    lines = []
    for line in block.split("\n"):
        match = _KEY_AND_VALUE.match(line)
        if match is not None:
            lines.append(f"{match['indent']}{match['before'].rstrip()} {MASK}")
        elif line.rstrip().endswith(":") or not line.strip():
            lines.append(line)
        else:
            lines.append(MASK)
    return "\n".join(lines)


def _values(given: Iterable[Secret]) -> set[str]:
    found = set()
    for secret in given:
        for line in secret.reveal().decode(errors="replace").splitlines():
            match = _SENSITIVE.match(line)
            value = match[1].strip().strip("\"'") if match else ""
            if len(value) >= _SHORTEST and not _HARMLESS.fullmatch(value):
                found.add(value)
    return found
