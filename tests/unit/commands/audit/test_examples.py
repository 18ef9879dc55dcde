"""The examples are what others copy: nothing in them that an audit would warn of."""

import asyncio
import datetime
from pathlib import Path

import pytest

from firstlight.commands.audit import audit
from firstlight.commands.audit.audit import AuditMeans
from firstlight.commands.audit.audit_request import AuditRequest
from firstlight.model.diagnostic import Severity
from firstlight.model.finding import Audit
from firstlight.repo.work_tree import WorkTree

EXAMPLES = Path(__file__).parents[4] / "examples"
PLATFORMS = sorted(each.parent.name for each in EXAMPLES.glob("*/firstlight.yaml"))
TODAY = datetime.date(2026, 11, 16)


def audited(name: str) -> Audit:
    wishes = AuditRequest(today=TODAY, with_matrix=True)
    found = asyncio.run(audit.audit(WorkTree(EXAMPLES / name), wishes, AuditMeans()))
    assert not found.failed
    return found.audit


@pytest.mark.parametrize("name", PLATFORMS)
def test_nothing_that_will_hurt(name: str) -> None:
    found = [each for each in audited(name).findings if each.severity is not Severity.NOTE]

    assert [f"{each.place} {each.code}: {each.message}" for each in found] == []


def test_two_clusters_have_nothing_at_all() -> None:
    found = audited("two-clusters")

    assert [f"{each.place} {each.code}: {each.message}" for each in found.findings] == []
    assert found.excused == ()
    assert found.matrix is not None
    clusters = len(found.clusters)
    assert [row.title for row in found.matrix.rows for cell in row.cells[:clusters] if cell.standing == "no"] == []


def test_all_of_them_are_looked_at() -> None:
    assert {"argocd", "home", "inline-engine", "two-clusters"} <= set(PLATFORMS)
