"""How talosctl is run: alone, with secrets that nobody else sees, and with failures that are explained."""

import logging
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firstlight import errors
from firstlight.clients import talosctl as clients_talosctl
from firstlight.clients.talosctl import MachineTarget, Talosctl
from firstlight.model.secret import MASK, Secret
from tests.unit.clients.talosctl import standin

ONE = MachineTarget.of("10.5.0.2")
CUT = "error: rpc error: code = Unavailable desc = write tcp 127.0.0.1:1->127.0.0.1:2: write: broken pipe\n"
REFUSED = (
    "error getting version: rpc error: code = Unavailable desc = connection error:"
    ' desc = "error reading server preface: remote error: tls: certificate required"\n'
)
VERSION = '{"version": {"tag": "v1.13.0"}}'


@pytest.fixture
def everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for temporary files that shows what was left there."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


async def test_nothing_of_the_user_reaches_it(program: standin.StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TALOSCONFIG", "KUBECONFIG", "TAG", "XDG_DATA_HOME", "SIDEROV1_KEYS_DIR"):
        monkeypatch.setenv(name, "/home/me")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    program.says(VERSION)

    await Talosctl(program.path, talosconfig=Secret("x")).version(ONE)

    (call,) = program.calls
    assert set(call["env"]) - {"LC_CTYPE"} == {"HOME", "HTTPS_PROXY"}
    assert call["cwd"] == call["env"]["HOME"] != os.environ["HOME"]
    assert call["found"] == []
    assert not Path(call["cwd"]).exists()


async def test_a_secret_is_nowhere_but_in_a_memory_file(
    program: standin.StandIn, everywhere: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret, config = "hunter2-talosconfig", "token: hunter3-config"
    talosctl = Talosctl(program.path, talosconfig=Secret(secret))
    program.says("", f"Applied configuration without a reboot\n{config}\n")

    applied = await talosctl.apply_config(ONE, Secret(config))

    (call,) = program.calls
    assert [link for link, _ in call["files"].values()] == ["/memfd:firstlight (deleted)"] * 2
    assert {content for _, content in call["files"].values()} == {secret, config}
    elsewhere = (
        f"{call['argv']}{call['env']}{call['proc']}{call['stdin']}{call['found']}{caplog.text}{applied}{talosctl!r}"
    )
    assert "hunter" not in elsewhere
    assert list(everywhere.rglob("*")) == []
    memory = {n for n, link in call["fds"].items() if "memfd" in link}
    others = {link for n, link in call["fds"].items() if n not in memory and int(n) > 2}
    assert len(memory) == 2
    assert all(link.startswith("/proc/") for link in others), "it inherits nothing else"


async def test_no_error_shows_a_secret(program: standin.StandIn, everywhere: Path) -> None:
    config = Secret(
        "machine:\n  token: abcdef.0123456789abcdef\n  password: hunter2\n  ca:\n    key: LS0tLS1CRUdJTiBFRDI1NTE5\n"
    )
    talosctl = Talosctl(program.path, talosconfig=Secret("key: sesame-sesame"))
    said = "abcdef.0123456789abcdef hunter2 LS0tLS1CRUdJTiBFRDI1NTE5 sesame-sesame"
    program.says(said, f"error: rpc error: code = InvalidArgument desc = {said}\n", code=1)
    lines: list[str] = []

    caught: list[clients_talosctl.TalosError] = []
    for call in (
        talosctl.apply_config(ONE, config),
        talosctl.patch_config(config, [config]),
        talosctl.gen_secrets(from_controlplane=config),
        talosctl.reboot(ONE, on_line=lines.append),
    ):
        with pytest.raises(clients_talosctl.TalosError) as info:
            await call
        caught.append(info.value)
    validation = await talosctl.validate(config)

    for error in caught[:3]:
        shown = f"{error}{error!r}{error.hint}{error.detail}{error.stderr}{error.problems}{vars(error)}"
        assert MASK in shown
        for secret in ("abcdef.", "hunter2", "LS0tLS1CRU"):
            assert secret not in shown
    for secret in ("abcdef.", "hunter2", "LS0tLS1CRU"):
        assert secret not in repr(validation)
    assert "sesame" not in f"{caught[3]}{lines}"
    assert list(everywhere.rglob("*")) == []


async def test_files_have_names_in_messages(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says("", 'failed to open config file "/proc/self/fd/PLACE": EOF\n', code=1)
    with pytest.raises(clients_talosctl.TalosError):
        await talosctl.version(ONE)
    fd = program.calls[0]["argv"][2].rpartition("/")[2]
    program.says("", f'failed to open config file "/proc/self/fd/{fd}": EOF\n', code=1)

    with pytest.raises(clients_talosctl.TalosError, match='failed to open config file "the talosconfig": EOF'):
        await talosctl.version(ONE)


async def test_a_command_that_takes_too_long(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says(VERSION, sleep=60)

    with pytest.raises(clients_talosctl.TalosTimedOut) as caught:
        await talosctl.version(ONE, timeout=0.5)

    assert caught.value.node == "10.5.0.2"
    assert caught.value.message == "talosctl version on 10.5.0.2: it did not finish within 0.5 s"
    assert caught.value.hint


async def test_a_machine_that_does_not_come_back(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says("", '"10.5.0.2": actor ID: 1\n"10.5.0.2": stage: BOOTING ready: false\n', code=1, sleep=0.3)

    with pytest.raises(
        clients_talosctl.TalosTimedOut, match=r"not done after 0\.2 s; the last was: stage: BOOTING ready: false"
    ):
        await talosctl.reboot(ONE, timeout=0.2)


async def test_a_machine_that_fails_on_its_way(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says("", '"10.5.0.2": actor ID: 1\n"10.5.0.2": sequence error: no disk\n', code=1)

    with pytest.raises(
        clients_talosctl.TalosError, match=r"talosctl reset on 10\.5\.0\.2: sequence error: no disk"
    ) as caught:
        await talosctl.reset(ONE)

    assert type(caught.value) is clients_talosctl.TalosError


async def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(errors.ToolError) as caught:
        await Talosctl(tmp_path / "talosctl").gen_secrets()

    assert "firstlight tools install" in caught.value.hint


async def test_half_an_answer_is_none(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says_sample("version-partial")

    with pytest.raises(clients_talosctl.TalosUnreachable) as caught:
        await talosctl.memory(MachineTarget.of("10.5.0.2", "10.5.0.3"))

    assert caught.value.node == "10.5.0.3"
    assert b"v1.13.0" in caught.value.stdout.reveal()


async def test_a_warning_is_no_failure(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says("", "WARNING: 10.5.0.2: server version 1.12.0 is older than client version 1.13.0\n")

    assert await talosctl.members(ONE) == ()


async def test_a_cut_connection_is_asked_about_until_it_is_explained(
    talosctl: Talosctl, program: standin.StandIn
) -> None:
    program.says("", CUT, code=1)
    program.then_says("", CUT, code=1)
    program.then_says("", REFUSED, code=1)

    with pytest.raises(clients_talosctl.TalosUnauthorised) as caught:
        await talosctl.bootstrap(ONE)

    assert caught.value.command == "bootstrap"
    assert [call["argv"][0] for call in program.calls] == ["bootstrap", "version", "version"]


@pytest.mark.parametrize(
    ("stdout", "stderr", "code"), [(VERSION, "", 0), ("", "rpc error: code = Internal desc = x", 1)]
)
async def test_a_cut_connection_that_stays_unexplained(
    talosctl: Talosctl, program: standin.StandIn, stdout: str, stderr: str, code: int
) -> None:
    program.says("", CUT, code=1)
    program.then_says(stdout, stderr, code=code)

    with pytest.raises(clients_talosctl.TalosUnreachable, match="broken pipe"):
        await talosctl.bootstrap(ONE)

    assert [call["argv"][0] for call in program.calls] == ["bootstrap", "version"]


async def test_asking_about_a_cut_connection_ends(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says("", CUT, code=1)

    with pytest.raises(clients_talosctl.TalosUnreachable):
        await talosctl.bootstrap(ONE)

    assert len(program.calls) < 10


async def test_a_machine_that_is_off_is_not_asked_again(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says("", 'rpc error: code = Unavailable desc = connection error: desc = "transport: dial"\n', code=1)

    with pytest.raises(clients_talosctl.TalosUnreachable):
        await talosctl.bootstrap(ONE)

    assert len(program.calls) == 1


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(alphabet=st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=20))
async def test_what_is_asked_for_never_becomes_an_option(
    talosctl: Talosctl, program: standin.StandIn, strange: str
) -> None:
    await talosctl.get(ONE, strange, f"-{strange}", namespace=f"--{strange}")

    argv = program.calls[-1]["argv"]
    end = argv.index("--")
    assert argv[end + 1 :] == [strange, f"-{strange}"]
    assert [word.split("=")[0] for word in argv[:end]] == ["get", "--output", "--namespace", "--talosconfig", "--nodes"]
