"""What readers and renderers have remarked, as problems of a run."""

from collections.abc import Iterable

from firstlight.model.plan import Link, Problem, Severity
from firstlight.model.platform import Platform
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


def declared(platform: Platform) -> list[Remark]:
    """What is wrong in the user's own declaration, whoever else is not troubled by it."""
    path = platform.declared.path if platform.declared is not None else ""
    return [each for each in platform.remarks if each.grade == Grade.ERROR and each.place.path == path]
