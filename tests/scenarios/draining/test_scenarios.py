"""Pods and storage of a node that is to be drained: each file has the objects, and what must be said of them.

``pods`` are those of the node, ``budgets`` those of the cluster, ``storage`` what tells where data is. ``fates`` maps a
pod to what becomes of it, ``held`` to what holds it, and ``concerns`` are those of storage, in their order.
"""

from pathlib import Path
from typing import Any

import pytest

from firstlight.document import reading
from firstlight.gates import draining, node_storage
from firstlight.gates.node_storage import Stored
from firstlight.model.draining import Drain

HERE = Path(__file__).parent
SCENARIOS = sorted(each.name for each in HERE.glob("*.yaml"))
NODE = "worker-1"


def case(name: str) -> dict[str, Any]:
    (document,) = reading.read((HERE / name).read_bytes(), name).documents
    assert isinstance(document.value, dict)
    return document.value


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str) -> None:
    given = case(name)
    wishes = Drain(**given.get("wishes") or {})
    pods, budgets = given.get("pods") or [], given.get("budgets") or []

    fates = {str(each): f"{each.fate}: {each.why}".rstrip(": ") for each in draining.fates(pods, wishes)}
    held = {each["metadata"]["name"]: draining.held(each, budgets, said=given.get("said", "")) for each in pods}
    stuck = [each["metadata"]["name"] for each in pods if draining.is_stuck(each, budgets)]
    storage = Stored(**given.get("storage") or {})
    concerns = [f"{each.weight}: {each.text}" for each in node_storage.concerns(NODE, storage)]

    assert fates == (given.get("fates") or {})
    assert {each: held[each] for each in given.get("held") or {}} == (given.get("held") or {})
    assert stuck == (given.get("stuck") or [])
    assert concerns == (given.get("concerns") or [])


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 8
