"""Pods and storage of a node that is to be drained: each file has the objects, and what must be said of them.

``pods`` are those of the node, ``budgets`` those of the cluster, ``storage`` what tells where data is. ``fates`` maps a
pod to what becomes of it, ``held`` to what holds it, and ``concerns`` are those of storage, in their order.
"""

from pathlib import Path
from typing import Any

import pytest

from firstlight.commands.node import drain_rules, node_storage
from firstlight.commands.node.drain_rules import DrainOptions
from firstlight.commands.node.node_storage import NodeVolumes
from firstlight.document import yaml_reader

HERE = Path(__file__).parent
SCENARIOS = sorted(each.name for each in HERE.glob("*.yaml"))
NODE = "worker-1"


def case(name: str) -> dict[str, Any]:
    (document,) = yaml_reader.read((HERE / name).read_bytes(), name).documents
    assert isinstance(document.value, dict)
    return document.value


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str) -> None:
    given = case(name)
    wishes = DrainOptions(**given.get("wishes") or {})
    pods, budgets = given.get("pods") or [], given.get("budgets") or []

    fates = {str(each): f"{each.fate}: {each.why}".rstrip(": ") for each in drain_rules.fates(pods, wishes)}
    held = {
        each["metadata"]["name"]: drain_rules.held_reason(each, budgets, said=given.get("said", "")) for each in pods
    }
    stuck = [each["metadata"]["name"] for each in pods if drain_rules.is_stuck(each, budgets)]
    storage = NodeVolumes(**given.get("storage") or {})
    concerns = [f"{each.severity} {each.code}: {each.message}" for each in node_storage.concerns(NODE, storage)]

    assert fates == (given.get("fates") or {})
    assert {each: held[each] for each in given.get("held") or {}} == (given.get("held") or {})
    assert stuck == (given.get("stuck") or [])
    assert concerns == (given.get("concerns") or [])


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 8
