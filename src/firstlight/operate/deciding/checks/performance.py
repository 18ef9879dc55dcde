"""Whether anything became slower or restarts: measured before the change, kept, and compared after it."""

import hashlib
import os
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import mapping, text
from firstlight.execute import lasting
from firstlight.gates import selecting
from firstlight.journal import directory
from firstlight.model.change import Level
from firstlight.model.decision import Decision
from firstlight.model.rendition import Object
from firstlight.operate.deciding.checks import routes
from firstlight.operate.deciding.checks import scene as scenes
from firstlight.operate.deciding.checks.scene import Scene, Version
from firstlight.policy.checking import measuring, note
from firstlight.policy.checking.measuring import Measured
from firstlight.policy.checking.note import Note

_TIMES = 5
"""Questions to the API server, of which the middle one counts."""
_MOST = 40
"""Baselines that are kept beside a repo, the newest."""
_SIZE = 4 << 20
"""Bytes of the largest file that is read as one."""


async def keep(decision: Decision, scene: Scene) -> list[Note]:
    """Measure now, and keep it for the comparison after the change."""
    if scene.client is None:
        return [note.skipped(f"nothing was measured: {scene.unreached}")]
    if scene.state is None:
        return [note.skipped("nothing is kept, since nothing may be written beside this repo")]
    version = scene.before if scene.before is not None else scene.after
    measured = await _measured(decision, version, scene, scene.client)
    path = _path(decision, scene, scene.state)
    directory.enter(path)
    try:
        lasting.write(path, msgspec.json.format(msgspec.json.encode(measured)))
        _forget_old(path.parent)
    except OSError as error:
        raise errors.FirstlightError(f"{path} cannot be written: {error.strerror or error}") from error
    shown = path.relative_to(scene.state.parent)
    pods = len({each.rpartition("/")[0] for each in measured.restarts})
    return [note.passed(f"restarts of {pods} pods and times of answers are kept in {shown} for --check post")]


async def look(decision: Decision, scene: Scene) -> list[Note]:
    """Measure again, and compare with what was kept."""
    if scene.client is None:
        return [note.skipped(scene.unreached)]
    after = await _measured(decision, scene.after, scene, scene.client)
    before = _kept(_path(decision, scene, scene.state)) if scene.state is not None else None
    return measuring.compared(before, after)


def _path(decision: Decision, scene: Scene, state: Path) -> Path:
    """The same for the same change, however it is asked about."""
    about = sorted(
        f"{each.change.title}\0{each.change.place.path}" for each in decision.items if each.change.level == Level.SOURCE
    )
    digest = hashlib.sha256("\n".join(about).encode(errors="surrogateescape")).hexdigest()[:12]
    name = "".join(each if each.isalnum() or each in "-_" else "-" for each in scene.cluster)[:60]
    return state / "decide" / f"{name or 'cluster'}-{digest}.json"


def _kept(path: Path) -> Measured | None:
    """What was measured before; None where nothing was, or the file is not what was written."""
    directory.check(path)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        data = file.read(_SIZE)
    try:
        return msgspec.json.decode(data, type=Measured)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _forget_old(place: Path) -> None:
    files = sorted(place.glob("*.json"), key=lambda each: each.lstat().st_mtime, reverse=True)
    for each in files[_MOST:]:
        each.unlink(missing_ok=True)


async def _measured(decision: Decision, version: Version, scene: Scene, client: kube.Client) -> Measured:
    objects = [
        each
        for one in scenes.touched_here(decision, scene)
        for each in version.objects(one.cluster, one.component).values()
    ]
    addresses = () if scene.is_offline else routes.urls(objects)
    answers = await routes.ask(addresses, scene)
    system = await client.get("v1", "Namespace", "kube-system", metadata_only=True)
    return Measured(
        uid=text(system, "metadata", "uid"),
        restarts=measuring.restarts(await _pods(objects, client)),
        api=await _latency(client, scene),
        probes={url: answer[1] for url, answer in answers.items() if not isinstance(answer, str)},
    )


async def _latency(client: kube.Client, scene: Scene) -> float:
    await client.version()  # the first one may have to connect
    taken = []
    for _ in range(_TIMES):
        begun = scene.clock()
        await client.version()
        taken.append(scene.clock() - begun)
    return statistics.median(taken)


async def _pods(objects: list[Object], client: kube.Client) -> list[Mapping[str, Any]]:
    """The pods of workloads, by their selectors; a list for each namespace."""
    wanted: dict[str, list[Mapping[str, Any]]] = {}
    for namespace, selector in _selectors(objects):
        wanted.setdefault(namespace, []).append(selector)
    found: list[Mapping[str, Any]] = []
    for namespace, selectors in wanted.items():
        listing = await client.list("v1", "Pod", namespace=namespace)
        found += [
            pod
            for pod in listing.items
            if any(selecting.matches(each, mapping(pod, "metadata", "labels")) for each in selectors)
        ]
    return found


def _selectors(objects: list[Object]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for each in objects:
        selector = mapping(each.value, "spec", "selector")
        if each.id.group == "apps" and each.id.namespace and selector:
            yield each.id.namespace, selector
