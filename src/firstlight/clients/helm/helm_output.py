"""What helm prints for programs, as values of ``model``."""

import datetime
import re
from typing import Any

import msgspec

from firstlight.document import yaml_reader
from firstlight.model import helm_chart, versions
from firstlight.model.secret import Secret

_DIGEST = re.compile(r"^Digest: (?P<digest>sha256:[0-9a-f]{64})$", re.MULTILINE)
_PUSHED = re.compile(r"^Pushed: (?P<reference>\S+)$", re.MULTILINE)
_PACKAGED = re.compile(r"^Successfully packaged chart and saved it to: (?P<path>.+)$", re.MULTILINE)
_TIME = re.compile(r"(?P<date>\d{4}-\d\d-\d\d)[ T](?P<time>\d\d:\d\d:\d\d)(?:\.\d+)? ?(?P<zone>Z|[+-]\d\d:?\d\d)?")
_METHODS: dict[str, helm_chart.ApplyMethod] = {"ssa": "server-side", "csa": "client-side"}


class _Dependency(msgspec.Struct, frozen=True):
    name: str
    version: str = ""
    repository: str = ""
    condition: str = ""
    alias: str = ""


class _Chart(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    version: str
    app_version: str = ""
    api_version: str = ""
    kube_version: str = ""
    description: str = ""
    type: str = ""
    deprecated: bool = False
    dependencies: tuple[_Dependency, ...] | None = ()


class _Listed(msgspec.Struct, frozen=True):
    revision: int | str
    status: helm_chart.ReleaseStatus
    chart: str
    name: str = ""
    namespace: str = ""
    updated: str | None = ""
    app_version: str = ""
    description: str = ""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    namespace: str
    revision: int
    status: helm_chart.ReleaseStatus
    chart: str
    version: str
    app_version: str = ""
    deployed_at: str = ""
    apply_method: str = ""


class _Info(msgspec.Struct, frozen=True):
    status: helm_chart.ReleaseStatus = "unknown"
    last_deployed: str = ""
    description: str = ""
    notes: str = ""


class _ChartOf(msgspec.Struct, frozen=True):
    metadata: _Chart | None = None


class _Release(msgspec.Struct, frozen=True):
    name: str
    namespace: str = ""
    version: int = 1
    info: _Info = _Info()
    chart: _ChartOf | None = None
    manifest: str = ""
    apply_method: str = ""


def chart(text: str) -> helm_chart.ChartMetadata:
    """What ``show chart`` prints.

    Raises:
        ValueError: It is something else.
    """
    documents = yaml_reader.load_all(text)
    return _chart(_converted(documents[0] if documents else None, _Chart))


def releases(output: bytes) -> tuple[helm_chart.InstalledRelease, ...]:
    """What ``list -o json`` prints.

    Raises:
        ValueError: It is something else.
    """
    return tuple(_listed(item, item.name, item.namespace) for item in _decoded(output, list[_Listed]))


def history(output: bytes, *, name: str, namespace: str) -> tuple[helm_chart.InstalledRelease, ...]:
    """What ``history -o json`` prints.

    Raises:
        ValueError: It is something else.
    """
    return tuple(_listed(item, name, namespace) for item in _decoded(output, list[_Listed]))


def release(metadata: bytes, status: bytes) -> helm_chart.InstalledRelease:
    """What ``get metadata -o json`` and ``status -o json`` say of one revision.

    Raises:
        ValueError: It is something else.
    """
    known, full = _decoded(metadata, _Metadata), _decoded(status, _Release)
    return helm_chart.InstalledRelease(
        name=known.name,
        namespace=known.namespace,
        revision=known.revision,
        status=known.status,
        chart=known.chart,
        chart_version=known.version,
        app_version=known.app_version,
        updated=time(known.deployed_at),
        description=full.info.description,
        apply_method=_METHODS.get(known.apply_method, ""),
        manifest=Secret(full.manifest),
        notes=full.info.notes,
    )


def written(output: bytes) -> helm_chart.InstalledRelease:
    """What ``install`` and ``upgrade`` print with ``-o json``.

    Raises:
        ValueError: It is something else.
    """
    full = _decoded(output, _Release)
    of = full.chart.metadata if full.chart is not None else None
    return helm_chart.InstalledRelease(
        name=full.name,
        namespace=full.namespace,
        revision=full.version,
        status=full.info.status,
        chart=of.name if of else "",
        chart_version=of.version if of else "",
        app_version=of.app_version if of else "",
        updated=time(full.info.last_deployed),
        description=full.info.description,
        apply_method=_METHODS.get(full.apply_method, ""),
        manifest=Secret(full.manifest),
        notes=full.info.notes,
    )


def digest(text: str) -> str:
    """The digest that ``pull`` and ``push`` print; empty if there is none."""
    match = _DIGEST.search(text)
    return match["digest"] if match else ""


def pushed(text: str) -> helm_chart.PushedChart:
    """What ``push`` prints.

    Raises:
        ValueError: It is something else.
    """
    match, found = _PUSHED.search(text), digest(text)
    if match is None or not found:
        raise ValueError("it does not say what it pushed")
    return helm_chart.PushedChart(match["reference"], found)


def packaged(text: str) -> str:
    """The path that ``package`` prints.

    Raises:
        ValueError: It is something else.
    """
    match = _PACKAGED.search(text)
    if match is None:
        raise ValueError("it does not say what it packaged")
    return match["path"]


def time(text: str | None) -> datetime.datetime | None:
    """A time as Go writes it: by RFC 3339, or ``2026-03-01 12:00:00.123456789 +0000 UTC``; None if it is neither."""
    match = _TIME.match(text or "")
    if match is None:
        return None
    zone = (match["zone"] or "Z").replace("Z", "+00:00")
    return datetime.datetime.fromisoformat(f"{match['date']}T{match['time']}{zone}")


def _chart(found: _Chart) -> helm_chart.ChartMetadata:
    return helm_chart.ChartMetadata(
        name=found.name,
        version=found.version,
        app_version=found.app_version,
        api_version=found.api_version,
        kube_version=found.kube_version,
        description=found.description,
        type=found.type,
        is_deprecated=found.deprecated,
        dependencies=tuple(
            helm_chart.ChartDependency(each.name, each.version, each.repository, each.condition, each.alias)
            for each in found.dependencies or ()
        ),
    )


def _listed(item: _Listed, name: str, namespace: str) -> helm_chart.InstalledRelease:
    chart, version = versions.split_listed_chart(item.chart) or (item.chart, "")
    return helm_chart.InstalledRelease(
        name=name,
        namespace=namespace,
        revision=int(item.revision),
        status=item.status,
        chart=chart,
        chart_version=version,
        app_version=item.app_version,
        updated=time(item.updated),
        description=item.description,
    )


def _decoded(output: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(output, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"it is not what was expected: {error}") from error


def _converted(document: object, kind: type[Any]) -> Any:
    try:
        return msgspec.convert(document, kind, strict=False)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ValueError(f"it is not what was expected: {error}") from error
