"""Every directory here is a repo of some style, with what it says about its clusters."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.model.cluster import Cluster, Machine
from firstlight.model.component import Certainty, ObjectId, Origin
from firstlight.model.source import (
    ChartSource,
    DirectorySource,
    Embedded,
    RemoteSource,
    SeveralSources,
    Source,
    Unresolved,
)
from firstlight.repo import talos
from firstlight.repo.reader_result import ReaderResult
from firstlight.repo.work_tree import WorkTree

CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/expected.yaml"))


def describe(found: ReaderResult, tree: WorkTree) -> dict[str, Any]:
    """What was found, as plain data: everything that is not empty."""
    diagnostics = sorted({*found.diagnostics, *tree.diagnostics})
    return _filled(
        {
            "clusters": {each.name: _cluster(each) for each in found.clusters},
            "origins": [_origin(each) for each in found.origins],
            "unreached": [_origin(each) for each in found.unreached],
            "diagnostics": [f"{each.severity.value} {each.code} {each.place} {each.message}" for each in diagnostics],
        }
    )


def _cluster(cluster: Cluster) -> dict[str, Any]:
    network = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in dataclasses.asdict(cluster.network).items()
    }
    assert [each.path for each in cluster.files] == list(cluster.documents)
    return _filled(
        {
            "place": str(cluster.place),
            "talos": cluster.talos,
            "kubernetes": cluster.kubernetes,
            "schedules_on_control_planes": cluster.schedules_on_control_planes,
            "network": _filled(network),
            "said": {key: str(place) for key, place in sorted(cluster.said.items())},
            "machines": [_machine(each) for each in cluster.machines],
            "documents": {path: ", ".join(kinds) for path, kinds in cluster.documents.items()},
        }
    )


def _machine(machine: Machine) -> dict[str, Any]:
    return _filled(
        {
            "name": machine.name,
            "role": machine.role.value,
            "place": str(machine.place),
            "address": machine.address,
            "id": machine.id,
            "disk": machine.install_disk,
            "schematic": machine.schematic,
            "extensions": list(machine.extensions),
            "patches": [str(each) for each in machine.patches],
        }
    )


def _origin(origin: Origin) -> dict[str, Any]:
    return _filled(
        {
            "id": origin.id,
            "cluster": origin.cluster,
            "place": str(origin.place),
            "phase": origin.phase.value if origin.phase else "",
            "source": _source(origin.source),
            "version": origin.version,
            "objects": [_object(each) for each in origin.objects],
            "certainty": origin.certainty.value if origin.certainty != Certainty.DECLARED else "",
            "doubt": origin.doubt,
            "definition": dict(origin.definition),
        }
    )


def _source(source: Source | SeveralSources) -> str:
    match source:
        case Embedded():
            return f"{source.place} {'.'.join(map(str, source.steps))} {source.size}"
        case DirectorySource():
            return f"file {source.path}"
        case RemoteSource():
            return source.url
        case Unresolved():
            return f"unresolved: {source.text} ({source.reason})"
        case ChartSource() | SeveralSources():
            raise AssertionError(source)


def _object(found: ObjectId) -> str:
    return "/".join(each for each in (found.group, found.kind, found.namespace, found.name) if each)


def _filled(value: dict[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in value.items() if each not in (None, "", [], {}, ())}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_repo_says_what_it_says(case: Path) -> None:
    tree = WorkTree(case / "repo")
    expected = yaml.load((case / "expected.yaml").read_text(), Loader=yaml.CSafeLoader)

    found = describe(talos.read(tree), tree)

    # What a parser says against broken YAML is its own business: expectations of that end with an ellipsis.
    wanted = (expected or {}).get("diagnostics", [])
    found["diagnostics"] = [
        want if want.endswith("…") and each.startswith(want[:-1]) else each
        for each, want in itertools.zip_longest(found.get("diagnostics", []), wanted, fillvalue="")
        if each
    ]
    assert _filled(found) == expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_objects_of_a_manifest_are_those_of_its_origin(case: Path) -> None:
    tree = WorkTree(case / "repo")
    found = talos.read(tree)

    for origin in (*found.origins, *found.unreached):
        objects = talos.inline_objects(tree, origin)
        if origin.certainty == Certainty.DECLARED:
            assert tuple(each.id for each in objects) == origin.objects
        for each in objects:
            line = (case / "repo" / each.place.path).read_text().splitlines()[each.place.line - 1]
            assert each.value["kind"] in "".join(line.split()) or "apiVersion" in line or "---" in line or "'" in line
