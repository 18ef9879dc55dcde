"""What is looked at before an upgrade of the network plugin: tests/scenarios/cni-upgrade, many cases a file."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.commands.change.cni import cni_preflight
from firstlight.model.verdict import Passed, Verdict, Waiting

SCENARIOS = Path(__file__).parents[4] / "scenarios" / "cni-upgrade"
CASES = [each for file in sorted(SCENARIOS.glob("*.yaml")) for each in yaml.safe_load(file.read_text())]


def sight(given: dict[str, Any]) -> cni_preflight.CniSurvey:
    given = dict(given)
    health: Verdict | None = None
    for word, reason in (given.pop("health", None) or {}).items():
        health = {"passed": Passed, "waiting": Waiting}[word](reason)
    given["running"] = tuple(given.get("running", ()))
    given["kinds"] = {kind: tuple(names) for kind, names in given.get("kinds", {}).items()}
    return cni_preflight.CniSurvey(**given, health=health)


@pytest.mark.parametrize("case", CASES, ids=[each["name"] for each in CASES])
def test_preflight(case: dict[str, Any]) -> None:
    found = {each.id: each for each in cni_preflight.checks(sight(case["sight"]))}

    for id, wanted in case["expect"].items():
        assert found[id].state == wanted["state"], found[id]
        assert wanted.get("says", "") in found[id].says
        assert wanted.get("details", "") in "\n".join(found[id].details)
    assert not set(case.get("absent", ())) & set(found)
