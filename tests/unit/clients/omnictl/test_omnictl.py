"""The ways into a cluster, as whom, and what never shows."""

import json
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import omnictl
from firstlight.clients.omnictl import Omnictl
from tests.unit.clients.recorder import Recorder

KEY = "eyJuYW1lIjoiZmlyc3RsaWdodCIsInBncF9rZXkiOiJoaWRkZW4ifQ=="
LOGIN = "Please visit this page to authenticate: https://omni.example.org/authenticate?flow=cli\n"


@pytest.fixture
def program(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "program", "omnictl")


async def test_a_person_gets_a_kubeconfig_that_signs_in(program: Recorder) -> None:
    program.says("apiVersion: v1\n")
    omni = Omnictl(program.path, environ={})

    found = await omni.kubeconfig("apps", service_account=omni.has_service_account)

    assert program.argv == ["kubeconfig", "--cluster=apps", "--merge=false", "--force", "/dev/stdout"]
    assert found.reveal() == b"apiVersion: v1\n"


async def test_a_service_account_gets_one_with_a_token_for_a_day(program: Recorder) -> None:
    program.says("apiVersion: v1\n")
    omni = Omnictl(program.path, environ={"OMNI_SERVICE_ACCOUNT_KEY": KEY})

    await omni.kubeconfig("apps", service_account=omni.has_service_account)

    assert program.argv[4:] == ["--service-account", "--user=firstlight", "--ttl=24h", "/dev/stdout"]


async def test_a_talosconfig_of_the_cluster(program: Recorder) -> None:
    program.says("context: apps\n")

    await Omnictl(program.path, environ={}).talosconfig("apps")

    assert program.argv == ["talosconfig", "--cluster=apps", "--merge=false", "--force", "/dev/stdout"]


async def test_nothing_printed_is_no_kubeconfig(program: Recorder) -> None:
    with pytest.raises(omnictl.OmniUnreadable):
        await Omnictl(program.path, environ={}).kubeconfig("apps")


async def test_the_id_of_a_cluster(program: Recorder) -> None:
    uuid = "0b7ffd3b-25ff-4f2c-9a0f-1c6b1d2e3f40"
    program.says(json.dumps({"metadata": {"id": "apps"}, "spec": {"uuid": uuid}}))

    assert await Omnictl(program.path, environ={}).cluster_id("apps") == uuid
    assert program.argv == ["get", "ClusterUUIDs.omni.sidero.dev", "apps", "--output=json"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"spec": {"uuid": 7}}', '{"spec": {"uuid": ""}}'])
async def test_what_is_no_id_is_not_taken_for_one(program: Recorder, text: str) -> None:
    program.says(text)

    with pytest.raises(omnictl.OmniUnreadable):
        await Omnictl(program.path, environ={}).cluster_id("apps")


@pytest.mark.parametrize("name", ["", "--help", "a b", "a/../b", "$(id)"])
async def test_a_strange_name_is_not_given_to_a_program(program: Recorder, name: str) -> None:
    omni = Omnictl(program.path, environ={})

    for call in (omni.kubeconfig(name), omni.talosconfig(name), omni.cluster_id(name)):
        with pytest.raises(errors.UsageError):
            await call
    assert program.calls == []


async def test_only_what_omnictl_needs_of_the_environment_is_passed_on(program: Recorder, tmp_path: Path) -> None:
    environ = {
        "HOME": str(tmp_path), "OMNI_ENDPOINT": "https://omni.example.org", "OMNI_SERVICE_ACCOUNT_KEY": KEY,
        "AWS_SECRET_ACCESS_KEY": "other", "BROWSER": "firefox", "PATH": "/bin",
    }  # fmt: skip
    program.says("x")

    await Omnictl(program.path, environ=environ).talosconfig("apps")

    env = program.calls[-1]["env"]
    assert not Path(env.pop("OMNICONFIG")).is_relative_to(Path.home())
    assert env == {
        "HOME": str(tmp_path), "OMNI_ENDPOINT": "https://omni.example.org", "OMNI_SERVICE_ACCOUNT_KEY": KEY,
        "BROWSER": "echo", "NO_COLOR": "1",
    }  # fmt: skip
    assert KEY not in program.calls[-1]["proc"][0]


async def test_a_persons_own_omniconfig_is_used_wherever_it_is(program: Recorder, tmp_path: Path) -> None:
    program.says("x")
    usual = tmp_path / ".talos" / "omni" / "config"
    usual.parent.mkdir(parents=True)
    usual.write_text("contexts: {}\n")

    await Omnictl(program.path, environ={"HOME": str(tmp_path)}).talosconfig("apps")
    await Omnictl(program.path, environ={"OMNICONFIG": "omni/config"}).talosconfig("apps")

    first, second = (call["env"] for call in program.calls)
    assert "OMNICONFIG" not in first
    assert second["OMNICONFIG"] == str(Path("omni/config").absolute())


async def test_an_empty_key_is_no_service_account(program: Recorder) -> None:
    program.says("x")
    omni = Omnictl(program.path, environ={"SIDERO_SERVICE_ACCOUNT_KEY": ""})

    await omni.talosconfig("apps")

    assert not omni.has_service_account
    assert "SIDERO_SERVICE_ACCOUNT_KEY" not in program.calls[-1]["env"]


async def test_who_must_sign_in_is_told_at_once(tmp_path: Path) -> None:
    program = tmp_path / "omnictl"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{LOGIN}' >&2\nexec sleep 60\n")
    program.chmod(0o755)

    with pytest.raises(omnictl.OmniNotSignedIn) as caught:
        await Omnictl(program, environ={}).talosconfig("apps", timeout=20)

    assert "OMNI_SERVICE_ACCOUNT_KEY" in caught.value.hint


async def test_a_key_that_is_said_back_is_masked(program: Recorder) -> None:
    program.says(stderr=f"Error: cannot use {KEY}\n", code=1)

    with pytest.raises(omnictl.OmniError) as caught:
        await Omnictl(program.path, environ={"OMNI_SERVICE_ACCOUNT_KEY": KEY}).talosconfig("apps")

    assert KEY not in f"{caught.value} {caught.value.stderr} {caught.value.problems}"


async def test_a_program_that_is_not_there_can_be_installed(tmp_path: Path) -> None:
    with pytest.raises(errors.ToolError) as caught:
        await Omnictl(tmp_path / "omnictl", environ={}).talosconfig("apps")

    assert caught.value.hint == "firstlight tools install omnictl"
