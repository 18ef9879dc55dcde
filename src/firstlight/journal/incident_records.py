"""Incident records beside the journal: Markdown that people complete with the cause and the follow-ups.

An override writes one when it is over, and ``recover --do`` when it has done something. What people have written into
one stays; a record counts as reviewed once neither blank stands in it any more, whoever filled them in.
"""

import contextlib
import datetime
import re
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import atomic_file
from firstlight.journal import state_files
from firstlight.model.incident import Incident

CAUSE = "_To fill in: what broke, and why._"
FOLLOW_UPS = "- [ ] _To fill in: what keeps it from coming back, who does it, by when_"
BLANKS = ("## Cause", "", CAUSE, "", "## Follow-ups", "", FOLLOW_UPS, "")
"""The last lines of a new record."""
_DIRECTORY = "incidents"
_STAMP = re.compile(r"(\d{8}t\d{6})z-[a-z0-9-]+")


def made_id(now: float) -> str:
    """An id that sorts by time: ``20261116t200000z-3f9c``."""
    stamp = datetime.datetime.fromtimestamp(now, datetime.UTC).strftime("%Y%m%dt%H%M%Sz")
    return f"{stamp}-{secrets.token_hex(2)}"


def path_of(state: Path, cluster: str, id: str) -> Path:
    """Where a record is."""
    return state / cluster / _DIRECTORY / f"{id}.md"


def keep(text: str, *, state: Path, cluster: str, id: str) -> Path:
    """Write a record that is not there yet; what people have written into one stays.

    Raises:
        errors.FirstlightError: Its directory cannot be made.
        OSError: It cannot be written.
    """
    place = path_of(state, cluster, id)
    state_files.enter(place)
    if not place.exists():
        atomic_file.replace(place, text.encode())
    return place


def listed(state: Path, cluster: str = "") -> tuple[Incident, ...]:
    """The records of a cluster, or of all, oldest first; a file that is not called like one is passed over.

    Raises:
        errors.Refused: Something there may be somebody else's work.
    """
    names = [cluster] if cluster else sorted(each.parent.name for each in state.glob(f"*/{_DIRECTORY}"))
    return tuple(sorted(_read(state, names), key=lambda each: (each.day, each.id)))


def _read(state: Path, clusters: Sequence[str]) -> Iterator[Incident]:
    for cluster in clusters:
        for path in state_files.listed(state / cluster / _DIRECTORY, "*.md"):
            if (match := _STAMP.fullmatch(path.stem)) is None:
                continue
            with contextlib.suppress(OSError, ValueError):
                content = state_files.read(path).decode(errors="replace")
                yield Incident(
                    id=path.stem,
                    cluster=cluster,
                    day=datetime.datetime.strptime(match[1], "%Y%m%dt%H%M%S").date(),
                    path=path.relative_to(state.parent).as_posix(),
                    has_cause=CAUSE not in content,
                    has_follow_ups=FOLLOW_UPS not in content,
                )


def fill_in(incident: Incident, *, state: Path, cause: str, follow_ups: Sequence[str]) -> None:
    """Write the cause and the follow-ups into the blanks of a record.

    Raises:
        errors.Refused: A blank has been filled in already.
    """
    place = path_of(state, incident.cluster, incident.id)
    content = state_files.read(place).decode(errors="replace")
    for blank, filled in ((CAUSE, cause), (FOLLOW_UPS, "\n".join(f"- [ ] {each}" for each in follow_ups))):
        if not filled:
            continue
        if blank not in content:
            raise errors.Refused(
                f"{incident.path}: it has been filled in already, and is not written over", hint="Edit the file."
            )
        content = content.replace(blank, filled, 1)
    atomic_file.replace(place, content.encode())
