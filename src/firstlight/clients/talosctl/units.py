"""Durations, sizes and times as Go programs write them."""

import datetime
import re

_DURATION = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>h|ms|m|s|µs|us|ns)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "ns": 1e-9}
_SIZE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?) (?P<unit>[kMGTPE]?B)")
_BYTES: dict[str, int] = {unit: 1000**power for power, unit in enumerate(("B", "kB", "MB", "GB", "TB", "PB", "EB"))}
_TIME = re.compile(r"(?P<until>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(?P<fraction>\d+))? (?P<zone>[+-]\d{4})")


def duration(seconds: float) -> str:
    """Seconds as an option wants them: ``90s``, ``0.25s``."""
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"


def seconds(text: str) -> float:
    """The seconds of a duration such as ``1h2m3s``."""
    bare = text.removeprefix("-")
    parts = list(_DURATION.finditer(bare))
    if not parts or "".join(part[0] for part in parts) != bare:
        raise ValueError(f"{text!r} is not a duration")
    return (-1 if text.startswith("-") else 1) * sum(float(part["number"]) * _SECONDS[part["unit"]] for part in parts)


def size(text: str) -> int:
    """The bytes of a size such as ``8.9 MB``, as exact as it was written."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a size")
    return round(float(match["number"]) * _BYTES[match["unit"]])


def time(text: str) -> datetime.datetime:
    """A time such as ``2026-03-01 12:00:00.123456789 +0000 UTC``."""
    match = _TIME.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time")
    fraction = (match["fraction"] or "0")[:6].ljust(6, "0")
    return datetime.datetime.strptime(f"{match['until']}.{fraction} {match['zone']}", "%Y-%m-%d %H:%M:%S.%f %z")
