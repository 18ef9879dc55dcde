"""What findings lead to where an edit alone does not do: a file a subject, each with its ``REMEDIES`` by rule."""

from collections.abc import Sequence

from firstlight.model.finding import Finding
from firstlight.model.remedy import Remedy
from firstlight.policy.auditing.scene import Scene


def of(rule: str, scene: Scene, findings: Sequence[Finding] = ()) -> Remedy | None:
    """What findings of a rule lead to; None for a rule without a remedy."""
    from firstlight.policy.auditing import remedying

    making = remedying.known().get(rule)
    return making(scene, findings) if making else None
