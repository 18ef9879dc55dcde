"""What references were resolved to: one small file each, so that processes do not get into each other's way."""

import dataclasses
import time
from pathlib import Path

import msgspec

from firstlight.render import digests, kept
from firstlight.render.charts.wanted import Stored, Wanted

RANGE_AGE = 3600.0
"""Seconds after which a range or a branch is resolved anew: as often as Flux looks for new versions in most repos."""


class _Record(msgspec.Struct, frozen=True):
    source: str
    name: str
    version: str
    digest: str
    sum: str
    when: float


@dataclasses.dataclass(frozen=True)
class Pinned:
    """What a reference was resolved to, and whether that still holds."""

    stored: Stored
    is_fresh: bool


def find(directory: Path, wanted: Wanted) -> Pinned | None:
    """What a reference was resolved to before; None if it never was."""
    content = kept.read(_place(directory, wanted))
    if content is None:
        return None
    try:
        record = msgspec.json.decode(content, type=_Record)
    except msgspec.DecodeError:
        return None
    stored = Stored(wanted=wanted, name=record.name, version=record.version, digest=record.digest, sum=record.sum)
    return Pinned(stored, wanted.is_exact or 0 <= time.time() - record.when < RANGE_AGE)


def keep(directory: Path, stored: Stored) -> None:
    """Note what a reference was resolved to."""
    record = _Record(
        source=stored.wanted.source, name=stored.name, version=stored.version, digest=stored.digest, sum=stored.sum,
        when=time.time(),
    )  # fmt: skip
    kept.write(_place(directory, stored.wanted), msgspec.json.encode(record), durable=True)


def _place(directory: Path, wanted: Wanted) -> Path:
    value = dataclasses.asdict(wanted)
    if not wanted.insecure:  # what came without TLS is nobody else's
        del value["insecure"]
    return directory / f"{digests.of_value(value)}.json"
