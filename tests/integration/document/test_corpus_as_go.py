"""Real repos: every file is read as Go reads it, and takes edits."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.document import yaml_editor, yaml_reader
from firstlight.document.yaml_reader import YamlDialect
from firstlight.model.diagnostic import Severity
from tests.integration.document.go_yaml import Oracle, same

CORPUS = Path(__file__).parents[3] / "../shared/corpus"
FILES = sorted(each for each in CORPUS.rglob("*") if each.suffix in {".yaml", ".yml"} and each.is_file())

pytestmark = pytest.mark.skipif(not FILES, reason="the corpus is not here")


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from paths(each, (*path, key))


def test_every_file_is_read_as_go_reads_it(go: Oracle) -> None:
    for file in FILES:
        data = file.read_bytes()
        answer = go.ask(data)
        for dialect in YamlDialect:
            contents = yaml_reader.read(data, file.name, dialect=dialect)
            is_refused = any(diagnostic.severity is Severity.ERROR for diagnostic in contents.diagnostics)
            found = {each.index: each.value for each in contents.documents}
            if dialect is YamlDialect.TALOS:
                assert is_refused == bool(answer.talos_error), file
                assert is_refused or same([found.get(n) for n in range(contents.count)], list(answer.talos)), file
            elif contents.count == 1:  # of several Kubernetes reads one after the other
                assert is_refused == bool(answer.kubernetes_error), file
                assert is_refused or same(found.get(0), answer.kubernetes), file


def test_nearly_everything_can_be_edited() -> None:
    chance, refused, total = random.Random(1), [], 0
    for file in chance.sample(FILES, min(len(FILES), 200)):
        contents = yaml_reader.read(file.read_bytes(), file.name)
        if contents.diagnostics or not contents.documents:
            continue
        document = chance.choice(contents.documents)
        for path in chance.sample(found := list(paths(document.value)), min(3, len(found))):
            total += 1
            try:
                value = chance.choice(["new", "two\nlines\n", 5, {"k": ["v"]}])
                yaml_editor.set_value(document.text, path, value, document=document.index)
                yaml_editor.remove(document.text, path, document=document.index)
            except errors.ConfigError as error:
                refused.append((file, path, error.message))

    assert total > 100
    assert len(refused) < total / 100, refused
