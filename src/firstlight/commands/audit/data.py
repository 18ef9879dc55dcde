"""An audit as data."""

from typing import Any

from firstlight.cli import diagnostic_data
from firstlight.commands.audit.output_form import AuditData, ExcusedData, FindingData, MatrixData
from firstlight.model.finding import Audit, Excused, Finding, Matrix


def data(audit: Audit) -> AuditData:
    """The whole answer."""
    found: AuditData = {
        "repo": audit.repo,
        "clusters": list(audit.clusters),
        "findings": [finding(each) for each in audit.findings],
        "excused": [_excused(each) for each in audit.excused],
        "unjudged": [
            {
                "rule": each.rule,
                "why": each.why,
                "clusters": list(each.clusters),
                "place": diagnostic_data.place(each.place),
            }
            for each in audit.unjudged
        ],
        "reasons": dict(audit.reasons),
        "remedies": list(audit.remedies),
        "matrix": matrix(audit.matrix) if audit.matrix is not None else None,
        "rules": audit.rules,
        "files": audit.files,
        "asked": list(audit.asked),
        "skipped": list(audit.skipped),
    }
    cleaned: AuditData = _clean(found)
    return cleaned


def finding(found: Finding) -> FindingData:
    """One finding."""
    return {
        **diagnostic_data.of(found),
        "clusters": list(found.clusters),
        "fixable": bool(found.edits),
        "key": found.key,
    }


def matrix(found: Matrix) -> MatrixData:
    """Patterns against clusters."""
    return {
        "columns": list(found.columns),
        "references": found.references,
        "rows": [
            {
                "pattern": row.pattern,
                "title": row.title,
                "cells": [
                    {"standing": str(cell.standing), "why": cell.why, "rules": list(cell.rules)} for cell in row.cells
                ],
            }
            for row in found.rows
        ],
    }


def _excused(one: Excused) -> ExcusedData:
    return {
        **finding(one.finding),
        "by": str(one.by),
        "reason": one.reason,
        "until": one.until,
        "excuse": diagnostic_data.place(one.place),
    }


def _clean(value: Any) -> Any:
    """Names of files that are no text show their bytes: JSON has no place for them."""
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {_clean(key): _clean(each) for key, each in value.items()}
        case list():
            return [_clean(each) for each in value]
        case _:
            return value
