"""One event as one line of JSON and back: ``{"v":1,"type":"StepStarted","at":…}``.

The same lines are the event stream of ``up --output json``. A field that a newer firstlight added is passed over; a
type or a version that is not known is told.
"""

import dataclasses
from typing import Any, get_args

import msgspec

from firstlight.model import remote_url
from firstlight.model.event import Event

VERSION = 1
_TYPES: dict[str, type[Event]] = {each.__name__: each for each in get_args(Event)}


class EventUnreadable(Exception):
    """A line that is no event that is known here; the text says why."""


def event_line(event: Event) -> bytes:
    """The event as JSON, with the line's end; no line end is within, and no credentials of a URL."""
    fields = {each.name: _clean(getattr(event, each.name)) for each in dataclasses.fields(event)}
    return msgspec.json.encode({"v": VERSION, "type": type(event).__name__, **fields}) + b"\n"


def parse_event(text: bytes) -> Event:
    """The event of a line.

    Raises:
        Unreadable: It is none, or one of a newer firstlight.
    """
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise EventUnreadable("it is not JSON") from error
    if not isinstance(value, dict):
        raise EventUnreadable("it is not an event")
    version, name = value.get("v"), value.get("type")
    if isinstance(version, int) and version > VERSION:
        raise EventUnreadable(f"a newer firstlight wrote it (version {version}, known is {VERSION})")
    if version != VERSION:
        raise EventUnreadable("it has no version")
    kind = _TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise EventUnreadable(f"events of type {name!r:.60} are not known here")
    try:
        return msgspec.convert(value, type=kind)
    except msgspec.ValidationError as error:
        raise EventUnreadable(f"it is no proper {name}: {error}") from error


def _clean(value: Any) -> Any:
    match value:
        case str():
            shown = remote_url.without_credentials(value) if "@" in value else value
            return shown.encode("utf-8", "replace").decode()  # strangers' names may hold what UTF-8 does not
        case tuple():
            return [_clean(each) for each in value]
        case _ if dataclasses.is_dataclass(value):
            return {each.name: _clean(getattr(value, each.name)) for each in dataclasses.fields(value)}
    return value
