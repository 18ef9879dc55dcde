"""What is printed for real changes can be typed: all commands are filled, and firstlight's own are understood."""

import re

import pytest

from tests import command_lines
from tests.scenarios.decide.changes.test_changes import CLASSES, answered

UNFILLED = re.compile(r"\{(--[a-z-]+ )?\w+\}")


@pytest.mark.parametrize("name", CLASSES)
def test_commands_can_be_typed(name: str) -> None:
    for case, decision in answered(name).values():
        lines = [each.command for each in (*decision.procedure, *decision.rollback) if each.command]

        assert [each for each in lines if UNFILLED.search(each)] == [], case.name
        for each in lines:
            if each.startswith("firstlight "):
                command_lines.understand(each)
