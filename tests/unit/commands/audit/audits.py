"""Audits for tests of reports."""

import dataclasses
from typing import Any

from firstlight.commands.audit.rule_form import AuditCard
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import (
    Audit,
    EditVerb,
    Excuse,
    Excused,
    FileEdit,
    Finding,
    Matrix,
    MatrixCell,
    MatrixRow,
    PatternStanding,
)
from firstlight.model.place import Place

EVIL = '<script>alert("x")</script> [click](http://evil.example.org) @somebody \x1b[31m`'
EDIT = FileEdit(path="kubernetes/web.yaml", verb=EditVerb.SET, steps=("spec", "replicas"), value=2)


def finding(rule: str = "range-differs", severity: Severity = Severity.ERROR, **given: Any) -> Finding:
    known: dict[str, Any] = {
        "message": "pods are in 10.244.0.0/16 and in 10.246.0.0/16",
        "places": (Place("talos/all.yaml", 12, 5),),
        "clusters": ("apps",),
        "fix": "Write one range.",
        "key": "pods",
    }
    return Finding(code=rule, severity=severity, **{**known, **given})


def evidence(number: int) -> tuple[Evidence, ...]:
    return tuple(Evidence(f"it is said here, {n}", Place(f"kubernetes/{n}.yaml", n)) for n in range(1, number + 1))


def audit(*findings: Finding, **given: Any) -> Audit:
    ordered = sorted(findings, key=lambda each: (-each.severity.rank, each.place))
    names = sorted({each.code for each in findings})
    known: dict[str, Any] = {
        "repo": "fleet",
        "clusters": ("apps", "infra"),
        "reasons": {name: f"The reason of {name}." for name in names},
        "rules": 12,
        "files": 34,
    }
    return Audit(findings=tuple(ordered), **{**known, **given})


def excused(**given: Any) -> Excused:
    known: dict[str, Any] = {
        "finding": finding("old-rule"),
        "by": Excuse.INLINE,
        "reason": "the rack moves in spring",
        "until": "2027-03-31",
        "place": Place("talos/all.yaml", 11),
    }
    return Excused(**{**known, **given})


def matrix() -> Matrix:
    broken = MatrixCell(
        standing=PatternStanding.BREAKS, why="pods are in two ranges", rules=("range-differs", "range-narrow")
    )
    follows, unknown = (
        MatrixCell(standing=PatternStanding.FOLLOWS),
        MatrixCell(standing=PatternStanding.UNKNOWN, why="no machine config"),
    )
    absent = MatrixCell(standing=PatternStanding.NOT_APPLICABLE, why="there is no mesh")
    return Matrix(
        columns=("apps", "infra", "reference"),
        references=1,
        rows=(
            MatrixRow(pattern="ranges", title="Pod and service ranges agree", cells=(broken, follows, follows)),
            MatrixRow(pattern="mesh", title="ClusterMesh by GitOps", cells=(absent, unknown, unknown)),
        ),
    )


def card(rule: str = "range-differs", **given: Any) -> AuditCard:
    known: dict[str, Any] = {
        "title": "Ranges differ",
        "group": "multi-cluster",
        "severity": "error",
        "why": "Pods are not reached.",
        "fix": "Write one range.",
    }
    return AuditCard(id=rule, **{**known, **given})


def fixable(found: Finding) -> Finding:
    return dataclasses.replace(found, edits=(EDIT,))
