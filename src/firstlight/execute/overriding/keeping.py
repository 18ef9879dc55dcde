"""The record of an override: a ConfigMap of the cluster, where everybody finds it, and a copy on this computer."""

import contextlib
import os
import re
import secrets
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import text
from firstlight.execute.overriding.ground import Ground
from firstlight.journal import directory
from firstlight.model.override import Override

NAMESPACE = "kube-system"
MANAGER = "firstlight"
LABEL = "firstlight.dev/override-record"
_PREFIX = "firstlight-override-"
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")


def made_id(now: float) -> str:
    """An id that sorts by time: ``20261116t200000z-3f9c``."""
    import datetime

    stamp = datetime.datetime.fromtimestamp(now, datetime.UTC).strftime("%Y%m%dt%H%M%Sz")
    return f"{stamp}-{secrets.token_hex(2)}"


async def listed(client: "kube.Client") -> tuple[Override, ...]:
    """All that the cluster knows of, oldest first; a record that cannot be read is told as an error.

    Raises:
        errors.FirstlightError: A record is none.
        errors.ClientError: The API does not answer.
    """
    found = await client.list("v1", "ConfigMap", namespace=NAMESPACE, labels=LABEL)
    return tuple(sorted((_read(each) for each in found.items), key=lambda each: (each.begun, each.id)))


async def read(id: str, client: "kube.Client") -> Override | None:
    """One record; None if there is none.

    Raises:
        errors.ClientError: The API does not answer.
    """
    try:
        return _read(await client.get("v1", "ConfigMap", f"{_PREFIX}{id}", namespace=NAMESPACE))
    except kube.NotFound:
        return None


async def write(override: Override, ground: Ground) -> Override:
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
        _keep(override, path(state, cluster, override.id))


def path(state: Path, cluster: str, id: str) -> Path:
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
    for each in directory.listed(state / cluster / "overrides", "*.json"):
        with contextlib.suppress(OSError, msgspec.DecodeError):
            found.append(_decoded(directory.read(each)))
    return tuple(sorted(found, key=lambda each: (each.begun, each.id)))


def _keep(override: Override, place: Path) -> None:
    directory.enter(place)
    part = place.with_suffix(".part")
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(msgspec.json.encode(override))
    part.replace(place)


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
        return _decoded(text(found, "data", "record").encode())
    except msgspec.DecodeError as error:
        name = text(found, "metadata", "name")
        raise errors.FirstlightError(
            f"ConfigMap {NAMESPACE}/{name} is no record of an override: {error}",
            hint="A newer firstlight may have written it; else see what rests (firstlight owners) and delete it.",
        ) from error
