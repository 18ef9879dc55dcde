"""An archive for a bug report: what was seen and what is wrong with it, with nothing secret in it.

Masked three times: by form (values of environments, settings, annotations and ConfigMaps are left out), by look (keys,
tokens, credentials in URLs), and by value: the cluster's Secrets are read only to be recognised where something else
has printed what they hold.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import dataclasses
import gzip
import io
import json
import os
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import yaml

from firstlight import errors
from firstlight.clients import atomic_file, kube, path_safety
from firstlight.commands.doctor import data
from firstlight.commands.doctor import text as doctor_text
from firstlight.commands.doctor.symptoms import Diagnosis
from firstlight.document.within import mapping, text
from firstlight.drawing import safe
from firstlight.execute.masks import Masks
from firstlight.model import helm_names
from firstlight.model.secret import MASK, Secret
from firstlight.observe.cluster import secret_masking
from firstlight.observe.cluster.observation import ClusterObservation, MachineObservation, kind_of

ROOT = "firstlight-doctor"
RUNS = 3
"""Journals of the last runs that go along."""
LARGEST = 2 << 20
"""Bytes of one journal that go along: its end."""
_LEFT = re.compile(
    rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY|AGE-SECRET-KEY-1[A-Z0-9]{8}|LS0tLS1CRUdJTi\S*(?:UFJJVkFURS|BSSVZBVE|QUklWQVRF)"
)
_NAME = re.compile(r"[^\w.-]+")
_README = """What firstlight doctor saw of a cluster, for a bug report.

diagnosis.txt, diagnosis.json   what is wrong, as it was printed
scene.json                      the API, etcd, what was not seen
machines.json                   what machines told: services, links, disks; of their configs only disks and interfaces
objects/                        objects by kind. Of Secrets: names, types, names of keys. Of ConfigMaps: names of keys.
                                Left out or masked: values of environment variables, values of charts and of
                                substitutions, annotations that no known tool writes, which fields a manager owns
events.json, logs/              masked line by line
runs/                           journals of the last runs
firstlight.yaml, versions.json

Whatever the cluster's own Secrets hold, and whatever looks like a key, a token or a password, is masked. Look through
it before you give it away all the same: names of hosts, machines and objects, and addresses, are in it.
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class BundleContents:
    """What goes into an archive."""

    scene: ClusterObservation
    diagnosis: Diagnosis
    versions: Mapping[str, str]
    runs: tuple[Path, ...] = ()
    """Journals."""
    declared: Path | None = None
    """The firstlight.yaml."""


def write(path: Path, contents: BundleContents, masks: Masks) -> int:
    """Write the archive, whole or not at all, for its owner alone; how many bytes it has.

    Raises:
        errors.UsageError: The path names no plain file.
        errors.FirstlightError: It cannot be written.
    """
    path_safety.check_replaceable(path)
    raw = _packed(files(contents, masks))
    try:
        atomic_file.replace(path, raw)
    except OSError as error:
        raise errors.FirstlightError(f"{path} cannot be written: {error.strerror or error}") from error
    return len(raw)


def files(contents: BundleContents, masks: Masks) -> dict[str, bytes]:
    """Every file of the archive by its name, masked."""
    return {name: _clean(text, masks) for name, text in _texts(contents, masks.masked)}


