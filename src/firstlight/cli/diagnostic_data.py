"""Diagnostics as data for JSON, in the one shape that every command prints."""

from collections.abc import Iterable

from firstlight.cli.output_form import BasisData, DiagnosticData, EvidenceData, PlaceData
from firstlight.drawing import clock
from firstlight.model.diagnostic import Diagnostic, Evidence
from firstlight.model.fact import Basis
from firstlight.model.place import Place


def of(diagnostic: Diagnostic) -> DiagnosticData:
    """Return what every diagnostic has; a room whose diagnostics know more adds to it."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "places": [_place(each) for each in diagnostic.places],
        "fix": diagnostic.fix,
        "subject": diagnostic.subject,
        "evidence": [_evidence(each) for each in diagnostic.evidence],
        "basis": _basis(diagnostic.basis),
    }


def of_all(diagnostics: Iterable[Diagnostic]) -> list[DiagnosticData]:
    """Return the data of several diagnostics."""
    return [of(each) for each in diagnostics]


def place(found: Place | None) -> PlaceData | None:
    """Return a place that may be missing."""
    return None if found is None else _place(found)


def _place(found: Place) -> PlaceData:
    return {"path": found.path, "line": found.line, "column": found.column}


def _basis(found: Basis) -> BasisData:
    return {"standing": found.standing, "confidence": found.confidence, "why": found.why}


def _evidence(evidence: Evidence) -> EvidenceData:
    return {
        "text": evidence.text,
        "where": evidence.where,
        "place": place(evidence.place),
        "at": clock.moment(evidence.at) if evidence.at else "",
    }
