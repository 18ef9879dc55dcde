"""The right to write, on a real API server: taken late, renewed, handed on, and noticed when it is lost."""

import asyncio
import os
from typing import Any

import pytest

from firstlight import errors
from firstlight.clients.kube import Client, NotFound
from firstlight.execute import lease
from tests.labs import until

API = "coordination.k8s.io/v1"


def claimed(client: Client, who: str, told: list[str] | None = None) -> lease.Lease:
    return lease.Lease(client, holder=who, tell=(told if told is not None else []).append)


async def there(client: Client) -> dict[str, Any] | None:
    try:
        return dict(await client.get(API, "Lease", lease.NAME, namespace=lease.NAMESPACE))
    except NotFound:
        return None


async def test_nothing_is_written_before_it_is_claimed_and_nothing_is_left_after_it_is_released(kube: Client) -> None:
    one = claimed(kube, "ann@desk:1:run-a")
    assert await there(kube) is None

    await one.claim()
    found = await there(kube)
    await one.release()

    assert found is not None
    assert found["spec"]["holderIdentity"] == "ann@desk:1:run-a"
    assert await there(kube) is None


async def test_a_second_run_says_who_holds_it(kube: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "RENEW", 0.1)
    one = claimed(kube, "ann@desk:1:run-a")
    await one.claim()
    told: list[str] = []
    try:
        with pytest.raises(errors.Refused, match=r"ann@desk:1:run-a, since 20"):
            await claimed(kube, "bob@desk:2:run-b", told).claim()
        assert "ann@desk:1:run-a still lives" in told[0]
    finally:
        await one.release()


async def test_one_that_is_not_renewed_is_taken_over_and_its_holder_writes_no_more(
    kube: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "SECONDS", 1)
    one = claimed(kube, "ann@desk:1:run-a")
    await one.claim()
    other = claimed(kube, "bob@desk:2:run-b")

    await asyncio.wait_for(other.claim(), 10)

    with pytest.raises(errors.Refused, match="bob@desk:2:run-b has taken this cluster over"):
        await one.claim()
    await other.release()
    await one.release()
    assert await there(kube) is None


async def test_a_process_of_this_computer_that_is_gone_is_not_waited_for(kube: Client) -> None:
    dead = await asyncio.create_subprocess_exec("true")
    await dead.wait()
    gone = lease.holder_name("run-a").replace(f":{os.getpid()}:", f":{dead.pid}:")
    first = claimed(kube, gone)
    await first.claim()
    other = claimed(kube, lease.holder_name("run-b"))

    # The lease lasts 15 seconds; a wait for it would be noticed here.
    await asyncio.wait_for(other.claim(), 5)
    found = await there(kube)

    await other.release()
    await first.release()
    assert found is not None
    assert found["spec"]["holderIdentity"] == lease.holder_name("run-b")


async def test_a_holder_keeps_the_time_at_which_it_began(kube: Client) -> None:
    one = claimed(kube, "ann@desk:1:run-a")
    await one.claim()
    before = await there(kube)
    await one.claim()
    after = await there(kube)
    await one.release()

    assert before is not None
    assert after is not None
    assert after["spec"]["acquireTime"] == before["spec"]["acquireTime"]
    assert after["spec"]["renewTime"] > before["spec"]["renewTime"]


async def test_somebody_who_touches_it_does_not_end_its_renewal(kube: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "RENEW", 0.1)
    one = claimed(kube, "ann@desk:1:run-a")
    await one.claim()
    patch = {"metadata": {"annotations": {"touched": "yes"}}}
    await kube.patch(API, "Lease", lease.NAME, patch, manager="somebody", namespace=lease.NAMESPACE)
    before = (await there(kube) or {})["spec"]["renewTime"]

    async def is_renewed() -> bool:
        return bool((await there(kube) or {})["spec"]["renewTime"] > before)

    await until(is_renewed, "the lease to be renewed")
    await one.release()
    assert await there(kube) is None


async def test_a_holder_learns_that_it_has_lost_it(kube: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "RENEW", 0.1)
    one = claimed(kube, "ann@desk:1:run-a")
    await one.claim()
    patch = {"spec": {"holderIdentity": "bob@desk:2:run-b"}}
    await kube.patch(API, "Lease", lease.NAME, patch, manager="somebody", namespace=lease.NAMESPACE)

    lost = await asyncio.wait_for(one.lost, 10)
    await one.release()

    assert "bob@desk:2:run-b has taken this cluster over" in lost.message
    assert await there(kube) is not None, "it is the other one's now"
    await kube.delete(API, "Lease", lease.NAME, namespace=lease.NAMESPACE)


def test_a_process_with_the_same_name_elsewhere_is_not_taken_for_dead() -> None:
    gone = lease.holder_name("run-a").split(":")

    assert not lease.is_holder_dead(":".join([gone[0], "999999", "00000000", gone[3]]))
    assert lease.is_holder_dead(":".join([gone[0], "999999", gone[2], gone[3]]))
