import os
import stat
import sys
from pathlib import Path

import msgspec
import pytest

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube import client_config, credentials
from firstlight.model.secret import Secret

V1 = "client.authentication.k8s.io/v1"
BETA = "client.authentication.k8s.io/v1beta1"


def answer(api_version: str, status: object) -> str:
    return msgspec.json.encode({"apiVersion": api_version, "kind": "ExecCredential", "status": status}).decode()


class Program:
    """A plugin that counts its runs, keeps what it was told and prints what it is given."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "login"
        self._output = directory / "output"
        self._told = directory / "told"
        self._runs = directory / "runs"
        self.path.write_text(
            f"#!{sys.executable}\n"
            "import os, sys\n"
            f"open({str(self._runs)!r}, 'a').write('x')\n"
            "told = os.environ['KUBERNETES_EXEC_INFO'] + '\\n' + os.environ.get('ME', '')\n"
            f"open({str(self._told)!r}, 'w').write(told)\n"
            f"sys.stdout.write(open({str(self._output)!r}).read())\n"
            "sys.stderr.write('not logged in')\n"
            "sys.exit(int(os.environ.get('CODE', '0')))\n"
        )
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)

    def prints(self, text: str) -> None:
        self._output.write_text(text)

    def gives(self, api_version: str = V1, **status: str) -> None:
        self.prints(answer(api_version, status))

    @property
    def runs(self) -> int:
        return len(self._runs.read_text()) if self._runs.exists() else 0

    @property
    def told(self) -> list[str]:
        return self._told.read_text().splitlines()

    def config(self, api_version: str = V1, **env: str) -> kube.ClientConfig:
        return kube.ClientConfig(
            server="https://host",
            certificate_authority=b"CA",
            exec_plugin=client_config.ExecPlugin(
                api_version=api_version,
                command=str(self.path),
                env=tuple((name, Secret(value)) for name, value in env.items()),
                install_hint="install it so",
                provide_cluster_info=True,
                cluster_config={"audience": "x"},
            ),
        )


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.mark.parametrize("api_version", [V1, BETA])
async def test_a_plugin_is_told_the_cluster_and_its_token_is_used(program: Program, api_version: str) -> None:
    program.gives(api_version, token="t0k3n")

    credential = await credentials.source(program.config(api_version, ME="jane")).current()

    assert credential.header() == Secret("Bearer t0k3n")
    info, me = program.told
    assert me == "jane"
    assert msgspec.json.decode(info) == {
        "apiVersion": api_version,
        "kind": "ExecCredential",
        "spec": {
            "interactive": False,
            "cluster": {"server": "https://host", "certificate-authority-data": "Q0E=", "config": {"audience": "x"}},
        },
    }


async def test_a_plugin_is_asked_again_when_its_credential_expires(program: Program) -> None:
    now = 1_000_000_000.0
    source = credentials.source(program.config(), now=lambda: now)
    program.gives(token="first", expirationTimestamp="2001-09-09T01:46:50Z")

    assert (await source.current()).token == Secret("first")
    program.gives(token="second")
    now += 9
    assert (await source.current()).token == Secret("first")
    now += 1
    assert (await source.current()).token == Secret("second")
    now += 1e9
    assert (await source.current()).token == Secret("second")
    assert program.runs == 2


async def test_after_a_refusal_a_plugin_is_asked_once_for_all(program: Program) -> None:
    source = credentials.source(program.config())
    program.gives(token="first")
    refused = await source.current()
    program.gives(token="second")

    assert await source.renew(refused)
    assert await source.renew(refused)

    assert (await source.current()).token == Secret("second")
    assert program.runs == 2


async def test_a_plugin_that_fails_says_how_to_get_it_and_not_what_it_printed(program: Program) -> None:
    program.prints("hunter2")

    with pytest.raises(errors.CommandFailed) as caught:
        await credentials.source(program.config(CODE="1")).current()

    assert caught.value.hint == "install it so"
    assert "not logged in" in caught.value.message
    assert "hunter2" not in f"{caught.value!s}{caught.value!r}{vars(caught.value)}"


async def test_a_plugin_that_is_not_there(program: Program) -> None:
    program.path.unlink()

    with pytest.raises(errors.Unreachable) as caught:
        await credentials.source(program.config()).current()

    assert caught.value.hint == "install it so"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("hunter2", "printed no ExecCredential"),
        (answer(V1, {"token": ["hunter2"]}), "printed no ExecCredential"),
        (answer(BETA, {"token": "hunter2"}), f"of {V1}"),
        (answer(V1, None), "without token and certificate"),
        (answer(V1, {"clientCertificateData": "hunter2"}), "half of a client certificate"),
        (answer(V1, {"token": "a", "expirationTimestamp": "hunter2"}), "no time"),
    ],
)
async def test_what_a_plugin_prints_never_reaches_a_message(program: Program, output: str, expected: str) -> None:
    program.prints(output)

    with pytest.raises(errors.ClientError) as caught:
        await credentials.source(program.config()).current()

    assert expected in caught.value.message
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


async def test_a_token_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first\n")
    source = credentials.source(kube.ClientConfig(server="https://host", token_file=path))

    first = await source.current()
    (tmp_path / "new").write_text("second")
    os.replace(tmp_path / "new", path)
    second = await source.current()
    path.unlink()
    third = await source.current()

    assert (first.token, second.token, third.token) == (Secret("first"), Secret("second"), Secret("second"))


async def test_a_refused_token_file_is_worth_another_try_only_if_it_changed(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first")
    source = credentials.source(kube.ClientConfig(server="https://host", token_file=path))
    refused = await source.current()

    assert not await source.renew(refused)
    path.write_text("other")
    assert await source.renew(refused)


async def test_an_empty_token_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n")
    source = credentials.source(kube.ClientConfig(server="https://host", token_file=tmp_path / "token"))

    with pytest.raises(errors.ConfigError, match="is empty"):
        await source.current()


async def test_a_password() -> None:
    source = credentials.source(kube.ClientConfig(server="https://host", username="me", password=Secret("pä:ss")))

    credential = await source.current()

    assert credential.header() == Secret("Basic bWU6cMOkOnNz")
    assert not await source.renew(credential)
    assert "ss" not in repr(credential.password)
