"""What readers and renderers have remarked, as problems of a run."""

from collections.abc import Iterable

from firstlight.model.plan import Link, Problem, Severity
from firstlight.model.remark import Grade, Remark

_SEVERITIES = {
    Grade.ERROR: Severity.ERROR,
    Grade.WARNING: Severity.WARNING,
    Grade.UNKNOWN: Severity.INFO,
}


def remarks(found: Iterable[Remark]) -> list[Problem]:
    """Each remark as a problem; an error of what bootstrap installs stands in the way."""
    return [
        Problem(
            rule="not-usable",
            severity=_SEVERITIES[each.grade],
            message=each.message,
            chain=(Link(each.place.path, "says so", each.place),),
            way_out=each.hint,
        )
        for each in found
    ]
