"""The incident record of an override: Markdown for people to complete, JSON for programs, beside the journal."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.journal import directory
from firstlight.model.override import Override
from firstlight.report import override_incident


def path(state: Path, cluster: str, id: str) -> Path:
    """Where it is."""
    return state / cluster / "incidents" / f"{id}.md"


def keep(override: Override, *, state: Path, cluster: str, say: Callable[[str], None]) -> None:
    """Write it; what people have written into it already stays.

    The override itself must not fail for a full disk: the record in the cluster has the same.
    """
    place = path(state, cluster, override.id)
    try:
        directory.enter(place)
        _write(place.with_suffix(".json"), msgspec.json.format(msgspec.json.encode(override), indent=1))
        if not place.exists():
            _write(place, override_incident.markdown(override).encode())
    except (OSError, errors.FirstlightError) as error:
        say(f"the incident record could not be written: {error}")


def _write(place: Path, content: bytes) -> None:
    fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
