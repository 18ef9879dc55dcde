"""Questions watched on a real API server: changes, cuts, kinds that come later, and time that runs out."""

import asyncio
import contextlib
import dataclasses
import functools
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from firstlight.clients import kube as clients_kube
from firstlight.gates.gate_parts import GateQuestion
from firstlight.lab import faults
from firstlight.lab.running_lab import Lab
from firstlight.model.observation import Ask, AskRequest, AskResponse, GateView, WatchTarget
from firstlight.model.plan import Gate, Subject
from firstlight.model.secret import Secret
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.observe.gate_watch import PATIENCE, QUIET, Watching
from tests.labs import until

FAULTS: tuple[faults.FaultKind, ...] = ("watch-cut", "watch-gone", "reset-before", "status", "truncate", "tls-close")
Judge = Callable[[GateView], Verdict]


@pytest.fixture
async def watching(kube: clients_kube.Client) -> AsyncIterator[Watching]:
    async with Watching(kube) as one:
        yield one


@pytest.fixture
async def unhurried(kube: clients_kube.Client) -> AsyncIterator[Watching]:
    """One for which no time passes, so that nothing is listed again only because it was silent."""
    async with Watching(kube, clock=lambda: 0.0) as one:
        yield one


def question(
    judge: Judge, *looks: WatchTarget, asks: tuple[AskRequest, ...] = (), timeout: float = 30.0
) -> GateQuestion:
    return GateQuestion(gate=Gate(Subject.API), name="test", looks=looks, asks=asks, judge=judge, timeout=timeout)


def maps(namespace: str, name: str = "") -> WatchTarget:
    return WatchTarget(api_version="v1", kind="ConfigMap", namespace=namespace, name=name)


