"""Platforms and their plans: each directory has a ``platform.yaml`` and what must come of it in ``plan.txt``."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from firstlight.model.plan import Plan
from firstlight.plan import build
from tests.unit.plan import platforms

HERE = Path(__file__).parent
SCENARIOS = sorted(each.name for each in HERE.iterdir() if (each / "platform.yaml").is_file())


@pytest.mark.parametrize("name", SCENARIOS)
def test_plan(name: str) -> None:
    platform, renditions = platforms.load(HERE / name / "platform.yaml")
    expected = HERE / name / "plan.txt"

    printed = "\n".join(_printed(build.build(platform, platform.clusters[0], renditions=renditions))) + "\n"

    if os.environ.get("FIRSTLIGHT_RECORD"):  # read every line of it afterwards
        expected.write_text(printed)
    assert printed == expected.read_text()


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) > 20


def _printed(plan: Plan) -> Iterator[str]:
    yield "steps"
    for number, wave in enumerate(plan.waves(), 1):
        for step in wave:
            needs = ", ".join(f"{need.step} ({need.tie})" for need in step.needs)
            gates = ", ".join(str(gate.subject) for gate in step.gates)
            moved = "" if step.id.startswith(step.phase) else f" in {step.phase}"
            creates = "" if step.creates is None else f" [{len(step.creates)} objects]"
            yield f"  {number} {step.id}: {step.action}{moved}{creates}" + (f" ? {gates}" if gates else "")
            if needs:
                yield f"      ‹ {needs}"
    for step in plan.stuck():
        yield f"  never {step.id}"
    yield f"critical path: {' › '.join(step.id for step in plan.critical_path())}"
    least = plan.smallest
    for label, names in (
        ("smallest", least.needed),
        ("missing", least.missing),
        ("without need", least.spare),
        ("unknown", least.unknown),
    ):
        if names:
            yield f"{label}: {', '.join(names)}"
    for problem in plan.problems:
        yield f"{problem.severity} {problem.code}: {problem.message}"
        for link in problem.evidence:
            yield f"    {link.where}: {link.text}" + (f" ({link.place})" if link.place else "")
        yield f"    → {problem.fix}"
