"""The inline manifests of somebody else's repo: read, embedded again, checked; nothing else in the files changes."""

import dataclasses
import datetime
import time
from pathlib import Path

import pytest

from firstlight.document import yaml_reader
from firstlight.document.yaml_reader import YamlDialect
from firstlight.model.inline_manifest import InlineState
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.render.inline import embedding, manifest_entry
from firstlight.render.inline.embedding import EmbeddingRequest
from firstlight.render.inline.manifest_contents import fingerprint
from firstlight.repo.talos import config_manifests, embedded_yaml

REPO = Path(__file__).parents[3] / "../shared/corpus/omni-gitops"
DIRECTORY = "bootstrap/talos/patches"
NOW = datetime.datetime(2026, 5, 4, tzinfo=datetime.UTC)
SECONDS = 2.0
"""Of this process, for the largest file."""

pytestmark = pytest.mark.skipif(not REPO.is_dir(), reason="the corpus is not on this machine")


def found(path: str, name: str) -> EmbeddingRequest:
    """A request to embed what is there already, as far as it can be read."""
    text = (REPO / path).read_bytes().decode()
    target = manifest_entry.find_entry(text, name, path=path)
    assert target is not None
    (document,) = manifest_entry.talos_documents_of(text, path)
    objects, _ = config_manifests.objects_in(
        embedded_yaml.read(document, (*target.way[0].steps, target.key), target.value)
    )
    secrets = [each.id.name for each in objects if each.id.kind == "Secret"]
    return EmbeddingRequest(
        root=REPO, path=path, text=text, name=name, component=name, place=Place(path), talos="v1.11.2", now=NOW,
        objects=[Object(each.value) for each in objects], allowed=secrets,
    )  # fmt: skip


def around(text: str, path: str, name: str) -> tuple[str, str]:
    """What stands before and behind the contents of a manifest, to the byte."""
    target = manifest_entry.find_entry(text, name, path=path)
    assert target is not None
    (document,) = yaml_reader.read_text(text, path, dialect=YamlDialect.TALOS).documents
    line = document.place(*target.way[0].steps, target.key).line
    lines = text.splitlines(keepends=True)
    key = lines[line - 1].partition(":")[0]
    indent = len(key) - len(key.lstrip())
    behind = enumerate(lines[line:], line)
    last = next((n for n, each in behind if each.strip() and len(each) - len(each.lstrip()) <= indent), len(lines))
    return "".join(lines[: line - 1]) + key, "".join(lines[last:])


@pytest.mark.parametrize(("name", "objects"), [("argocd", 59), ("cilium", 32)])
def test_nothing_but_the_contents_changes(name: str, objects: int) -> None:
    asked = found(f"{DIRECTORY}/{name}.yaml", name)

    began = time.process_time()
    made = embedding.make_embedding(asked)
    took = time.process_time() - began

    assert not made.embedding.is_refused, made.embedding.diagnostics
    assert made.embedding.cluster
    assert len(made.embedding.objects) == objects
    assert made.embedding.changes == ()
    before, after = around(asked.text, asked.path, name)
    assert len(before) > 100
    assert made.text.startswith(before)
    assert made.text.endswith(after)
    assert around(made.text, asked.path, name) == (before, after)
    target = manifest_entry.find_entry(made.text, name, path=asked.path)
    assert target is not None
    read = yaml_reader.read_text(target.value, name).documents
    assert {fingerprint(Object(each.value)) for each in read} == {fingerprint(each) for each in asked.objects}
    assert took < SECONDS


@pytest.mark.parametrize("name", ["argocd", "cilium"])
def test_what_was_embedded_is_fresh(name: str) -> None:
    asked = found(f"{DIRECTORY}/{name}.yaml", name)
    first = embedding.make_embedding(asked)

    second = embedding.make_embedding(dataclasses.replace(asked, text=first.text))

    assert second.embedding.state is InlineState.FRESH
    assert second.text == first.text


def test_the_engine_is_checked_against_itself() -> None:
    made = embedding.make_embedding(found(f"{DIRECTORY}/argocd.yaml", "argocd"))

    assert made.embedding.state is InlineState.WRITTEN_OTHERWISE
    assert not made.embedding.is_stale


def test_a_manifest_that_talos_cannot_read_is_stale() -> None:
    """One of the two is no YAML in the middle, so that Talos applies none of it."""
    made = embedding.make_embedding(found(f"{DIRECTORY}/cilium.yaml", "cilium"))

    assert made.embedding.state is InlineState.STALE
    assert [str(each.place) for each in made.embedding.diagnostics] == [f"{DIRECTORY}/cilium.yaml:370"]


def test_a_secret_of_theirs_is_not_embedded_unnoticed() -> None:
    asked = dataclasses.replace(found(f"{DIRECTORY}/cilium.yaml", "cilium"), allowed=())

    made = embedding.make_embedding(asked)

    errors = [each.message for each in made.embedding.diagnostics if each.severity == "error"]
    assert len(errors) == 3
    values = [value for each in asked.objects if each.id.kind == "Secret" for value in each.value["data"].values()]
    assert values
    assert not any(value in error for value in values for error in errors)


def test_a_change_is_told_object_by_object() -> None:
    asked = found(f"{DIRECTORY}/argocd.yaml", "argocd")
    last = asked.objects[-1]
    changed = Object({**last.value, "metadata": {**last.value["metadata"], "labels": {"a": "b"}}})

    made = embedding.make_embedding(dataclasses.replace(asked, objects=[*asked.objects[1:-1], changed]))

    assert made.embedding.is_stale
    assert sorted((each.what, each.id.kind) for each in made.embedding.changes) == [
        ("changed", last.id.kind),
        ("removed", asked.objects[0].id.kind),
    ]