def config_map(namespace: str, name: str = "a", **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def number(look: WatchTarget) -> Callable[[GateView], int]:
    """The number that the object of a look holds; -1 without one."""

    def read(view: GateView) -> int:
        found = view.one(look)
        return -1 if found is None else int(found["data"]["n"])

    return read


def reaches(look: WatchTarget, wanted: int) -> Judge:
    read = number(look)
    return lambda view: Passed(str(read(view))) if read(view) >= wanted else Waiting(f"at {read(view)}")


async def test_every_change_is_judged_until_the_verdict_no_longer_waits(
    kube: clients_kube.Client, watching: Watching, namespace: str
) -> None:
    look = maps(namespace, "a")
    said: list[Verdict] = []
    waiting = asyncio.create_task(watching.wait(question(reaches(look, 3), look), on_verdict=said.append))

    for n in range(4):
        await until(functools.partial(_is, said, Waiting(f"at {n - 1}")), f"the verdict on {n - 1}")
        await kube.apply(config_map(namespace, n=str(n)), manager="tests")

    assert await waiting == Passed("3")
    assert said == [Waiting("at -1"), Waiting("at 0"), Waiting("at 1"), Waiting("at 2"), Passed("3")]


async def test_a_question_is_never_answered_with_what_was_seen_before_it_was_asked(
    kube: clients_kube.Client, watching: Watching, namespace: str
) -> None:
    look = maps(namespace, "a")
    read = number(look)
    await kube.apply(config_map(namespace, n="0"), manager="tests")
    never = asyncio.create_task(watching.wait(question(lambda _: Waiting("for ever"), look), on_verdict=lambda _: None))

    for n in range(1, 31):
        await kube.apply(config_map(namespace, n=str(n)), manager="tests")
        both = await asyncio.gather(
            *(
                watching.wait(question(lambda view: Passed(str(read(view))), look), on_verdict=lambda _: None)
                for _ in range(2)
            )
        )
        assert both == [Passed(str(n)), Passed(str(n))]
    assert list(watching.watched) == [look]

    never.cancel()
    await asyncio.gather(never, return_exceptions=True)
    assert list(watching.watched) == []


async def test_a_watch_ends_with_the_last_who_looks(faulty: clients_kube.Client, lab: Lab, namespace: str) -> None:
    async with Watching(faulty) as watching:
        look = maps(namespace)
        await watching.wait(question(lambda _: Passed(), look), on_verdict=lambda _: None)

        assert watching.watched == ()

        async def ended() -> bool:
            # The proxy tells of a watch when it is over.
            return any(each.class_ == "watch" and namespace in each.path for each in await lab.faults.requests())

        await until(ended, "the end of the watch")


async def test_cuts_gone_places_and_errors_are_survived(faulty: clients_kube.Client, lab: Lab, namespace: str) -> None:
    look = maps(namespace, "a")
    said: list[Verdict] = []
    hasty = clients_kube.RetryPolicy(longest_delay=0.2)
    async with (
        clients_kube.Client(faulty.config, policy=hasty) as client,
        Watching(client, clock=lambda: 0.0) as watching,
    ):
        waiting = asyncio.create_task(watching.wait(question(reaches(look, 6), look), on_verdict=said.append))
        await until(lambda: _is(said, Waiting("at -1")), "the first verdict")

        for n, fault in enumerate(FAULTS):
            more = {"code": 503} if fault == "status" else {}
            rule = await lab.faults.add(fault, match={"classes": ["watch"]}, times=2, **more)
            await lab.faults.cut_watches()
            await faulty.apply(config_map(namespace, n=str(n)), manager="tests")
            await until(functools.partial(_is, said, Waiting(f"at {n}")), f"{n} to be seen in spite of {fault}")
            await lab.faults.clear(rule)
        await faulty.apply(config_map(namespace, n="6"), manager="tests")

        assert await waiting == Passed("6")


async def test_credentials_that_are_refused_for_a_while_are_no_end(
    faulty: clients_kube.Client, lab: Lab, namespace: str
) -> None:
    look = maps(namespace, "a")
    said: list[Verdict] = []
    await faulty.apply(config_map(namespace, n="1"), manager="tests")
    await lab.faults.add("status", match={"classes": ["list"]}, code=401, times=3)

    async with Watching(faulty) as watching:
        verdict = await watching.wait(question(reaches(look, 1), look), on_verdict=said.append)

    assert verdict == Passed("1")
    assert "nothing can be seen of ConfigMap a" in getattr(said[0], "reason", "")


async def test_a_server_that_does_not_answer_is_said_to(faulty: clients_kube.Client, lab: Lab, namespace: str) -> None:
    look = maps(namespace, "a")
    await lab.faults.add("status", match={"classes": ["list"]}, code=403)

    async with Watching(faulty) as watching:
        verdict = await watching.wait(question(reaches(look, 1), look, timeout=0.5), on_verdict=lambda _: None)

    assert isinstance(verdict, Waiting)
    assert "nothing can be seen of ConfigMap a: list ConfigMap" in verdict.reason
    assert "403" in verdict.reason


async def test_what_was_seen_before_a_silence_is_said_to_be_old(
    faulty: clients_kube.Client, lab: Lab, namespace: str
) -> None:
    look = maps(namespace, "a")
    moment = [0.0]
    said: list[Verdict] = []
    async with Watching(faulty, clock=lambda: moment[0], longest=0.05) as watching:
        waiting = asyncio.create_task(watching.wait(question(reaches(look, 1), look), on_verdict=said.append))
        await until(lambda: _is(said, Waiting("at -1")), "the first look")
        await lab.faults.add("status", match={"classes": ["list"]}, code=403)

        moment[0] = QUIET + 1
        await until(lambda: _has_struck(lab), "another listing after the silence")
        moment[0] += PATIENCE + 1
        await until(lambda: _says(said, "at -1 (as last seen: list ConfigMap"), "what was seen to be called old")
        await lab.faults.clear()
        await faulty.apply(config_map(namespace, n="1"), manager="tests")

        assert await waiting == Passed("1")


async def test_a_kind_that_comes_later_and_goes_again(
    kube: clients_kube.Client, unhurried: Watching, namespace: str
) -> None:
    group = f"{namespace}.example.org"
    look = WatchTarget(api_version=f"{group}/v1", kind="Widget", namespace=namespace)
    asked = AskRequest(Ask.SERVED, f"{group}/v1/Widget")

    def judge(view: GateView) -> Verdict:
        if look in view.unserved:
            return Waiting("not served")
        return Passed(view.answers[asked].said) if view.all(look) else Waiting("none")

    said: list[Verdict] = []
    waiting = asyncio.create_task(unhurried.wait(question(judge, look, asks=(asked,)), on_verdict=said.append))
    await until(lambda: _is(said, Waiting("not served")), "the kind to be missed")
    await kube.apply(definition(group), manager="tests")
    await until(lambda: _is(said, Waiting("none")), "the kind to be found")
    await kube.apply(
        {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "a", "namespace": namespace}},
        manager="tests",
    )

    assert await waiting == Passed(f"Widget is served in {group}/v1")
    assert unhurried.watched == ()

    gone: list[Verdict] = []

    def is_unserved(view: GateView) -> Verdict:
        return Passed("gone") if look in view.unserved else Waiting("served")

    waiting = asyncio.create_task(unhurried.wait(question(is_unserved, look), on_verdict=gone.append))
    await until(lambda: _is(gone, Waiting("served")), "the watch")
    await kube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"widgets.{group}")

    assert await waiting == Passed("gone")


async def test_when_time_is_over_the_last_verdict_is_the_answer(watching: Watching, namespace: str) -> None:
    look = maps(namespace, "a")
    said: list[Verdict] = []

    verdict = await watching.wait(question(reaches(look, 1), look, timeout=0.3), on_verdict=said.append)

    assert verdict == Waiting("at -1")
    assert said == [verdict]
    assert watching.watched == ()


