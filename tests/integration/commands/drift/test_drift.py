"""``drift`` on a real API server with real Flux: what is found, what is asked of the engine, and what comes of it."""

import asyncio
import contextlib
import dataclasses
import json
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.cli import main
from firstlight.clients import kube
from firstlight.commands.drift import drift, expected_state, print_drift
from firstlight.commands.drift import text as drift_text
from firstlight.commands.drift.applied_commit import CorrectionContext
from firstlight.commands.override import apply, begin, end, session
from firstlight.commands.override.git_agreement import RenderedGit
from firstlight.commands.override.session import lease_held
from firstlight.execute.lease import Lease
from firstlight.journal import state_files
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.drift import DriftKind
from firstlight.repo import platform_reader
from tests.flux import Flux
from tests.integration.commands.drift.drifting import (
    SETTINGS,
    correct,
    deployment,
    edit,
    means,
    repo,
    scene,
    told,
    uid_of,
    write,
)
from tests.integration.commands.override import overriding


async def test_drift_is_found_and_the_engine_puts_it_back(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    clean = await drift.look(one, flux.kube)
    assert told(clean) == []
    assert (clean.compared, clean.unread, clean.applied) == (2, (), ())

    await edit(flux, space, {"data": {"word": "hand", "more": "hand"}})
    await flux.kube.delete("apps/v1", "Deployment", "web", namespace=space)
    found = await drift.look(one, flux.kube)
    assert told(found) == [
        ("ConfigMap", DriftKind.CHANGED, ["data.word", "data.more"]),
        ("Deployment", DriftKind.MISSING, []),
    ]
    assert print_drift.exit_code(found) == 2

    said: list[str] = []
    after = await correct(one, flux.kube, found, said=said)
    assert told(after) == []
    assert said == [f"asked Kustomization {space}/apps to reconcile, and its source to look again"]
    assert await flux.config_map("settings", space) == {"word": "git"}
    assert (await drift.look(one, flux.kube)).drifted == ()


async def test_another_commit_is_no_drift(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    commit = await flux.commit(space, {"apps/settings.yaml": {**SETTINGS, "data": {"word": "newer"}}})
    await flux.reconcile("GitRepository", space, space)
    await flux.ready("Kustomization", "apps", space, revision=commit)

    found = await drift.look(one, flux.kube)
    assert found.applied == (f"main@{commit[:7]} (apps)",)
    assert print_drift.exit_code(found) == 1
    assert "may be no more than that" in drift_text.text(found)
    behind = Diagnostic.error("branch-behind", "the engine is ahead", fix="git pull")
    with pytest.raises(errors.Refused, match="the engine has applied") as refused:
        await correct(dataclasses.replace(one, problems=(behind,)), flux.kube, found, said=[], confirm=lambda _: True)
    assert refused.value.hint == "First git pull; then again."


async def test_an_override_that_was_cut_off_is_finished_before_the_engine_is_asked(
    flux: Flux, space: str, tmp_path: Path
) -> None:
    """Its owner rests, at the commit from before the fix: it could be asked for nothing, and not for this one."""
    await repo(flux, space, tmp_path)
    at = overriding.ground(flux.kube, tmp_path)
    async with lease_held(at):
        override = await begin.begin_override(overriding.wish(f"Kustomization {space}/apps"), at)
        override = await apply.apply_objects(override, [overriding.part(space, {"replicas": 3})], at)
    write(tmp_path, {"apps/web.yaml": deployment(3)})
    commit = await flux.commit(space, {"apps/web.yaml": deployment(3)})
    git = RenderedGit(wanted={overriding.web_id(space): overriding.placed(deployment(3), space)}, revision=commit)
    dying = overriding.ground(flux.kube, tmp_path, tell=overriding.killed_at("release"))
    with pytest.raises(overriding.Killed):
        async with lease_held(dying):
            await end.end_override(override, dying, git=git)
    await edit(flux, space, {"data": {"word": "hand"}})
    one = await expected_state.prepare(
        platform_reader.read(tmp_path), "", await means(tmp_path, commit), components=["apps"]
    )
    found = await drift.look(one, flux.kube)

    said: list[str] = []
    known = CorrectionContext(state=at.state, uid=await uid_of(flux.kube))
    after = await correct(one, flux.kube, found, said=said, ground=known)

    assert f"override {override.id} was cut off while it was ended: that goes on" in said
    assert all(each.is_over for each in await session.list_overrides(at))
    assert told(after) == []
    assert await flux.config_map("settings", space) == {"word": "git"}
    assert (await overriding.deployment(flux.kube, space))["spec"]["replicas"] == 3


async def test_only_the_cluster_that_is_meant_is_written_to(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    await edit(flux, space, {"data": {"word": "hand"}})
    found = await drift.look(one, flux.kube)
    uid = await uid_of(flux.kube)
    said: list[str] = []
    identity = tmp_path / ".firstlight" / "lab" / "identity.json"
    state_files.enter(identity)
    identity.write_text(json.dumps({"kubeSystem": "another"}))
    known = CorrectionContext(state=tmp_path / ".firstlight")
    with pytest.raises(errors.Refused, match=f"is not lab: its kube-system has the UID {uid}, and another is meant"):
        await correct(one, flux.kube, found, said=said, ground=known, agree=lambda _: True)
    identity.unlink()
    ground = CorrectionContext(state=tmp_path / ".firstlight", uid="typed")
    with pytest.raises(errors.Refused, match="and typed is meant"):
        await correct(one, flux.kube, found, said=said, ground=ground, agree=lambda _: True)

    asked: list[str] = []

    def agree(text: str) -> bool:
        asked.append(text)
        return len(asked) > 1

    with pytest.raises(errors.Refused, match="it is not known whether this is lab") as refused:
        await correct(one, flux.kube, found, said=said, ground=known, agree=agree, confirm=lambda _: True)
    assert f"--uid {uid}" in refused.value.hint
    assert uid in asked[0]
    assert flux.kube.config.server in asked[0]
    assert said == []
    assert await flux.config_map("settings", space) == {"word": "hand"}
    assert told(await correct(one, flux.kube, found, said=said, ground=known, agree=agree)) == []


async def test_what_is_in_no_commit_is_not_put_back(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    await edit(flux, space, {"data": {"word": "hand"}})
    found = await drift.look(one, flux.kube)
    said: list[str] = []
    dirty = Diagnostic.warning("uncommitted", "1 file is not as in the commit")
    with pytest.raises(errors.Refused, match="1 file is not as in the commit"):
        await correct(dataclasses.replace(one, problems=(dirty,)), flux.kube, found, said=said)
    assert print_drift.exit_code(found, is_committed=False) == 1
    with pytest.raises(errors.Refused, match="of no known commit"):
        await correct(dataclasses.replace(one, revision=""), flux.kube, found, said=said)
    elsewhere = dataclasses.replace(one.cluster, url="https://git.example.org/me/other")
    with pytest.raises(errors.Refused, match=f"which commit of this repo Kustomization {space}/apps has applied"):
        await correct(dataclasses.replace(one, cluster=elsewhere), flux.kube, found, said=said)
    # One that was rendered in part is asked for its commit all the same.
    part = dataclasses.replace(one, owners={}, revision="1" * 40)
    assert len((await drift.look(part, flux.kube)).applied) == 1
    assert said == []


async def test_one_run_at_a_time_corrects(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    await edit(flux, space, {"data": {"word": "hand"}})
    found = await drift.look(one, flux.kube)
    other = Lease(flux.kube, holder="ann@desk:another", tell=print)
    await other.claim()
    try:
        with pytest.raises(errors.Refused, match="another run works on this cluster: ann@desk:another"):
            await correct(one, flux.kube, found, said=[])
    finally:
        await other.release()
    assert await flux.config_map("settings", space) == {"word": "hand"}
    assert told(await correct(one, flux.kube, found, said=[])) == []
    with pytest.raises(kube.NotFound):
        await flux.kube.get("coordination.k8s.io/v1", "Lease", "firstlight", namespace="kube-system")


async def test_watching_tells_what_comes_and_goes(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    async with asyncio.timeout(60), contextlib.aclosing(drift.watch(one, flux.kube)) as looks:
        first = await anext(looks)
        assert told(first) == []
        await edit(flux, space, {"data": {"word": "hand"}})
        second = await anext(looks)
        assert told(second) == [("ConfigMap", DriftKind.CHANGED, ["data.word"])]
        await flux.reconcile("Kustomization", "apps", space)
        third = await anext(looks)
        assert told(third) == []
    assert drift_text.news(second, third) == [f"apps:\n  ✔ as Git has it   ConfigMap {space}/settings"]
    assert drift_text.news(first, second)[0] == "apps:"


async def test_the_command(flux: Flux, space: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await repo(flux, space, tmp_path)
    await edit(flux, space, {"data": {"word": "hand"}})
    given = ["drift", "lab", f"--repo={tmp_path}", f"--kubeconfig={flux.lab.kubeconfig}", "--offline",
             "--component=apps"]  # fmt: skip

    code = await asyncio.to_thread(main.run, given)
    text = capsys.readouterr().out
    assert code == 2
    assert f"ConfigMap {space}/settings   1 field changed by kubectl-edit" in text
    assert "firstlight drift lab --correct" in text

    code = await asyncio.to_thread(main.run, [*given, "--output=json"])
    data = json.loads(capsys.readouterr().out)
    assert code == 2
    assert data["drifted"][0]["fields"][0]["live"] == '"hand"'

    assert await asyncio.to_thread(main.run, [*given, "--component=nothing"]) == 64
    assert "there is no component nothing" in capsys.readouterr().err
    assert await asyncio.to_thread(main.run, [*given, "--as-owner"]) == 64
    assert await asyncio.to_thread(main.run, [*given, "--uid=x"]) == 64
    capsys.readouterr()

    # Nobody is there to ask, and --yes is no answer to which cluster it is.
    assert await asyncio.to_thread(main.run, [*given, "--correct", "--as-owner", "--yes"]) == 3
    uid = await uid_of(flux.kube)
    assert f"--uid {uid}" in capsys.readouterr().err
    assert await asyncio.to_thread(main.run, [*given, "--correct", f"--uid={uid}"]) == 3
    assert "of no known commit" in capsys.readouterr().err
    assert await flux.config_map("settings", space) == {"word": "hand"}
