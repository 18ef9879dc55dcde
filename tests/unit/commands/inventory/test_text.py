"""The inventory as text: one row for an app, nothing cut, what reaches furthest first."""

import dataclasses
from pathlib import Path

import pytest

from firstlight.commands.inventory import text
from firstlight.model.component import Certainty
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo import platform_reader

REPO = Path(__file__).parents[3] / "scenarios" / "decide" / "changes" / "repos" / "documents"
PLATFORM = platform_reader.read(REPO)


def test_a_kustomization_shares_the_row_of_its_release() -> None:
    rows = {row[0]: row for _, rows in text.component_rows(PLATFORM) for row in rows}

    assert {"kustomization/photos", "photos"} <= {each.name for each in PLATFORM.components}
    assert "kustomization/photos" not in rows
    assert rows["photos"][-1] == "needs rook-ceph"


@pytest.mark.parametrize("columns", [80, 100])
def test_nothing_is_cut(columns: int) -> None:
    lines = text.text(PLATFORM, columns=columns).splitlines()
    whole = " ".join("\n".join(lines).split())

    assert [each for each in lines if len(each) > columns] == []
    assert "…" not in whole
    for _, rows in text.component_rows(PLATFORM):
        for row in rows:
            assert row[-1] in whole
            assert row[-2].rpartition("/")[2] in whole


def test_diagnostics_of_one_code_stand_together() -> None:
    far = Diagnostic.unknown("cluster-unclear", "nothing says which cluster this is for", at=Place("z.yaml", 1))
    many = [
        Diagnostic.unknown("kustomize-resource-remote", f"base {number} is elsewhere", at=Place(f"a{number}.yaml", 1))
        for number in range(9)
    ]

    lines = text.diagnostic_lines([*many, far], columns=100)

    assert lines == [
        "not understood (10)",
        "  z.yaml:1: nothing says which cluster this is for",
        "  a0.yaml:1: base 0 is elsewhere",
        "      and 8 more like this (kustomize-resource-remote): a1.yaml, a2.yaml, a3.yaml …",
        "  all of them: firstlight inventory --everything",
    ]
    assert len(text.diagnostic_lines([*many, far], columns=100, everything=True)) == 11


def test_a_doubt_of_many_components_is_told_once() -> None:
    doubt = "it is taken for that of home, the only cluster that other files mention"
    doubtful = [
        dataclasses.replace(
            each,
            origins=tuple(dataclasses.replace(one, certainty=Certainty.GUESSED, doubt=doubt) for one in each.origins),
        )
        for each in PLATFORM.components
    ]
    platform = dataclasses.replace(PLATFORM, components=tuple(doubtful))

    told = " ".join(text.text(platform, columns=100).split())

    assert told.count(doubt) == 1
    assert f"not sure {len(doubtful)} components: {doubt}" in told