async def test_time_alone_can_change_a_verdict(kube: clients_kube.Client, namespace: str) -> None:
    clock = iter(range(100))
    async with Watching(kube, now=lambda: float(next(clock)), longest=0.02) as watching:
        verdict = await watching.wait(
            question(lambda view: Passed(str(view.now)) if view.now >= 3 else Waiting("too early"), maps(namespace)),
            on_verdict=lambda _: None,
        )

    assert verdict == Passed("3.0")


async def test_one_look_without_waiting(kube: clients_kube.Client, watching: Watching, namespace: str) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": namespace}}
    await kube.apply({**secret, "stringData": {"password": "swordfish"}}, manager="tests")
    await kube.apply(config_map(namespace, n="1"), manager="tests")
    hidden = WatchTarget(api_version="v1", kind="Secret", namespace=namespace, name="s", with_content=False)
    absent = WatchTarget(api_version="example.org/v1", kind="Nothing")
    ready = AskRequest(Ask.READYZ, "")

    view = await watching.view([maps(namespace, "a"), maps(namespace, "b"), hidden, absent], [ready])

    assert number(maps(namespace, "a"))(view) == 1
    assert view.one(maps(namespace, "b")) is None
    found = view.one(hidden)
    assert found is not None
    assert set(found) == {"apiVersion", "kind", "metadata"}
    assert "swordfish" not in str(found)
    assert view.unserved == {absent}
    assert view.answers == {ready: AskResponse(True, "ready")}


async def test_secrets_are_watched_by_their_metadata(
    faulty: clients_kube.Client, kube: clients_kube.Client, lab: Lab, namespace: str
) -> None:
    hidden = WatchTarget(api_version="v1", kind="Secret", namespace=namespace, name="s", with_content=False)
    said: list[Verdict] = []

    def judge(view: GateView) -> Verdict:
        found = view.one(hidden)
        return Waiting("absent") if found is None else Passed(",".join(found))

    async with Watching(faulty) as watching:
        waiting = asyncio.create_task(watching.wait(question(judge, hidden), on_verdict=said.append))
        await until(lambda: _is(said, Waiting("absent")), "the first look")
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": namespace}}
        await kube.apply({**secret, "stringData": {"password": "swordfish"}}, manager="tests")

        assert await waiting == Passed("apiVersion,kind,metadata")


async def test_dry_runs_are_answered_with_what_the_server_says(watching: Watching, namespace: str) -> None:
    fine = AskRequest(Ask.DRY_RUN, "a", config_map(namespace, n="1"))
    unnamed = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-", "namespace": namespace}}
    generated = AskRequest(Ask.DRY_RUN, "a-", unnamed)
    wrong = AskRequest(Ask.DRY_RUN, "Not_A_Name", config_map(namespace, "Not_A_Name"))
    unknown = AskRequest(
        Ask.DRY_RUN, "x", {"apiVersion": "example.org/v1", "kind": "Nothing", "metadata": {"name": "x"}}
    )

    answers = (await watching.view([maps(namespace)], [fine, generated, wrong, unknown])).answers

    assert answers[fine] == answers[generated] == AskResponse(True, "the server would take it")
    assert not answers[wrong].is_yes
    assert "Invalid value" in answers[wrong].said
    assert not answers[unknown].is_yes
    view = await watching.view([maps(namespace)])
    made = {each["metadata"]["name"] for each in view.all(maps(namespace))}
    assert made <= {"kube-root-ca.crt"}, "a dry run has written something"


async def test_what_a_server_says_of_a_secret_is_not_repeated(watching: Watching, namespace: str) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": namespace}}
    asked = AskRequest(Ask.DRY_RUN, "s", {**secret, "data": {"key": "swordfish!"}})

    answer = (await watching.view([], [asked])).answers[asked]

    assert not answer.is_yes
    assert "swordfish" not in answer.said


async def test_a_closed_connection_to_a_stranger_is_an_answer_too(kube: clients_kube.Client) -> None:
    elsewhere = dataclasses.replace(kube.config, server="https://127.0.0.1:9", token=Secret("x"))
    async with clients_kube.Client(elsewhere) as client, Watching(client) as watching:
        with contextlib.suppress(clients_kube.ApiError):
            answer = (await watching.view([], [AskRequest(Ask.READYZ, "")])).answers[AskRequest(Ask.READYZ, "")]

    assert not answer.is_yes
    assert "127.0.0.1:9" in answer.said


def definition(group: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


async def _is(said: list[Verdict], wanted: Verdict) -> bool:
    return said[-1:] == [wanted]


async def _says(said: list[Verdict], start: str) -> bool:
    return said[-1].reason.startswith(start)


async def _has_struck(lab: Lab) -> bool:
    return any(each.hits for each in await lab.faults.active())
