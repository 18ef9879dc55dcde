"""Renditions as YAML, as JSON and as a table; the data of Secrets is masked in all of them."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight.cli import diagnostic_data
from firstlight.document import yaml_writer
from firstlight.drawing import safe, table
from firstlight.model.component import Component
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.rendition import Object, Rendition, VersionPin
from firstlight.model.secret import MASK
from firstlight.model.source import (
    ChartSource,
    DirectorySource,
    Embedded,
    RemoteSource,
    SeveralSources,
    Source,
    Unresolved,
)

_HEADINGS = {
    Severity.ERROR: "not rendered",
    Severity.WARNING: "probably not meant",
    Severity.UNKNOWN: "not known",
}
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclasses.dataclass(frozen=True)
class RenditionRow:
    """A rendition, and how it was come by."""

    component: Component
    rendition: Rendition
    seconds: float
    is_cached: bool


def masked(obj: Object) -> Mapping[str, Any]:
    """An object as it can be shown: what a Secret holds is not, unless sops has encrypted it."""
    if obj.id.kind != "Secret" or obj.id.group:
        return obj.value
    shown = dict(obj.value)
    is_encrypted = isinstance(shown.get("sops"), Mapping)
    for field in ("data", "stringData"):
        data = shown.get(field)
        if isinstance(data, Mapping):
            shown[field] = {key: _masked(value, is_encrypted=is_encrypted) for key, value in data.items()}
        elif data is not None:
            shown[field] = MASK
    metadata = shown.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if isinstance(metadata, Mapping) and isinstance(annotations, Mapping) and _APPLIED in annotations:
        shown["metadata"] = {**metadata, "annotations": {**annotations, _APPLIED: MASK}}
    return shown


def yaml(objects: Iterable[Object]) -> str:
    """Objects as documents that Kubernetes reads back as they are."""
    return yaml_writer.dump_all([masked(each) for each in objects])


def data(row: RenditionRow, *, with_objects: bool) -> dict[str, Any]:
    """A rendition as plain data."""
    rendition = row.rendition
    return {
        "component": rendition.component,
        "cluster": rendition.cluster,
        "side": rendition.side.value,
        "from": origin_of(row.component, rendition),
        "pins": [dataclasses.asdict(each) for each in rendition.pins],
        "seconds": round(row.seconds, 3),
        "cached": row.is_cached,
        "objects": [masked(each) for each in rendition.objects] if with_objects else len(rendition.objects),
        "crds": sum(each.is_crd for each in rendition.objects),
        "whole": is_whole(rendition),
        "diagnostics": diagnostic_data.of_all(rendition.diagnostics),
    }


def rows(found: Sequence[RenditionRow], *, columns: int) -> list[str]:
    """A line a rendition: component, cluster, side, objects, time, where it is from."""
    has_clusters = len({each.rendition.cluster for each in found}) > 1
    cells = [["component", *(["cluster"] if has_clusters else []), "side", "objects", "time", "from"]]
    cells += [[safe.text(cell) for cell in _cells(each, has_clusters=has_clusters)] for each in found]
    return table.render(cells, columns=columns)


def summary(row: RenditionRow) -> str:
    """One rendition in a line."""
    rendition = row.rendition
    crds = sum(each.is_crd for each in rendition.objects)
    number = len(rendition.objects)
    parts = [
        f"{rendition.component} in {rendition.cluster}, {rendition.side}",
        f"{number} object{'' if number == 1 else 's'}" + (f", {crds} of them CRDs" if crds else ""),
        origin_of(row.component, rendition),
        _time(row),
    ]
    return safe.text("   ".join(each for each in parts if each))


def totals(found: Sequence[RenditionRow], seconds: float) -> str:
    """Everything in a line."""
    objects = sum(len(each.rendition.objects) for each in found)
    cached = sum(each.is_cached for each in found)
    broken = sum(not is_whole(each.rendition) for each in found)
    parts = [f"{objects} objects of {len(found)} renditions in {seconds:.1f} s", f"{cached} of them from the cache"]
    return ", ".join([*parts, *([f"{broken} not whole"] if broken else [])])


def diagnostic_lines(diagnostics: Iterable[Diagnostic], *, limit: int = 0) -> list[str]:
    """What there is to say, the worst first; of many that are alike only some where a limit is given."""
    lines: list[str] = []
    said = list(dict.fromkeys(diagnostics))
    for severity, heading in _HEADINGS.items():
        mine = [each for each in said if each.severity == severity]
        shown = mine[:limit] if limit else mine
        if mine:
            lines += [*([""] if lines else []), f"{heading} ({len(mine)})"]
        for number, each in enumerate(shown, 1):
            lines.append(f"  {safe.text(str(each.place))}: {safe.text(each.message)}".replace("\n", " "))
            is_last = number == len(shown) or shown[number].fix != each.fix
            if each.fix and is_last:  # once for all that share it
                lines.append(f"      {safe.text(each.fix)}")
        if len(mine) > len(shown):
            lines.append(f"  … and {len(mine) - len(shown)} more: firstlight render COMPONENT, or --output json")
    return lines


def is_whole(rendition: Rendition) -> bool:
    """Whether nothing is missing."""
    return all(each.severity != Severity.ERROR for each in rendition.diagnostics)


def origin_of(component: Component, rendition: Rendition) -> str:
    """Where a rendition comes from: its chart with the version that was found, or its directory."""
    bootstrap, gitops = component.halves
    own = gitops if rendition.side == "gitops" else bootstrap
    sources: list[Source] = []
    for origin in own or component.origins:
        sources += origin.source.each if isinstance(origin.source, SeveralSources) else [origin.source]
    return ", ".join(dict.fromkeys(_source(each, rendition.pins) for each in sources[:3]))


def _cells(row: RenditionRow, *, has_clusters: bool) -> list[str]:
    rendition = row.rendition
    number = str(len(rendition.objects))
    return [
        rendition.component,
        *([rendition.cluster] if has_clusters else []),
        rendition.side.value,
        number if is_whole(rendition) else f"{number}, not whole",
        _time(row),
        origin_of(row.component, rendition),
    ]


def _time(row: RenditionRow) -> str:
    return "cached" if row.is_cached else f"{row.seconds:.2f} s"


def _source(source: Source, pins: Sequence[VersionPin]) -> str:
    match source:
        case ChartSource():
            name = source.name.rpartition("/")[2] if source.repository else source.name
            pinned = [
                each for each in pins if name in each.source.split("/")[-1].split(" ")[0:2] or name in each.source
            ]
            version = pinned[0].version if pinned and pinned[0].version else source.version
            return f"chart {name} {version}".strip()
        case DirectorySource():
            return source.path
        case RemoteSource():
            return f"{source.url} {source.revision}".strip()
        case Embedded():
            return source.place.path
        case Unresolved():
            return source.text


def _masked(value: Any, *, is_encrypted: bool) -> Any:
    is_readable = value not in (None, "") and not (is_encrypted and str(value).startswith("ENC["))
    return MASK if is_readable else value
