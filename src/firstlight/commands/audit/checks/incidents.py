"""Emergencies that are over, and of which nobody has written down what they teach."""

from collections.abc import Iterator

from firstlight.commands.audit.rule_form import AuditRule
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo.platform_view import PlatformView

_TIME = 7
"""Days in which a record is to be completed: later nobody remembers."""


def unreviewed(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Yield incident records whose cause or follow-ups are blank for a week."""
    for each in scene.incidents:
        age = (scene.today - each.day).days
        if each.is_reviewed or age < _TIME:
            continue
        blank = " and ".join(
            name for name, has in (("cause", each.has_cause), ("follow-ups", each.has_follow_ups)) if not has
        )
        yield rule.finding(
            f"the incident of {each.day} has no {blank} after {age} days",
            at=Place(each.path, 1),
            clusters=(each.cluster,) if scene.platform.cluster(each.cluster) is not None else (),
            key=f"incident {each.id}",
        )
