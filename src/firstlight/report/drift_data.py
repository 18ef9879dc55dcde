"""Drift as data, for JSON: keys are added, never renamed or removed."""

from typing import Any

from firstlight.model.drift import Drift, Drifted


def data(drift: Drift) -> dict[str, Any]:
    """Everything that was found."""
    return {
        "cluster": drift.cluster,
        "revision": drift.revision,
        "applied": list(drift.applied),
        "drifted": [one(each) for each in drift.drifted],
        "compared": drift.compared,
        "dryRuns": drift.dry_runs,
        "ignored": drift.ignored,
        "unread": list(drift.unread),
        "notes": list(drift.notes),
    }


def one(drifted: Drifted) -> dict[str, Any]:
    """One object that differs."""
    return {
        "object": {
            "group": drifted.id.group,
            "kind": drifted.id.kind,
            "namespace": drifted.id.namespace,
            "name": drifted.id.name,
        },
        "component": drifted.component,
        "owner": drifted.owner,
        "difference": drifted.difference.value,
        "says": drifted.says,
        "fields": [
            {
                "path": each.path,
                "wanted": each.wanted,
                "live": each.live,
                "manager": each.manager,
                "since": each.since,
            }
            for each in drifted.fields
        ],
    }
