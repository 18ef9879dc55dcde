"""The comparison of clusters as text."""

import dataclasses

from firstlight.commands.audit import matrix
from firstlight.drawing import table
from firstlight.model.finding import Matrix, MatrixCell, MatrixRow, PatternStanding
from tests.unit.commands.audit import audits


def test_patterns_down_clusters_across_then_references() -> None:
    assert matrix.matrix_lines(audits.matrix(), columns=100) == [
        "                              apps  infra  reference",
        "Pod and service ranges agree  ✘     ✔      ✔",
        "ClusterMesh by GitOps         n/a   ?      ·",
        "",
        "✔ follows   ✘ does not   n/a cannot apply   ? the repo does not tell   · not known",
        "",
        "✘ Pod and service ranges agree",
        "    apps: pods are in two ranges",
        "      range-differs, range-narrow",
    ]


def test_clusters_that_share_a_reason_are_told_together() -> None:
    found = audits.matrix()
    broken = found.rows[0].cells[0]
    rows = (dataclasses.replace(found.rows[0], cells=(broken, broken, broken)),)

    lines = matrix.matrix_lines(dataclasses.replace(found, rows=rows, references=0), columns=100)

    assert "    apps, infra, reference: pods are in two ranges" in lines


def test_many_clusters_are_several_tables() -> None:
    names = tuple(f"cluster-{n}" for n in range(20))
    rows = tuple(
        MatrixRow(pattern=str(n), title=f"A pattern with quite a long title, number {n}",
            cells=tuple(MatrixCell(standing=PatternStanding.FOLLOWS) for _ in names))
        for n in range(3)
    )  # fmt: skip

    lines = matrix.matrix_lines(Matrix(columns=names, rows=rows), columns=80)

    assert all(table.width(line) <= 80 for line in lines)
    assert sum(line.count("✔") for line in lines) == 20 * 3 + 1
    assert all(sum(name in line.split() for line in lines) == 1 for name in names)
