"""Measurements before and after a change, compared: restarts, and how fast the API and routes answer."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from firstlight.document.within import number, sequence, text
from firstlight.policy.checking import note
from firstlight.policy.checking.note import Note

SLOWER = 2.0
"""How many times slower something may become before it is worth a word."""
LEAST = 0.1
"""Seconds by which it must become slower: below that it is noise."""


class Measured(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What was measured at one moment; no value of any object is in it."""

    uid: str = ""
    """Of the kube-system namespace: that it is the same cluster."""
    restarts: Mapping[str, int] = {}
    """Of containers, by ``namespace/pod/uid/container``."""
    api: float | None = None
    """Seconds that the API server takes for an answer, the middle of several."""
    probes: Mapping[str, float] = {}
    """Seconds that routes take, by URL."""


def restarts(pods: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How often the containers of pods have been restarted."""
    found: dict[str, int] = {}
    for pod in pods:
        of_pod = "/".join(text(pod, "metadata", key) for key in ("namespace", "name", "uid"))
        for status in sequence(pod, "status", "containerStatuses"):
            found[f"{of_pod}/{text(status, 'name')}"] = number(status, "restartCount")
    return found


def compared(before: Measured | None, after: Measured) -> list[Note]:
    """What became worse."""
    notes = _restarted(before, after)
    if before is None:
        said = f"{_pods(after)}, {_seconds(after.api)} for an answer of the API"
        todo = "run --check pre before the next change, so that there is something to compare with"
        return [*notes, note.person(f"there is no baseline: {said}", todo=todo)]
    if before.uid != after.uid:
        todo = "run --check pre again on this cluster"
        return [*notes, note.person("the baseline is of another cluster than this one", todo=todo)]
    notes += _slower("the API server", before.api, after.api)
    for url, seconds in after.probes.items():
        notes += _slower(url, before.probes.get(url), seconds)
    if not notes:
        api = f"the API answers in {_seconds(after.api)}, before {_seconds(before.api)}"
        notes.append(note.passed(f"{_pods(after)} without a new restart; {api}{_probes(before, after)}"))
    return notes


def _restarted(before: Measured | None, after: Measured) -> list[Note]:
    """Containers that were restarted since: all restarts of new pods count."""
    known = before.restarts if before is not None else {}
    new: dict[str, int] = {}
    for key, count in after.restarts.items():
        if more := count - known.get(key, 0):
            space, pod, _, container = key.split("/")
            new[f"{space}/{pod} ({container})"] = more
    if not new or (before is None):
        return []
    names = ", ".join(f"{name} {count}×" for name, count in sorted(new.items())[:4])
    more_names = f" and {len(new) - 4} more" if len(new) > 4 else ""
    return [note.failed(f"restarted since: {names}{more_names}", todo="see: kubectl logs --previous of these")]


def _slower(name: str, before: float | None, after: float | None) -> list[Note]:
    if before is None or after is None or after - before < LEAST or after < before * SLOWER:
        return []
    says = f"{name} answers in {_seconds(after)}, before in {_seconds(before)}"
    return [note.failed(says, todo="measure again; if it stays so, look at its load before and after")]


def _pods(measured: Measured) -> str:
    count = len({key.rpartition("/")[0] for key in measured.restarts})
    return f"{count or 'no'} pod{'' if count == 1 else 's'}"


def _probes(before: Measured, after: Measured) -> str:
    both = sorted(before.probes.keys() & after.probes.keys())
    return f"; {len(both)} route{'' if len(both) == 1 else 's'} as fast as before" if both else ""


def _seconds(value: float | None) -> str:
    return "an unknown time" if value is None else f"{value * 1000:.0f} ms"
