"""Whether anything became slower or restarts: measured before the change, kept, and compared after it."""

import hashlib
import os
import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients import atomic_file, kube
from firstlight.commands.decide.checks import answer, check_input, reachability
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import CheckInput, RenderedRevision
from firstlight.document.within import mapping, number, sequence, text
from firstlight.gates import label_selector
from firstlight.journal import state_files
from firstlight.model.change import Level
from firstlight.model.decision import Decision
from firstlight.model.rendition import Object

# Measurements before and after a change, compared: restarts, and how fast the API and routes answer.


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


def compared_measurements(before: Measured | None, after: Measured) -> list[CheckAnswer]:
    """What became worse."""
    answers = _restarted(before, after)
    if before is None:
        said = f"{_measuring_pods(after)}, {_seconds(after.api)} for an answer of the API"
        fix = "run --check pre before the next change, so that there is something to compare with"
        return [*answers, answer.person("measurement-missing", f"there is no baseline: {said}", fix=fix)]
    if before.uid != after.uid:
        fix = "run --check pre again on this cluster"
        return [
            *answers,
            answer.person("measurement-of-other-cluster", "the baseline is of another cluster than this one", fix=fix),
        ]
    answers += _slower("the API server", before.api, after.api)
    for url, seconds in after.probes.items():
        answers += _slower(url, before.probes.get(url), seconds)
    if not answers:
        api = f"the API answers in {_seconds(after.api)}, before {_seconds(before.api)}"
        answers.append(answer.passed(f"{_measuring_pods(after)} without a new restart; {api}{_probes(before, after)}"))
    return answers


def _restarted(before: Measured | None, after: Measured) -> list[CheckAnswer]:
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
    return [
        answer.failed(
            "containers-restarted", f"restarted since: {names}{more_names}", fix="see: kubectl logs --previous of these"
        )
    ]


def _slower(name: str, before: float | None, after: float | None) -> list[CheckAnswer]:
    if before is None or after is None or after - before < LEAST or after < before * SLOWER:
        return []
    says = f"{name} answers in {_seconds(after)}, before in {_seconds(before)}"
    return [
        answer.failed("answers-slower", says, fix="measure again; if it stays so, look at its load before and after")
    ]


def _measuring_pods(measured: Measured) -> str:
    count = len({key.rpartition("/")[0] for key in measured.restarts})
    return f"{count or 'no'} pod{'' if count == 1 else 's'}"


def _probes(before: Measured, after: Measured) -> str:
    both = sorted(before.probes.keys() & after.probes.keys())
    return f"; {len(both)} route{'' if len(both) == 1 else 's'} as fast as before" if both else ""


def _seconds(value: float | None) -> str:
    return "an unknown time" if value is None else f"{value * 1000:.0f} ms"


_TIMES = 5
"""Questions to the API server, of which the middle one counts."""
_MOST = 40
"""Baselines that are kept beside a repo, the newest."""
_SIZE = 4 << 20
"""Bytes of the largest file that is read as one."""


async def keep(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Measure now, and keep it for the comparison after the change."""
    if scene.client is None:
        return [answer.skipped(f"nothing was measured: {scene.unreached}")]
    if scene.state is None:
        return [answer.skipped("nothing is kept, since nothing may be written beside this repo")]
    version = scene.before if scene.before is not None else scene.after
    measured = await _measured(decision, version, scene, scene.client)
    path = _path(decision, scene, scene.state)
    state_files.enter(path)
    try:
        atomic_file.replace(path, msgspec.json.format(msgspec.json.encode(measured)))
        _forget_old(path.parent)
    except OSError as error:
        raise errors.FirstlightError(f"{path} cannot be written: {error.strerror or error}") from error
    shown = path.relative_to(scene.state.parent)
    pods = len({each.rpartition("/")[0] for each in measured.restarts})
    return [answer.passed(f"restarts of {pods} pods and times of answers are kept in {shown} for --check post")]


async def look(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Measure again, and compare with what was kept."""
    if scene.client is None:
        return [answer.skipped(scene.unreached)]
    after = await _measured(decision, scene.after, scene, scene.client)
    before = _kept(_path(decision, scene, scene.state)) if scene.state is not None else None
    return compared_measurements(before, after)


def _path(decision: Decision, scene: CheckInput, state: Path) -> Path:
    """The same for the same change, however it is asked about."""
    about = sorted(
        f"{each.change.title}\0{each.change.place.path}" for each in decision.items if each.change.level == Level.SOURCE
    )
    digest = hashlib.sha256("\n".join(about).encode(errors="surrogateescape")).hexdigest()[:12]
    name = "".join(each if each.isalnum() or each in "-_" else "-" for each in scene.cluster)[:60]
    return state / "decide" / f"{name or 'cluster'}-{digest}.json"


def _kept(path: Path) -> Measured | None:
    """What was measured before; None where nothing was, or the file is not what was written."""
    state_files.check(path)
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


async def _measured(
    decision: Decision, version: RenderedRevision, scene: CheckInput, client: "kube.Client"
) -> Measured:
    objects = [
        each
        for one in check_input.touched_here(decision, scene)
        for each in version.objects(one.cluster, one.component).values()
    ]
    addresses = () if scene.is_offline else reachability.urls(objects)
    answers = await reachability.ask_routes(addresses, scene)
    system = await client.get("v1", "Namespace", "kube-system", metadata_only=True)
    return Measured(
        uid=text(system, "metadata", "uid"),
        restarts=restarts(await _pods(objects, client)),
        api=await _latency(client, scene),
        probes={url: answer[1] for url, answer in answers.items() if not isinstance(answer, str)},
    )


async def _latency(client: "kube.Client", scene: CheckInput) -> float:
    await client.version()  # the first one may have to connect
    taken = []
    for _ in range(_TIMES):
        begun = scene.clock()
        await client.version()
        taken.append(scene.clock() - begun)
    return statistics.median(taken)


async def _pods(objects: list[Object], client: "kube.Client") -> list[Mapping[str, Any]]:
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
            if any(label_selector.matches(each, mapping(pod, "metadata", "labels")) for each in selectors)
        ]
    return found


def _selectors(objects: list[Object]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for each in objects:
        selector = mapping(each.value, "spec", "selector")
        if each.id.group == "apps" and each.id.namespace and selector:
            yield each.id.namespace, selector
