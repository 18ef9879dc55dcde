"""Components embedded into machine configs: every directory beside this file is one.

``request.yaml`` says what is asked for, ``objects.yaml`` what the component renders to, ``repo/`` is the repo, and
``expected.yaml`` with the file in ``expected/`` what comes out. ``again.yaml`` is a second rendering, ``crds.yaml``
has the CRDs of other components.
"""

import dataclasses
import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.document import yaml_reader
from firstlight.model.inline_manifest import Embedding, InlineState
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.render.inline import embedding
from firstlight.render.inline.embedding import EmbeddingRequest

HERE = Path(__file__).parent
SCENARIOS = sorted(each.parent.name for each in HERE.glob("*/expected.yaml"))
NOW = datetime.datetime(2026, 5, 4, tzinfo=datetime.UTC)


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str) -> None:
    directory = HERE / name
    wanted = yaml.safe_load((directory / "expected.yaml").read_text())
    asked = request(directory)

    made = embedding.make_embedding(asked)

    assert observed(made.embedding) == wanted
    written = directory / "expected" / asked.path
    assert written.exists() is not made.embedding.is_refused
    if written.exists():
        assert made.text == written.read_bytes().decode()
        again = embedding.make_embedding(dataclasses.replace(asked, text=made.text))
        assert (again.text, again.embedding.state) == (made.text, InlineState.FRESH)


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) == len([each for each in HERE.iterdir() if (each / "repo").is_dir()])
    assert len(SCENARIOS) > 10


def request(directory: Path) -> EmbeddingRequest:
    """What a scenario asks for."""
    given = yaml.safe_load((directory / "request.yaml").read_text())
    file = directory / "repo" / given["path"]
    return EmbeddingRequest(
        root=directory / "repo",
        text=file.read_bytes().decode() if file.exists() else "",
        component=given["name"],
        place=Place("apps/thing.yaml", 1),
        objects=objects(directory / "objects.yaml"),
        again=objects(directory / "again.yaml") if (directory / "again.yaml").exists() else None,
        crds=objects(directory / "crds.yaml"),
        now=NOW,
        **given,
    )


def objects(path: Path) -> list[Object]:
    data = path.read_bytes() if path.exists() else b""
    return [Object(each.value) for each in yaml_reader.read(data, path.name).documents]


def observed(made: Embedding) -> dict[str, Any]:
    """What came out, as expectations are written."""
    fields = {
        "cluster": made.cluster,
        "line": made.place.line,
        "omni": made.is_omni,
        "refused": made.is_refused,
        "changes": [f"{each.what} {each.id}" for each in made.changes],
        "left out": [str(each.id) for each in made.left_out],
        "crds": [each.name for each in made.added_crds],
        "kept": list(made.kept),
        "diagnostics": [f"{each.severity} {each.place}: {each.message}" for each in made.diagnostics],
    }
    return {"state": made.state.value} | {key: value for key, value in fields.items() if value}
