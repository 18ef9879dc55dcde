"""A handover as data for JSON: keys are added, never renamed or removed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstlight.model.certificate import Certificate
from firstlight.model.verdict import Verdict, lets_on
from firstlight.report import certificate as certificates


def run(cluster: str, outcomes: Mapping[str, Verdict], *, is_refused: bool) -> dict[str, Any]:
    """What came of the steps."""
    is_fine = all(map(lets_on, outcomes.values()))
    return {
        "cluster": cluster,
        "verdict": "refused" if is_refused else "passed" if is_fine else "failed",
        "steps": [
            {"id": name, "verdict": type(each).__name__.lower(), "reason": each.reason}
            for name, each in outcomes.items()
        ],
    }  # fmt: skip


def certificate(made: Certificate, *, path: Path | None) -> dict[str, Any]:
    """A certificate in short; the file has everything."""
    return {
        "digest": made.digest,
        "complete": made.is_complete,
        "stage": str(made.stage),
        "revision": made.revision,
        "objects": len(made.objects),
        "kept": list(made.kept),
        "missing": list(made.missing),
        "failures": certificates.failures(made),
        "path": str(path) if path is not None else "",
        "page": str(path.with_suffix(".html")) if path is not None else "",
    }
