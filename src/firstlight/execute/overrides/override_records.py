"""The record of an override: a ConfigMap of the cluster, where everybody finds it, and a copy on this computer."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients import atomic_file, kube
from firstlight.document import within
from firstlight.drawing import override_text, safe
from firstlight.execute.overrides.override_context import OverrideContext
from firstlight.journal import incident_records, state_files
from firstlight.model.override import Override, OverrideStanding
from firstlight.model.verdict import Failed, Skipped, VerificationCheck

NAMESPACE = "kube-system"
MANAGER = "firstlight"
LABEL = "firstlight.dev/override-record"
_PREFIX = "firstlight-override-"
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")


def made_id(now: float) -> str:
    """An id that sorts by time: ``20261116t200000z-3f9c``."""
    return incident_records.made_id(now)


async def listed(client: kube.Client) -> tuple[Override, ...]:
    """All that the cluster knows of, oldest first; a record that cannot be read is told as an error.

    Raises:
        errors.FirstlightError: A record is none.
        errors.ClientError: The API does not answer.
    """
    found = await client.list("v1", "ConfigMap", namespace=NAMESPACE, labels=LABEL)
    return tuple(sorted((_read(each) for each in found.items), key=lambda each: (each.begun, each.id)))


async def read(id: str, client: kube.Client) -> Override | None:
    """One record; None if there is none.

    Raises:
        errors.ClientError: The API does not answer.
    """
    try:
        return _read(await client.get("v1", "ConfigMap", f"{_PREFIX}{id}", namespace=NAMESPACE))
    except kube.NotFound:
        return None


async def write(override: Override, ground: OverrideContext) -> Override:
    """Keep a record, in the cluster first; the copy here is only for when the API is gone.

    Raises:
        errors.ClientError: The API does not take it.
    """
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"{_PREFIX}{override.id}",
            "namespace": NAMESPACE,
            "labels": {LABEL: "closed" if override.is_over else "open"},
        },
        "data": {"record": msgspec.json.format(msgspec.json.encode(override), indent=1).decode()},
    }
    name = f"record {override.standing} of {override.id}"
    await ground.write(name, lambda: ground.client.apply(body, manager=MANAGER, force=True))
    copy(override, ground.state, ground.cluster)
    return override


def copy(override: Override, state: Path, cluster: str) -> None:
    """Keep a record on this computer; a full disk is no reason to fail."""
    with contextlib.suppress(OSError, errors.FirstlightError):
        _keep(override, record_path(state, cluster, override.id))


def record_path(state: Path, cluster: str, id: str) -> Path:
    """Where the copy of a record is.

    Raises:
        errors.UsageError: It is no id.
    """
    if not _ID.fullmatch(id):
        raise errors.UsageError(f"{id!r:.60} is no id of an override", hint="firstlight override status lists them.")
    return state / cluster / "overrides" / f"{id}.json"


def local(state: Path, cluster: str) -> tuple[Override, ...]:
    """The copies on this computer, oldest first; what cannot be read is passed over.

    Raises:
        errors.Refused: One may be somebody else's work.
    """
    found = []
    for each in state_files.listed(state / cluster / "overrides", "*.json"):
        with contextlib.suppress(OSError, msgspec.DecodeError):
            found.append(_decoded(state_files.read(each)))
    return tuple(sorted(found, key=lambda each: (each.begun, each.id)))


def _keep(override: Override, place: Path) -> None:
    state_files.enter(place)
    atomic_file.replace(place, msgspec.json.encode(override))


def _decoded(content: bytes) -> Override:
    """A record, whoever wrote it; its id is one, since files are called by it.

    Raises:
        msgspec.DecodeError: It is none.
    """
    found = msgspec.json.decode(content, type=Override)
    if not _ID.fullmatch(found.id):
        raise msgspec.ValidationError(f"{found.id!r:.60} is no id of an override")
    return found


def _read(found: dict[str, Any]) -> Override:
    try:
        return _decoded(within.text(found, "data", "record").encode())
    except msgspec.DecodeError as error:
        name = within.text(found, "metadata", "name")
        raise errors.FirstlightError(
            f"ConfigMap {NAMESPACE}/{name} is no record of an override: {error}",
            hint="A newer firstlight may have written it; else see what rests (firstlight owners) and delete it.",
        ) from error


# The incident record of an override: Markdown for people to complete, JSON for programs, beside the journal.


def incident_path(state: Path, cluster: str, id: str) -> Path:
    """Where it is."""
    return incident_records.path_of(state, cluster, id)


def keep_incident(override: Override, *, state: Path, cluster: str, say: Callable[[str], None]) -> None:
    """Write it; what people have written into it already stays.

    The override itself must not fail for a full disk: the record in the cluster has the same.
    """
    place = incident_path(state, cluster, override.id)
    try:
        state_files.enter(place)
        whole = msgspec.json.format(msgspec.json.encode(override), indent=1)
        atomic_file.replace(place.with_suffix(".json"), whole)
        incident_records.keep(incident_markdown(override), state=state, cluster=cluster, id=override.id)
    except (OSError, errors.FirstlightError) as error:
        say(f"the incident record could not be written: {error}")


# Overrides of a cluster that is taken down: nothing is finished in it, and their records are closed on this computer.
#
# To finish one is to let engines go on and to wait for them, on machines that are wiped a moment later. What stays is
# here: a copy that would go on saying that something rests, and the incident record, which nobody else would write.


async def copy_all(client: kube.Client, *, cluster: str, state: Path) -> None:
    """Keep here what the cluster knows of overrides that are not over, before it is gone; others may have begun them.

    Raises:
        errors.FirstlightError: A record is none.
        errors.ClientError: The API does not answer.
    """
    for each in await listed(client):
        if not each.is_over:
            copy(each, state, cluster)


def close_local(*, cluster: str, state: Path, who: str, now: float, tell: Callable[[str], None]) -> None:
    """Close what is kept here and not over: the cluster is gone.

    Args:
        cluster: Its name.
        state: ``.firstlight`` of the repo.
        who: Has taken it down.
        now: When.
        tell: Told of each.
    """
    for each in local(state, cluster):
        if each.is_over:
            continue
        gone = dataclasses.replace(each, standing=OverrideStanding.GONE, ended=now, ended_by=who)
        keep_incident(gone, state=state, cluster=cluster, say=tell)
        copy(gone, state, cluster)
        tell(f"override {each.id} is closed with its cluster: {incident_path(state, cluster, each.id)}")


# Open overrides for those who look at a cluster for another reason: ``verify`` and ``drift``.


OPEN_OVERRIDES = "overrides"


async def open_override_notes(client: kube.Client, *, now: float) -> tuple[str, ...]:
    """A line for each that is open: what differs from Git may be so on purpose."""
    try:
        return tuple(override_text.line(each, now) for each in await _open(client))
    except errors.FirstlightError as error:
        return (f"overrides: {error.message}",)


async def open_override_checks(client: kube.Client, *, now: float) -> tuple[VerificationCheck, ...]:
    """A check for each that is open; one that has expired fails, and so does a record that cannot be read."""
    found = []
    try:
        opened = await _open(client)
    except errors.ClientError as error:
        return (VerificationCheck(name=OPEN_OVERRIDES, verdict=Skipped(error.message)),)
    except errors.FirstlightError as error:
        return (
            VerificationCheck(
                name=OPEN_OVERRIDES, verdict=Failed(error.message), detail=(error.hint,) if error.hint else ()
            ),
        )
    for each in opened:
        text = override_text.line(each, now)
        if each.is_expired(now):
            hint = "firstlight override end, or abort: anybody may"
            found.append(VerificationCheck(name=OPEN_OVERRIDES, verdict=Failed(text), detail=(hint,)))
        else:
            found.append(VerificationCheck(name=OPEN_OVERRIDES, verdict=Skipped(text)))
    return tuple(found)


async def _open(client: kube.Client) -> tuple[Override, ...]:
    return tuple(each for each in await listed(client) if not each.is_over)


# The report of an incident, in Markdown.


_WAYS = {
    OverrideStanding.ENDED: "ended: Git and cluster agreed, and the engine has gone on",
    OverrideStanding.ABORTED: "aborted: everything is as it was before",
    OverrideStanding.GONE: "gone: its cluster was taken down before it was over",
}


def incident_markdown(override: Override) -> str:
    """The record."""
    way = (
        "ended: Git's form was put back"
        if override.is_discarded and override.standing is OverrideStanding.ENDED
        else _WAYS.get(override.standing, "open")
    )
    lines = [
        f"# Override {override.id} of {safe.name(override.cluster)}",
        "",
        "| | |",
        "| --- | --- |",
        f"| Emergency | {override.emergency} |",
        f"| Reason | {_cell(override.reason)} |",
        f"| Begun | {_time(override.begun)} by {_cell(override.who)} |",
        f"| Was to end | {_time(override.until)} |",
        f"| Over | {_time(override.ended)} by {_cell(override.ended_by)} |" if override.ended else "| Over | no |",
        f"| How | {way} |",
        f"| Commit that has it | {_cell(override.revision or 'none')} |",
        f"| Scope | {_cell(', '.join(override.scope))} |",
        "",
        "## What rested",
        "",
        *([f"- {_cell(str(each))}: {_cell(each.why)}" for each in override.held] or ["Nothing."]),
        "",
        "## What was changed past Git",
        "",
        *_changes(override),
        "## Before and after",
        "",
        *_fields(override),
        "",
        "## Deviations from the usual way",
        "",
        f"- changed past Git for {_span(override)}, without a review before",
        *(f"- {_cell(each)}" for each in override.notes),
        *(["- stood longer than it was to"] if override.ended > override.until else []),
        "",
        *incident_records.BLANKS,
    ]
    return "\n".join(lines)


def _changes(override: Override) -> list[str]:
    if not override.changes:
        return ["Nothing.", ""]
    lines = []
    for each in override.changes:
        what = "deleted" if each.is_deleted else "created" if each.is_new else "changed"
        fields = f": {_cell(', '.join(each.fields))}" if each.fields else ""
        lines.append(f"- {_time(each.at)} {_cell(each.who)} {what} {_cell(str(each.object))}{fields}")
    return [*lines, ""]


def _fields(override: Override) -> list[str]:
    if not override.fields and override.standing is OverrideStanding.GONE:
        return ["Nobody has looked before the cluster was gone."]
    if not override.fields:
        return ["No field differed."]
    return [
        "| Object | Field | Before | After |",
        "| --- | --- | --- | --- |",
        *(
            f"| {_cell(str(each.object))} | {_cell(each.field)} | {_cell(each.before)} | {_cell(each.after)} |"
            for each in override.fields
        ),
    ]


def _cell(text: str) -> str:
    return safe.name(text).replace("|", "\\|").replace("<", "&lt;")


def _time(at: float) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _span(override: Override) -> str:
    seconds = int((override.ended or override.until) - override.begun)
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds % 60} s"
