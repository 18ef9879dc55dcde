"""Expressions in CEL, the language of Kubernetes' own rules; the library for it is an optional extra."""

import importlib
from collections.abc import Mapping
from typing import Any

from firstlight.gates import status
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting

_MISSING = "install firstlight with it: pip install 'firstlight[cel]'"


def judged(expression: str, found: Mapping[str, Any], name: str, *, is_secret: bool = False) -> Verdict:
    """The verdict of an expression over an object; of a Secret nothing is told that the library says."""
    try:
        celpy = importlib.import_module("celpy")  # no stubs, and mostly not there
    except ImportError:
        return Failed(f"{name}: gates in CEL need the library cel-python, which is not there: {_MISSING}")
    try:
        environment = celpy.Environment()
        program = environment.program(environment.compile(expression))
    except Exception as error:  # noqa: BLE001  # the library raises errors of its parser's as well
        return Failed(f"{name}: {status.said(expression)} is no CEL: {status.said(str(error))}")
    try:
        answer = program.evaluate({"object": celpy.json_to_cel(dict(found))})
    except Exception as error:  # noqa: BLE001  # a field that is not there yet is an error in CEL
        # Errors of operators show what they were given.
        why = "" if is_secret else f": {status.said(str(error))}"
        return Waiting(f"{name}: {status.said(expression)} has no answer yet{why}")
    if bool(answer) is True:
        return Passed(f"{name}: {status.said(expression)}")
    return Waiting(f"{name}: {status.said(expression)} is not true yet")
