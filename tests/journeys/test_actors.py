"""Actors and sources of a lab from nothing: asked for, missing, without rights, over a restart, and let go."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firstlight.clients import kube
from firstlight.lab import running_lab
from firstlight.lab.lab_status import PartStatus
from firstlight.tools import content, install
from tests.labs import NETWORK, manifests, until

NAME = "source-controller"


async def part(lab: running_lab.Lab, name: str = NAME) -> PartStatus | None:
    return next((each for each in (await lab.status()).parts if each.name == name), None)


async def comes(lab: running_lab.Lab, is_so: Callable[[PartStatus], bool], what: str) -> PartStatus:
    async def asked() -> PartStatus | None:
        found = await part(lab)
        return found if found is not None and is_so(found) else None

    return await until(asked, what)


async def _has_struck(lab: running_lab.Lab) -> bool:
    return any(each.hits for each in await lab.faults.active())


async def objects(*names: str) -> list[dict[str, Any]]:
    """What a file of Flux's manifests has of some kinds, but only what source-controller needs."""
    folder = (await content.ensure(["flux-manifests"]))["flux-manifests"]
    found = [each for each in manifests(folder / "install.yaml") if each and each["kind"] in names]
    return [each for each in found if names[0] != "ServiceAccount" or each["metadata"]["name"] == NAME]


@pytest.mark.long
async def test_an_actor_from_its_wish_to_its_end(
    fresh_lab: Callable[..., Awaitable[running_lab.Lab]],
    programs: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    program = (await install.ensure([NAME]))[NAME]
    given = tmp_path / NAME
    monkeypatch.setenv("FIRSTLIGHT_SOURCE_CONTROLLER", str(given))
    lab = await fresh_lab()
    assert await part(lab, "sources") is None

    wanted = msgspec.structs.replace(lab.settings(), actors=("flux",))
    await lab.up(programs, settings=wanted, owner=os.getpid())
    sources = await part(lab, "sources")
    assert sources is not None
    assert sources.state == "ready"
    made = await lab.sources().create_git("me/fleet")
    assert made.url.endswith("/git/me/fleet.git")

    async with kube.Client(kube.load(lab.kubeconfig)) as client:
        for obj in manifests(NETWORK):
            await client.apply(obj, manager="tests")
        for kind in ("Namespace", "ResourceQuota", "ServiceAccount"):
            for obj in await objects(kind):
                await client.apply(obj, manager="tests")
        (deployment,) = [each for each in await objects("Deployment") if each["metadata"]["name"] == NAME]
        await client.apply(deployment, manager="tests")

        # Nobody has installed it: that is said, and no reason not to be ready.
        waiting = await comes(lab, lambda each: "no such file" in each.detail, "what is not installed to be named")
        assert (waiting.state, waiting.pid) == ("waiting", 0)
        assert (await lab.status()).is_ready

        # It has neither the kinds nor the rights that it needs: it ends, and is started again.
        given.symlink_to(program)
        await comes(lab, lambda each: each.restarts > 0, "the program to fail")
        assert (await lab.status()).is_ready

        for kind in ("CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"):
            for obj in await objects(kind):
                await client.apply(obj, manager="tests")
        await comes(lab, lambda each: each.state == "ready", "the program to run")

    await lab.save("running")
    await lab.restore("running")
    await comes(lab, lambda each: each.state == "ready", "the program to run on the restored state")

    await lab.down(keep=True)
    through = msgspec.structs.replace(wanted, actors_meet_faults=True)
    await lab.up(programs, settings=through, owner=os.getpid())
    await comes(lab, lambda each: each.state == "ready", "the program to run after a restart of the lab")
    assert ":6444" in (lab.home.actor(NAME) / "kubeconfig").read_text()
    await lab.faults.add("status", code=503, match={"classes": ["watch"]})
    await lab.faults.cut_watches()
    await until(lambda: _has_struck(lab), "a fault that the program meets")
    await lab.faults.clear()
    assert [each.name for each in await lab.sources().list_git()] == ["me/fleet"]

    pid = (await comes(lab, lambda each: each.pid > 0, "its process")).pid
    await lab.up(programs, settings=msgspec.structs.replace(wanted, actors=()), owner=os.getpid())

    async def are_gone() -> bool:
        return await part(lab) is None and await part(lab, "sources") is None

    await until(are_gone, "actor and sources to end")
    assert not Path(f"/proc/{pid}").exists()
