"""Talos files of real repos: what a plain search finds, the reader accounts for."""

import re
from pathlib import Path

import pytest
import yaml

from firstlight.model.component import SourceForm
from firstlight.repo import talos
from firstlight.repo.reader_result import ReaderResult
from firstlight.repo.work_tree import WorkTree

CORPUS = Path(__file__).parents[3] / "../shared/corpus"
REPOS = sorted(path for path in CORPUS.glob("*") if path.is_dir())
NONE = [pytest.param(None, marks=pytest.mark.skip(reason="there is no corpus beside this repository"))]

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
Read = tuple[ReaderResult, WorkTree, dict[str, str]]


@pytest.fixture(scope="module", params=REPOS or NONE, ids=lambda path: path.name if path else "none")
def repo(request: pytest.FixtureRequest) -> Read:
    tree = WorkTree(request.param)
    texts = {
        path: text
        for path in tree.files
        if path.endswith((".yaml", ".yml", ".j2")) and (text := (tree.root / path).read_text(errors="replace"))
    }
    return talos.read(tree), tree, texts


def accounted(found: ReaderResult) -> set[str]:
    """Files that are listed with a cluster, or that a diagnostic speaks of."""
    listed = {path for cluster in found.clusters for path in cluster.documents}
    return listed | {diagnostic.place.path for diagnostic in found.diagnostics}


def test_every_talos_document_is_accounted_for(repo: Read) -> None:
    found, _, texts = repo
    top = {
        path
        for path, text in texts.items()
        if set(re.findall(r"(?m)^([A-Za-z]\w*):", text)) & {"machine", "cluster"}
        and set(re.findall(r"(?m)^([A-Za-z]\w*):", text.split("\n---\n")[0])) <= {"version", "machine", "cluster"}
    }
    documents = {path for path, text in texts.items() if re.search(r"(?m)^apiVersion: v1alpha1$", text)}
    schematics = {path for path, text in texts.items() if re.search(r"(?m)^customization:", text)}
    templates = {path for path, text in texts.items() if re.search(r"(?m)^kind: ControlPlane$", text)}
    talconfigs = {path for path in texts if path.rpartition("/")[2].startswith("talconfig")}

    everything = top | documents | schematics | templates | talconfigs
    assert everything
    assert everything <= accounted(found)


def test_every_machine_is_found(repo: Read) -> None:
    found, _, texts = repo
    hosts: set[str] = set()
    for path, text in texts.items():
        if path.rpartition("/")[2].startswith("talconfig"):
            hosts |= set(re.findall(r"(?m)^  - hostname: (\S+)", text))
        elif not path.endswith(".j2") and re.search(r"(?m)^machine:|kind: ControlPlane", text):
            hosts |= {name for name in re.findall(r"(?m)^ +hostname: (\S+)", text) if name not in {'""', "''"}}
    machines = [machine for cluster in found.clusters for machine in cluster.machines]

    assert {machine.name for machine in machines if not re.fullmatch(UUID, machine.name)} == hosts
    assert all(machine.place.line for machine in machines)


def test_every_manifest_in_a_machine_config_is_found(repo: Read) -> None:
    found, _, texts = repo
    origins = [each for each in (*found.origins, *found.unreached) if each.form is SourceForm.INLINE_MANIFEST]
    lists = {path: re.findall(r"(?m)^[^#\n]*inlineManifests:", text) for path, text in texts.items()}

    assert len(origins) == sum(map(len, lists.values()))
    assert {each.place.path for each in origins} == {path for path, each in lists.items() if each}
    assert not any(re.search(r"(?m)^[^#\n]*extraManifests:", text) for text in texts.values())


def test_every_object_of_a_manifest_is_found(repo: Read) -> None:
    """Documents that are broken have an error at their line, and are no objects."""
    found, tree, texts = repo
    for origin in (*found.origins, *found.unreached):
        (value,) = [
            entry["contents"]
            for document in yaml.load_all(texts[origin.place.path], Loader=yaml.CSafeLoader)
            for entry in document["cluster"]["inlineManifests"]
            if entry["name"] == origin.name
        ]
        broken = [
            each for each in found.diagnostics if each.place.path == origin.place.path and each.severity == "error"
        ]
        objects = talos.inline_objects(tree, origin)

        assert len(re.findall(r"(?m)^kind:", value)) == len(objects) + len(broken)
        assert tuple(each.id for each in objects) == origin.objects
        lines = texts[origin.place.path].splitlines()
        if "contents: |" in "".join(lines[origin.place.line - 1 : origin.place.line + 3]):
            assert all("apiVersion" in lines[each.place.line - 1] for each in objects)


def test_every_fact_stands_where_it_is_said(repo: Read) -> None:
    found, _, texts = repo
    for cluster in found.clusters:
        for field, place in cluster.said.items():
            holder = cluster.network if field.startswith("network.") else cluster
            value = getattr(holder, field.removeprefix("network."))
            words = value if isinstance(value, tuple) else (str(value).lower(),)
            lines = texts[place.path].splitlines()[place.line - 1 : place.line + 3]
            if not isinstance(value, bool):
                assert all(word in "".join(lines).lower() for word in words), (field, place)
