"""Hooks in a plan: at the step that installs their component, and shown; nothing of them runs."""

from pathlib import Path

from firstlight.commands.plan import plan as plan_plan
from firstlight.commands.plan import text
from firstlight.plan import build
from firstlight.repo import platform_reader

DECLARED = """\
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: home}
clusters: {home: {}}
components:
  db: {hooks: [{run: [touch, ran], unless: [touch, asked], timeout: 5}]}
"""


def test_the_step_of_bootstrap_has_the_hooks_and_the_plan_says_so(tmp_path: Path) -> None:
    (tmp_path / "helmfile.yaml").write_text("releases:\n  - {name: db, namespace: data, chart: charts/db}\n")
    (tmp_path / "firstlight.yaml").write_text(DECLARED)
    platform = platform_reader.read(tmp_path)

    plan = build.build(platform, platform.clusters[0])

    assert [each.id for each in plan.steps if each.hooks] == ["core/db"]
    (line,) = [each for each in text.text(plan, columns=200).splitlines() if "then 1 hook" in each]
    assert " db " in line
    (data,) = [each["hooks"] for each in plan_plan.data(plan)["steps"] if each["id"] == "core/db"]
    place = {"path": "firstlight.yaml", "line": 6, "column": 16}
    assert data == [{"run": ("touch", "ran"), "unless": ("touch", "asked"), "timeout": 5.0, "place": place}]
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "asked").exists()
