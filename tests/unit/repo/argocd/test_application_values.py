"""What a chart is given in the end."""

from pathlib import Path

import pytest

from firstlight.model.place import Place
from firstlight.model.source import Values
from firstlight.repo.argocd import application_values
from firstlight.repo.argocd.read_scope import ReadScope
from firstlight.repo.work_tree import WorkTree

HERE = Place("app.yaml", 1)


def test_later_values_win(tmp_path: Path) -> None:
    (tmp_path / "v.yaml").write_text("a: {x: 1, z: 2}\nb: file")
    given = [
        Values(place=HERE, file="v.yaml"),
        Values(place=HERE, inline={"a": {"x": 3}, "c": None}),
        Values(place=HERE, target="b", text="parameter"),
        Values(place=HERE, target=r"d\.e.f", text="true"),
        Values(place=HERE, target="list[0]", text="left out"),
        Values(place=HERE, file="gone.yaml"),
    ]

    found = application_values.merged(given, {"c": 1, "own": 1}, ReadScope(WorkTree(tmp_path)))

    assert found == {"a": {"x": 3, "z": 2}, "b": "parameter", "d.e": {"f": True}, "own": 1}


@pytest.mark.parametrize(
    ("text", "is_text", "expected"),
    [
        ("true", False, True), ("false", False, False), ("1", False, 1), ("-7", False, -7), ("0", False, 0),
        ("007", False, "007"), ("1.5", False, "1.5"), ("true", True, "true"), ("null", True, "null"), ("", False, ""),
    ],
)  # fmt: skip
def test_parameters_are_typed_as_helm_types_them(tmp_path: Path, text: str, is_text: bool, expected: object) -> None:
    given = [Values(place=HERE, target="x", text=text, is_text=is_text)]

    assert application_values.merged(given, {}, ReadScope(WorkTree(tmp_path)))["x"] == expected
