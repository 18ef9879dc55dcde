"""The state machine of a watch: listings and raw events in, events that are true and new out. No I/O.

Events of one watch come in the order of their resource versions, and a listing is consistent with its own:
so one number, the position, tells what is new. A listing is the truth even if its number is lower than the
position: after an etcd restore resource versions go backwards.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Added:
    """An object is there that was not there before."""

    object: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Modified:
    """An object has changed."""

    object: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Deleted:
    """An object is gone, or no longer matches the selector.

    It is its last state if the server said so, or only apiVersion, kind and the identity in its metadata if
    it was missed in a listing.
    """

    object: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Synced:
    """Everything that was there at this resource version has been said."""

    resource_version: str


WatchEvent = Added | Modified | Deleted | Synced

Key = tuple[str, str]


class VersionWentBack(Exception):
    """The server is behind what it said before: only a new listing helps."""


class WatchTracker:
    """Knows which objects there are, in which version, and up to where the server has told."""

    def __init__(self) -> None:
        self.position = ""
        self._known: dict[Key, dict[str, Any]] = {}
        self._is_synced = False

    def take_listing(self, items: Iterable[dict[str, Any]], resource_version: str) -> list[WatchEvent]:
        """A whole listing: everything at first, later only what differs from what is known."""
        present = {_key(item): item for item in items}
        events: list[WatchEvent] = [Deleted(identity) for key, identity in self._known.items() if key not in present]
        for key, item in present.items():
            events.extend(self._compare(self._known.get(key), item))
        self._known = {key: _identity(item) for key, item in present.items()}
        self.position = resource_version
        if not self._is_synced:
            self._is_synced = True
            events.append(Synced(resource_version))
        return events

    def take_event(self, kind: str, item: dict[str, Any]) -> list[WatchEvent]:
        """One raw event: ADDED, MODIFIED, DELETED or BOOKMARK.

        Raises:
            Backwards: A bookmark lies before the position.
        """
        version = str(_metadata(item).get("resourceVersion") or "")
        if kind == "BOOKMARK":
            if _is_older(version, self.position):
                raise VersionWentBack
            self.position = version or self.position
            return []
        if version and (version == self.position or _is_older(version, self.position)):
            return []
        key = _key(item)
        known = self._known.get(key)
        self.position = version or self.position
        if kind == "DELETED":
            if known is None:
                return []
            del self._known[key]
            return [Deleted(item)]
        events = self._compare(known, item)
        self._known[key] = _identity(item)
        return events

    def _compare(self, known: dict[str, Any] | None, item: dict[str, Any]) -> list[WatchEvent]:
        if known is None:
            return [Added(item)]
        before, now = _metadata(known), _metadata(item)
        if before.get("uid") != now.get("uid"):
            return [Deleted(known), Added(item)]
        # Without a version nothing can be compared, so everything counts as a change.
        if now.get("resourceVersion") and before.get("resourceVersion") == now.get("resourceVersion"):
            return []
        return [Modified(item)]


def _is_older(version: str, position: str) -> bool:
    """Compared as numbers, which Kubernetes promises for its own resources; never true for other versions."""
    return version.isdecimal() and position.isdecimal() and int(version) < int(position)


def _metadata(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return item.get("metadata") or {}


def _key(item: Mapping[str, Any]) -> Key:
    metadata = _metadata(item)
    return (metadata.get("namespace") or "", metadata.get("name") or "")


def _identity(item: Mapping[str, Any]) -> dict[str, Any]:
    """Enough to say what vanished, without keeping every object of a cluster in memory."""
    metadata = _metadata(item)
    kept = {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion") if key in metadata}
    return {"apiVersion": item.get("apiVersion", ""), "kind": item.get("kind", ""), "metadata": kept}
