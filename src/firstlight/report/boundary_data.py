"""The boundary as data, for ``boundary --output json``: stable names, Secrets masked."""

from collections.abc import Sequence
from typing import Any

from firstlight.model.boundary import Boundary, Compared


def data(boundaries: Sequence[Boundary]) -> dict[str, Any]:
    """All components."""
    return {"equal": all(each.is_equal for each in boundaries), "components": [_boundary(each) for each in boundaries]}


def _boundary(each: Boundary) -> dict[str, Any]:
    return {
        "component": each.component,
        "cluster": each.cluster,
        "versions": {"bootstrap": each.versions[0], "gitops": each.versions[1]},
        "equal": each.is_equal,
        "stays": {"event": each.stays.event, "effect": each.stays.effect} if each.stays else None,
        "objects": [_compared(item) for item in each.objects],
        "remarks": [
            {"grade": remark.grade, "path": remark.place.path, "line": remark.place.line, "message": remark.message}
            for remark in each.remarks
        ],
    }


def _compared(each: Compared) -> dict[str, Any]:
    return {
        "group": each.id.group,
        "kind": each.id.kind,
        "namespace": each.id.namespace,
        "name": each.id.name,
        "standing": each.standing,
        "differences": [
            {
                "path": difference.path,
                "bootstrap": difference.bootstrap,
                "gitops": difference.gitops,
                "words": difference.words,
                "replacesPods": difference.rolls,
                "immutable": difference.is_fixed,
            }
            for difference in each.differences
        ],
        "consequences": [
            {"event": item.event, "effect": item.effect, "severity": item.severity} for item in each.consequences
        ],
    }