def _texts(contents: BundleContents, hide: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    scene, found = contents.scene, contents.diagnosis
    yield "README.txt", _README
    yield "diagnosis.txt", doctor_text.text(found, now=scene.now, columns=120, everything=True) + "\n"
    yield "diagnosis.json", _json(data.data(found))
    yield "versions.json", _json(dict(contents.versions))
    yield "scene.json", _json(_scene(scene))
    yield "machines.json", _json([_machine(each) for each in scene.machines])
    for kind, values in sorted(scene.by_kind.items()):
        name = _NAME.sub("_", kind.strip("/"))
        yield f"objects/{name}.json", _json([_object(each) for each in _hidden(values, hide)])
    yield "events.json", _json([secret_masking.shown(each) for each in _hidden(scene.events, hide)])
    for key, lines in sorted(scene.logs.items()):
        yield f"logs/{_NAME.sub('_', key)}.txt", "\n".join(secret_masking.lines(map(hide, lines))) + "\n"
    for journal in contents.runs:
        yield (
            f"runs/{_NAME.sub('_', journal.name)}",
            "".join(f"{each}\n" for each in secret_masking.lines(map(hide, _lines(journal)))),
        )
    if contents.declared is not None:
        yield (
            "firstlight.yaml",
            "".join(f"{each}\n" for each in secret_masking.lines(map(hide, _lines(contents.declared)))),
        )


def _object(value: Mapping[str, Any]) -> Mapping[str, Any]:
    if kind_of(value) == "/Secret":  # the scene has names alone: nothing of it is a value
        return {"metadata": secret_masking.shown({"metadata": value.get("metadata")})["metadata"],
                "type": value.get("type"), "keys": value.get("keys")}  # fmt: skip
    return secret_masking.shown(value)


def _scene(scene: ClusterObservation) -> dict[str, Any]:
    return {
        "cluster": scene.cluster.name,
        "now": scene.now,
        "api": dataclasses.asdict(scene.api) | {"why": secret_masking.text(scene.api.why)},
        "members": [dataclasses.asdict(each) for each in scene.members],
        "memberStatuses": [dataclasses.asdict(each) for each in scene.member_statuses],
        "alarms": [dataclasses.asdict(each) for each in scene.alarms],
        "certificates": dict(scene.certificates),
        "unserved": sorted(scene.unserved),
        "unlisted": sorted(scene.unlisted),
        "unseen": [secret_masking.text(each) for each in scene.unseen],
        "foundation": [list(each) for each in scene.foundation],
        "overrides": [{"id": each.id, "standing": each.standing, "until": each.until} for each in scene.overrides],
    }


def _machine(sight: MachineObservation) -> dict[str, Any]:
    report = sight.report
    return {
        "name": sight.name,
        "address": sight.machine.address,
        "role": sight.machine.role,
        "standing": report.standing,
        "stage": report.stage,
        "unmet": [secret_masking.text(each) for each in report.unmet],
        "why": secret_masking.text(report.why),
        "services": [
            {
                "id": each.id,
                "state": each.state,
                "healthy": each.is_healthy,
                "event": secret_masking.text(each.last_event),
            }
            for each in sight.services
        ],
        "diagnostics": [secret_masking.text(f"{each.message} {' '.join(each.details)}") for each in sight.diagnostics],
        "links": {name: msgspec.to_builtins(each) for name, each in sight.links.items()},
        "disks": [msgspec.to_builtins(each) for each in sight.disks],
        "addresses": [msgspec.to_builtins(each) for each in sight.addresses],
        "documents": [secret_masking.shown(each) for each in sight.documents],
        "dmesg": list(secret_masking.lines(sight.dmesg)),
    }


def _hidden(values: Sequence[Mapping[str, Any]], hide: Callable[[str], str]) -> Iterable[Mapping[str, Any]]:
    """Objects without known values: these go first, since a value of which a part is masked is no longer found."""
    raw = msgspec.json.encode(list(values)).decode()
    hidden = hide(raw)
    if hidden == raw:
        return values
    try:
        found: list[Mapping[str, Any]] = msgspec.json.decode(hidden)
    except msgspec.DecodeError:  # a value that looks like JSON itself
        return ()
    return found


def _lines(path: Path) -> list[str]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - LARGEST))
            return file.read(LARGEST).decode(errors="replace").splitlines()
    except OSError:
        return []


def _clean(text: str, masks: Masks) -> bytes:
    """By value, and once more by look: a private key that came through all the same takes its file with it."""
    raw = safe.text(masks.masked(text)).encode(errors="replace")
    return raw if _LEFT.search(raw) is None else f"{MASK} left out: it looked like a private key\n".encode()


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(safe.data(value)), indent=1).decode() + "\n"


def _packed(found: Mapping[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, content in found.items():
            entry = tarfile.TarInfo(f"{ROOT}/{name}")
            entry.size, entry.mode = len(content), 0o600
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), mtime=0)


PATIENCE = 10.0
"""Seconds for all of them."""
_SHORTEST = 6
"""Characters below which a value is a part of too many words; where it stands by itself it is masked by its place."""
_LONGEST = 16_384
"""Characters above which it is no password, but a file; its lines are known by how they look."""
_PAGE = 500
_NAMED = (("v1", "Namespace"), ("v1", "Service"), ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"))
"""Kinds whose names are often users and databases, too."""


async def remember(client: kube.Client, masks: Masks) -> bool:
    """Hide what Secrets hold; what is also the name of something is no secret. Whether they could be read."""
    is_read = True
    try:
        # A group: what fails takes the others with it, which would go on trying after the client is closed.
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
            held = group.create_task(
                client.list("v1", "Secret", fields=f"type!={helm_names.RELEASE_SECRET_TYPE}", limit=_PAGE)
            )
            named = [group.create_task(client.list(*kind, limit=_PAGE, metadata_only=True)) for kind in _NAMED]
    except* (errors.ClientError, TimeoutError):
        is_read = False
    if not is_read:
        return False
    public = names(item for each in (held, *named) for item in each.result().items)
    for each in held.result().items:
        for value in _values(each):
            if value not in public:
                hide(masks, value)
    return True


def hide(masks: Masks, value: str) -> None:
    """Hide a value also as JSON, YAML and URLs write it."""
    for each in {value, json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1], quote(value, safe="")}:
        masks.add(Secret(each))


def remember_config(masks: Masks, config: kube.ClientConfig) -> None:
    """Hide what the kubeconfig in use holds."""
    for each in (config.client_key, config.token, config.password):
        if each is not None:
            masks.add(each)
    if config.proxy is not None and config.proxy.password is not None:
        masks.add(config.proxy.password)


def remember_talosconfig(masks: Masks, talosconfig: Secret) -> None:
    """Hide the keys of a talosconfig."""
    try:
        found = yaml.load(talosconfig.reveal(), Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError):
        masks.add(talosconfig)
        return
    for context in mapping(found, "contexts").values():
        if key := text(context, "key"):
            masks.add(Secret(key))


def _values(item: Mapping[str, Any]) -> Iterator[str]:
    for each in mapping(item, "data").values():
        try:
            value = base64.b64decode(str(each), validate=True).decode()
        except (binascii.Error, ValueError):
            continue  # what is no text is in no log
        value = value.strip()
        if _SHORTEST <= len(value) <= _LONGEST and not value.isdigit():
            yield value


def names(objects: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """What anybody sees of objects."""
    steps = (("metadata", "name"), ("metadata", "namespace"), ("kind",))
    return frozenset(text(each, *path) for each in objects for path in steps)
