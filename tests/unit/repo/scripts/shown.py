"""What a reader found, as plain values that a person can write down and compare."""

import json
from pathlib import Path
from typing import Any

import yaml

from firstlight.model.cluster import Cluster
from firstlight.model.component import Certainty, Origin
from firstlight.model.source import (
    ChartSource,
    DirectorySource,
    Embedded,
    RemoteSource,
    SeveralSources,
    Source,
    Unresolved,
    Values,
)
from firstlight.repo.reader_result import ReaderResult

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def scenarios(reader: str) -> list[Path]:
    """The scenarios of a reader; each has a repo and what is to be found in it."""
    found = sorted(path.parent for path in (SCENARIOS / reader).glob("*/expected.yaml"))
    assert found
    return found


def expected(scenario: Path) -> str:
    """What a person wrote down, in the form of ``text``."""
    return text(yaml.safe_load((scenario / "expected.yaml").read_text()) or {})


def text(value: Any) -> str:
    """Values as YAML, so that differences are shown by line."""
    return yaml.safe_dump(value, sort_keys=False, width=160, allow_unicode=True)


def plain(found: ReaderResult) -> dict[str, Any]:
    """Everything that was found; what is empty is left out."""
    return _without_empty(
        {
            "clusters": [cluster(each) for each in found.clusters],
            "origins": [origin(each) for each in found.origins],
            "unreached": [origin(each) for each in found.unreached],
            "diagnostics": [
                f"{each.severity} {each.code} {each.place.path}:{each.place.line} {each.message}"
                for each in found.diagnostics
            ],
        }
    )


def _without_empty(value: dict[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in value.items() if each not in (None, "", [], {}, ())}


def cluster(value: Cluster) -> dict[str, Any]:
    """A cluster."""
    return _without_empty(
        {
            "name": value.name,
            "at": f"{value.place.path}:{value.place.line}",
            "engine": str(value.engine or ""),
            "url": value.url,
            "branch": value.branch,
            "path": value.path,
        }
    )


def origin(value: Origin) -> dict[str, Any]:
    """An origin; ``at`` is the file and the line."""
    source = value.source
    return _without_empty(
        {
            "id": value.id,
            "at": f"{value.place.path}:{value.place.line}",
            "cluster": value.cluster,
            "phase": str(value.phase or ""),
            "version": value.version,
            "source": " + ".join(
                _source(each) for each in (source.each if isinstance(source, SeveralSources) else [source])
            ),
            "values": [_values(each) for each in source.values] if isinstance(source, ChartSource) else [],
            "objects": [
                " ".join(part for part in (each.kind, each.namespace, each.name) if part) for each in value.objects
            ],
            "needs": [f"{each.id} ({each.why})" for each in value.needs],
            "parent": value.parent,
            "guessed": value.doubt if value.certainty == Certainty.GUESSED else "",
            "command": value.command,
        }
    )


def _source(source: Source) -> str:
    match source:
        case ChartSource():
            where = f" of {source.repository}" if source.repository else ""
            return f"chart {source.name}{where} {source.version}".rstrip() + f" as {source.namespace}/{source.release}"
        case DirectorySource():
            kind = "kustomization" if source.kustomize else "files"
            return f"{kind} {source.path}" + (f" by {source.decryption}" if source.decryption else "")
        case RemoteSource():
            return " ".join(part for part in ("remote", source.url, source.revision, source.path) if part)
        case Embedded():
            return f"embedded in {source.place.path}:{source.place.line}"
        case Unresolved():
            return f"unresolved {source.text}: {source.reason}"


def _values(values: Values) -> str:
    parts = []
    if values.target:
        parts.append(f"{values.target}={values.text}" + (" as text" if values.is_text else ""))
    if values.file:
        parts.append(f"file {values.file}")
    if values.inline is not None:
        parts.append(json.dumps(values.inline, ensure_ascii=False, sort_keys=True))
    if values.reference:
        parts.append(values.reference)
    if values.unresolved:
        parts.append(f"? {values.unresolved}")
    return " ".join(parts)
