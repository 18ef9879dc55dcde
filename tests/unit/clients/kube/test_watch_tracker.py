import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.clients.kube import watch_tracker
from firstlight.clients.kube.watch_tracker import Added, Deleted, Modified, Synced, WatchEvent, WatchTracker


def item(name: str, version: int, uid: str = "u") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "X", "metadata": {"name": name, "uid": uid, "resourceVersion": str(version)}}


def synced(*items: dict[str, Any], version: int) -> WatchTracker:
    tracker = WatchTracker()
    tracker.take_listing(items, str(version))
    return tracker


def test_the_first_listing_adds_everything_and_is_marked() -> None:
    a, b = item("a", 1), item("b", 2)

    assert WatchTracker().take_listing([a, b], "5") == [Added(a), Added(b), Synced("5")]


@pytest.mark.parametrize(
    ("kind", "raw", "expected"),
    [
        ("ADDED", item("b", 6), [Added(item("b", 6))]),
        ("MODIFIED", item("a", 6), [Modified(item("a", 6))]),
        ("DELETED", item("a", 6), [Deleted(item("a", 6))]),
        ("ADDED", item("a", 6), [Modified(item("a", 6))]),
        ("MODIFIED", item("b", 6), [Added(item("b", 6))]),
        ("DELETED", item("b", 6), []),
        ("MODIFIED", item("a", 5), []),
        ("MODIFIED", item("a", 4), []),
        ("DELETED", item("a", 4), []),
        ("ADDED", item("a", 6, uid="v"), [Deleted(item("a", 1)), Added(item("a", 6, uid="v"))]),
        ("BOOKMARK", item("", 9), []),
    ],
)
def test_an_event_after_a_listing_at_5_with_a(kind: str, raw: dict[str, Any], expected: list[WatchEvent]) -> None:
    assert synced(item("a", 1), version=5).take_event(kind, raw) == expected


def test_an_event_moves_the_position_and_a_repeat_of_it_is_dropped() -> None:
    tracker = synced(version=5)

    assert tracker.take_event("ADDED", item("a", 6)) == [Added(item("a", 6))]
    assert tracker.position == "6"
    assert tracker.take_event("ADDED", item("a", 6)) == []
    assert tracker.take_event("DELETED", item("a", 8)) == [Deleted(item("a", 8))]
    assert tracker.take_event("MODIFIED", item("a", 7)) == []


def test_versions_are_compared_as_numbers() -> None:
    tracker = synced(item("a", 9), version=9)

    assert tracker.take_event("MODIFIED", item("a", 10)) == [Modified(item("a", 10))]


def test_a_bookmark_moves_the_position_and_never_back() -> None:
    tracker = synced(version=5)

    tracker.take_event("BOOKMARK", item("", 9))
    assert tracker.position == "9"
    with pytest.raises(watch_tracker.VersionWentBack):
        tracker.take_event("BOOKMARK", item("", 8))


def test_a_second_listing_says_only_what_differs() -> None:
    tracker = synced(item("same", 1), item("changed", 2), item("gone", 3), item("replaced", 4), version=5)

    events = tracker.take_listing(
        [item("same", 1), item("changed", 7), item("replaced", 8, uid="v"), item("new", 9)], "9"
    )

    assert events == [
        Deleted(item("gone", 3)),
        Modified(item("changed", 7)),
        Deleted(item("replaced", 4)),
        Added(item("replaced", 8, uid="v")),
        Added(item("new", 9)),
    ]


def test_after_a_restore_a_listing_with_lower_versions_is_the_truth() -> None:
    tracker = synced(item("a", 90), item("b", 91), version=100)

    assert tracker.take_listing([item("a", 10)], "50") == [Deleted(item("b", 91)), Modified(item("a", 10))]
    assert tracker.take_event("MODIFIED", item("a", 51)) == [Modified(item("a", 51))]


def test_objects_without_versions_are_passed_on() -> None:
    bare: dict[str, Any] = {"metadata": {"name": "a"}}
    tracker = WatchTracker()
    tracker.take_listing([bare], "")

    assert tracker.take_event("MODIFIED", bare) == [Modified(bare)]


@dataclasses.dataclass(frozen=True)
class Change:
    """What the server's history holds."""

    kind: str
    item: dict[str, Any]


NAMES = "abc"
writes = st.lists(st.tuples(st.sampled_from(["write", "delete"]), st.sampled_from(NAMES)), max_size=40)


def history_of(operations: list[tuple[str, str]]) -> list[Change]:
    """A history as an API server would have it: one version per change, a new uid per creation."""
    live: dict[str, dict[str, Any]] = {}
    changes: list[Change] = []
    for version, (operation, name) in enumerate(operations, start=11):
        if operation == "write":
            known = live.get(name)
            uid = known["metadata"]["uid"] if known else f"{name}{version}"
            live[name] = item(name, version, uid)
            changes.append(Change("MODIFIED" if known else "ADDED", live[name]))
        elif name in live:
            uid = live.pop(name)["metadata"]["uid"]
            changes.append(Change("DELETED", item(name, version, uid)))
    return changes


def state_after(changes: list[Change]) -> dict[str, dict[str, Any]]:
    live: dict[str, dict[str, Any]] = {}
    for change in changes:
        name = change.item["metadata"]["name"]
        if change.kind == "DELETED":
            del live[name]
        else:
            live[name] = change.item
    return live


@given(writes, st.data())
def test_any_cuts_duplicates_stale_events_and_relists_end_in_the_servers_state(
    operations: list[tuple[str, str]], data: st.DataObject
) -> None:
    history = history_of(operations)
    start = data.draw(st.integers(0, len(history)))
    tracker = WatchTracker()
    seen: dict[str, dict[str, Any]] = {}

    def observe(events: list[WatchEvent]) -> None:
        """Each event must make sense to somebody who keeps a copy."""
        for event in events:
            match event:
                case Added(object=found):
                    assert found["metadata"]["name"] not in seen
                    seen[found["metadata"]["name"]] = found
                case Modified(object=found):
                    before = seen[found["metadata"]["name"]]["metadata"]
                    assert before["uid"] == found["metadata"]["uid"]
                    assert int(before["resourceVersion"]) < int(found["metadata"]["resourceVersion"])
                    seen[found["metadata"]["name"]] = found
                case Deleted(object=found):
                    assert seen.pop(found["metadata"]["name"])["metadata"]["uid"] == found["metadata"]["uid"]
                case Synced():
                    pass

    def version_at(place: int) -> str:
        return history[place - 1].item["metadata"]["resourceVersion"] if place else "10"

    def list_at(place: int) -> None:
        observe(tracker.take_listing(state_after(history[:place]).values(), version_at(place)))

    list_at(start)
    place = start
    while place < len(history):
        match data.draw(st.sampled_from(["event", "event", "again", "relist", "bookmark"])):
            case "event":
                observe(tracker.take_event(history[place].kind, history[place].item))
                place += 1
            case "again" if place:
                # After a cut a server may begin again before what it has already told.
                old = history[data.draw(st.integers(0, place - 1))]
                observe(tracker.take_event(old.kind, old.item))
            case "relist":
                place = data.draw(st.integers(place, len(history)))
                list_at(place)
            case _:
                observe(tracker.take_event("BOOKMARK", item("", int(version_at(place)))))

    assert seen == state_after(history)
