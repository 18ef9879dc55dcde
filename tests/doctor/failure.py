"""One failure: how it is made and undone, and the cause that must be named."""

import contextlib
import dataclasses
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

import pytest

from firstlight.clients import kube
from firstlight.commands.doctor import diagnosis_scope, examine
from firstlight.commands.doctor.examine import DeclaredCluster, DoctorAccess, Examination
from firstlight.commands.doctor.symptoms import Diagnosis
from firstlight.model.cluster import Cluster
from firstlight.model.place import Place

G = TypeVar("G")
Make = Callable[[G], AsyncIterator["Expected"]]
TABLE = "FIRSTLIGHT_DOCTOR_TABLE"
"""The variable that names the file to which results go, for the table in the docs."""

PATIENCE = 40.0
"""Seconds in which a failure must show."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Expected:
    """What must be named as the cause."""

    code: str
    subject: str
    asked: str = ""
    """The namespace or object that the doctor is asked about; empty for the whole cluster."""
    later: float = 0.0
    """By how many seconds the doctor's clock is ahead: for what is only wrong if it lasts."""
    ways: DoctorAccess | None = None
    """How the cluster is reached, if not as usual."""
    known: DeclaredCluster | None = None
    """What the repo says, if something."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Failure(Generic[G]):
    """Something that can be broken."""

    id: str
    what: str
    how: str
    """How it is made, in words."""
    make: Callable[[G], AbstractAsyncContextManager[Expected]]
    simulated: str = ""
    """What of it is only pretended."""
    is_sample: bool = False
    """Whether it is made in every run of the tests."""


class Registry(Generic[G]):
    """The failures of one kind of lab, by id."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.failures: dict[str, Failure[G]] = {}

    def failure(
        self, id: str, what: str, *, how: str, simulated: str = "", sample: bool = False
    ) -> Callable[[Make[G]], Make[G]]:
        """Adds a failure: the function makes it, yields what must be named, and undoes it."""

        def add(make: Make[G]) -> Make[G]:
            assert id not in self.failures
            self.failures[id] = Failure(
                id=id, what=what, how=how, make=contextlib.asynccontextmanager(make), simulated=simulated,
                is_sample=sample,
            )  # fmt: skip
            return make

        return add


def cells(registry: Registry[Any]) -> list[Any]:
    """A parameter for each failure; those that are no samples take their time, and run with everything."""
    marks = {True: (), False: (pytest.mark.long,)}
    return [pytest.param(each.id, marks=marks[each.is_sample], id=each.id) for each in registry.failures.values()]


NOBODY = DeclaredCluster(cluster=Cluster(name="lab", place=Place("tests")))


Look = Callable[[Expected], Awaitable[Examination]]


def through(client: kube.Client, known: DeclaredCluster = NOBODY) -> Look:
    """Looks by the API alone; what is unfinished counts as wrong at once, since nobody waits a minute here."""
    return lambda expected: examine.examine(
        expected.known or known, expected.ways or DoctorAccess(client=client), patience=0.0,
        now=lambda: time.time() + expected.later,
    )  # fmt: skip


async def named(failure: Failure[Any], expected: Expected, look: Look) -> Diagnosis:
    """Ask until the first cause is the one that was made; the diagnosis."""
    deadline = time.monotonic() + PATIENCE
    while True:
        whole = await look(expected)
        found = whole.diagnosis
        if expected.asked:
            scope = diagnosis_scope.scope(expected.asked, whole.scene, found)
            assert scope is not None, f"nothing is called {expected.asked}"
            found = diagnosis_scope.narrow(found, scope)
        if found.causes and (found.causes[0].symptom.code, found.causes[0].symptom.subject) == (
            expected.code,
            expected.subject,
        ):
            _note(failure, found)
            return found
        if time.monotonic() > deadline:
            told = [
                f"{each.symptom.key} (+{len(each.effects)}): {each.symptom.message}; {each.symptom.evidence}"
                for each in found.causes
            ]
            raise AssertionError(f"{expected.code} {expected.subject} is not the first cause of {told}")


def _note(failure: Failure[Any], found: Diagnosis) -> None:
    top = found.causes[0]
    assert top.symptom.evidence, "a cause without evidence"
    assert top.symptom.next, "a cause without a next command"
    if path := os.environ.get(TABLE):
        row = {"id": failure.id, "says": top.symptom.message, "code": top.symptom.code, "seconds": found.seconds,
               "explains": len(top.effects)}  # fmt: skip
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
