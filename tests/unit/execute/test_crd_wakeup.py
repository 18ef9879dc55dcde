"""CRDs stuck in Installing are woken once each, and only when nobody else will do it."""

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from firstlight import errors
from firstlight.clients import kube as clients_kube
from firstlight.clients.kube import ObjectListing, kube_errors
from firstlight.execute import crd_wakeup
from firstlight.execute.world import PendingChange, World
from firstlight.gates.gate_parts import GateQuestion
from firstlight.model.observation import GateView
from firstlight.model.verdict import Passed, Verdict
from tests.unit.gates.test_crds import crd

TARGET = kube_errors.ApiTarget(verb="patch", server="x")


class Over(Exception):
    """Everything that was to be seen was seen."""


@dataclasses.dataclass(frozen=True)
class Sight:
    """What is there at a moment."""

    at: float
    crds: Sequence[Any]
    api_server: str = "first"


def stuck(version: int = 1, uid: str = "one", **more: str) -> Any:
    return crd(uid=uid, resourceVersion=str(version), **more)


@dataclasses.dataclass
class Cluster:
    """Sights, one after the other; and what was written."""

    sights: list[Sight]
    trouble: errors.FirstlightError | None = None
    api_server: str = ""
    at: float = 0.0
    is_connected: bool = True
    patched: "list[tuple[float, str]]" = dataclasses.field(default_factory=list)
    written: list[str] = dataclasses.field(default_factory=list)
    told: list[str] = dataclasses.field(default_factory=list)

    @property
    def watching(self) -> "Cluster":
        return self

    @property
    def kube(self) -> "Cluster":
        return self

    async def wait(self, question: GateQuestion, *, on_verdict: Callable[[Verdict], None]) -> Verdict:
        while self.sights:
            sight = self.sights.pop(0)
            self.at, self.api_server = sight.at, sight.api_server
            verdict = question.judge(GateView(now=0.0, objects={question.looks[0]: tuple(sight.crds)}))
            if isinstance(verdict, Passed):
                return verdict
        raise Over

    async def list(self, api_version: str, kind: str, **_: str) -> ObjectListing:
        assert kind == "Lease"
        return ObjectListing(({"spec": {"holderIdentity": self.api_server}},), "1")

    async def patch(self, api_version: str, kind: str, name: str, body: Any, **how: str) -> None:
        assert (how["subresource"], how["form"]) == ("status", "json")
        if self.trouble is not None:
            raise self.trouble
        self.patched.append((self.at, name))

    async def write(self, change: PendingChange) -> None:
        await change.perform()
        self.written += change.writes

    async def run(self) -> None:
        async def sleep(seconds: float) -> None:
            await asyncio.sleep(0)

        waking = crd_wakeup.CrdWaking(
            cast(World, self), write=self.write, tell=self.told.append, clock=lambda: self.at, sleep=sleep
        )
        with pytest.raises(Over):
            await waking.watch()


async def test_one_that_stays_is_woken_and_told_of() -> None:
    cluster = Cluster([Sight(0, [stuck()]), Sight(9.9, [stuck()]), Sight(10, [stuck()]), Sight(11, [stuck(2)])])

    await cluster.run()

    assert cluster.patched == [(10, "widgets.example.org")]
    assert cluster.written == ["wake CRD widgets.example.org"]
    assert cluster.told == [
        "waking CRD widgets.example.org: in Installing for more than 10 s; "
        "the API server was restarted before it finished installing it"
    ]


async def test_one_that_changes_meanwhile_is_left_to_the_api_server() -> None:
    cluster = Cluster([Sight(at, [stuck(at // 8)]) for at in range(0, 40, 4)])

    await cluster.run()

    assert cluster.patched == []


async def test_one_that_is_not_stuck_is_left_alone() -> None:
    others = [crd("True", "InitialNamesAccepted", uid="a"), crd("False", "InvalidCABundle", uid="b")]
    cluster = Cluster([Sight(at, others) for at in range(0, 60, 5)])

    await cluster.run()

    assert (cluster.patched, cluster.told) == ([], [])


async def test_a_second_time_is_only_for_an_api_server_that_was_restarted() -> None:
    sights = [Sight(0, [stuck()]), Sight(10, [stuck()]), *(Sight(at, [stuck(2)]) for at in range(11, 200))]
    cluster = Cluster(sights)

    await cluster.run()

    assert [at for at, _ in cluster.patched] == [10]
    assert cluster.told[1:] == [
        "CRD widgets.example.org was woken, and the API server still does not establish it: see its log"
    ]


async def test_an_api_server_that_died_again_is_woken_again() -> None:
    sights = [Sight(0, [stuck()]), Sight(10, [stuck()]), *(Sight(at, [stuck(2)], "second") for at in range(11, 25))]
    cluster = Cluster(sights)

    await cluster.run()

    assert [at for at, _ in cluster.patched] == [10, 21]


async def test_another_crd_of_the_same_name_is_another_one() -> None:
    sights = [Sight(0, [stuck()]), Sight(10, [stuck()]), Sight(11, [stuck(5, "two")]), Sight(21, [stuck(5, "two")])]
    cluster = Cluster(sights)

    await cluster.run()

    assert [at for at, _ in cluster.patched] == [10, 21]


@pytest.mark.parametrize("trouble", [clients_kube.Invalid, clients_kube.Conflict, clients_kube.NotFound])
async def test_one_that_was_written_by_somebody_else_needs_no_word(trouble: type[clients_kube.ApiError]) -> None:
    error = trouble(TARGET, code=422, reason="Invalid", detail="the server rejected our request")
    cluster = Cluster([Sight(0, [stuck()]), Sight(10, [stuck()]), Sight(11, [])], trouble=error)

    await cluster.run()

    assert cluster.written == []
    assert len(cluster.told) == 1


async def test_one_that_must_not_be_written_is_tried_once_and_told_of() -> None:
    error = clients_kube.Forbidden(TARGET, code=403, reason="Forbidden", detail="no")
    cluster = Cluster([Sight(at, [stuck()]) for at in range(0, 100, 10)], trouble=error)

    await cluster.run()

    assert cluster.written == []
    assert cluster.told[1] == "CRD widgets.example.org could not be woken: no"
    assert len([each for each in cluster.told if each.startswith("waking")]) == 1


async def test_a_run_that_must_not_write_says_so_and_wakes_nothing_more(tmp_path: Path) -> None:
    cluster = Cluster([Sight(0, [stuck()]), Sight(10, [stuck()]), Sight(30, [stuck()])])

    async def write(change: PendingChange) -> None:
        raise errors.Refused("another run works on this cluster")

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(0)

    waking = crd_wakeup.CrdWaking(
        cast(World, cluster), write=write, tell=cluster.told.append, clock=lambda: cluster.at, sleep=sleep
    )
    await waking.watch()

    assert cluster.patched == []
    assert cluster.told[-1] == "CRDs stuck in Installing are not woken: another run works on this cluster"
