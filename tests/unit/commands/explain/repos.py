"""Repos that explanations are tried on."""

import functools
from pathlib import Path

from firstlight.commands.decide import rule_files
from firstlight.commands.explain.explanation import ExplainInput
from firstlight.repo import platform_reader

ROOT = Path(__file__).parents[4]
EXAMPLES = sorted(each.parent for each in (ROOT / "examples").glob("*/firstlight.yaml"))
SCENARIOS = sorted((ROOT / "tests/scenarios/platform").glob("*/repo"))
HOME = ROOT / "examples/home"
EDGE = ROOT / "examples/inline-engine"
FLEET = ROOT / "tests/scenarios/platform/two-clusters/repo"
CHANGED = ROOT / "tests/scenarios/decide/changes/repos/fleet"
SCRIPTED = ROOT / "tests/scenarios/platform/taskfile/repo"


@functools.cache
def scene(root: Path) -> ExplainInput:
    """A repo, read once, with our rules."""
    return ExplainInput(platform_reader.read(root), rule_files.book())
