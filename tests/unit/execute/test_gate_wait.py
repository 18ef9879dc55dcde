"""The gates of a step: what stops one of them stops the step, by itself."""

import asyncio
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.execute import gate_wait
from firstlight.execute.world import RunPrograms, World
from firstlight.gates.gate_parts import GateContext
from firstlight.model import work
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.place import Place
from firstlight.model.plan import Action, Gate, Step, Subject
from firstlight.model.secret import Secret
from firstlight.model.verdict import Passed, Skipped, Verdict

CLUSTER = Cluster(name="home", place=Place("firstlight.yaml", 1))


async def no_secret(reference: str) -> Secret:
    raise AssertionError("nothing asks for secrets here")


async def test_an_error_of_one_gate_ends_the_others_and_comes_out_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []

    async def wait(subject: Subject, *_: object, **__: object) -> Verdict:
        if subject is Subject.ETCD:
            raise errors.Refused("another cluster")
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(str(subject))
        raise AssertionError("it was not ended")

    monkeypatch.setattr(gate_wait, "wait_for_machines", wait)
    gates = (Gate(Subject.MACHINES), Gate(Subject.ETCD))
    step = Step(id="a", phase=Phase.MACHINE, action=Action.CONFIGURE, name="a", gates=gates)
    world = World(cluster=CLUSTER, programs=RunPrograms(), resolve=no_secret, state=Path("/nowhere"))
    ground = GateContext(cluster=CLUSTER, revision="", objects={})

    with pytest.raises(errors.Refused, match="another cluster"):
        await gate_wait.wait_for_gates(step, work.Watch(), world, ground=ground, on_verdict=lambda gate, verdict: None)

    assert ended == ["machines"]


def test_what_gates_say_one_by_one_is_not_said_again_as_a_list() -> None:
    each = [(Passed(f"{name} 1/1"), "") for name in "abcde"]
    engine = (Passed("a 1/1, b 1/1, c 1/1, d 1/1 and 1 more"), "")
    other = (Passed("a 1/1, FluxInstance flux is ready"), "")

    assert gate_wait.joint_verdict([*each, engine]) == (Passed("a 1/1, b 1/1, c 1/1, d 1/1, e 1/1"), "")
    assert gate_wait.joint_verdict([engine]) == (engine[0], "")
    assert "FluxInstance flux is ready" in gate_wait.joint_verdict([*each, other])[0].reason


async def test_a_step_that_only_watches_and_has_nothing_to_watch_for_was_skipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """``up --only`` before a handover: nothing was adopted, and nothing says that it was."""

    async def one(*_: object) -> tuple[Verdict, str]:
        return Skipped("brought after the handover"), ""

    monkeypatch.setattr(gate_wait, "_one", one)
    step = Step(id="a", phase=Phase.HANDOVER, action=Action.WATCH_ADOPTION, name="a", gates=(Gate(Subject.ADOPTION),))
    world = World(cluster=CLUSTER, programs=RunPrograms(), resolve=no_secret, state=Path("/nowhere"))
    ground = GateContext(cluster=CLUSTER, revision="", objects={})

    async def waited(task: work.Task) -> Verdict:
        found, _ = await gate_wait.wait_for_gates(
            step, task, world, ground=ground, on_verdict=lambda gate, verdict: None
        )
        return found

    assert await waited(work.Watch()) == Skipped("brought after the handover")
    assert await waited(work.Apply(objects=(), manager="tests")) == Passed("")
