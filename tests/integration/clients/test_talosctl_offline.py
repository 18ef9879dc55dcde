"""The real talosctl where no machine is needed: configs, and the ways in which a connection fails."""

import base64
import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from firstlight.clients import command
from firstlight.clients import talosctl as clients_talosctl
from firstlight.clients.talosctl import MachineTarget, Talosctl
from firstlight.model.secret import MASK, Secret
from firstlight.tools import install
from tests.unit.clients.kube import pki

ENDPOINT = "https://10.5.0.2:6443"


@pytest_asyncio.fixture(scope="session")
async def program() -> Path:
    return (await install.ensure(["talosctl"]))["talosctl"]


@pytest.fixture
def offline(program: Path) -> Talosctl:
    return Talosctl(program)


@pytest_asyncio.fixture(scope="session")
async def secrets(program: Path) -> Secret:
    return await Talosctl(program).gen_secrets()


def documents(config: Secret) -> list[dict[str, object]]:
    return list(yaml.safe_load_all(config.reveal()))


async def test_it_tells_its_version(offline: Talosctl) -> None:
    assert (await offline.client_version()).startswith("1.1")


async def test_secrets_configs_patches_and_their_validation(
    offline: Talosctl, secrets: Secret, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    labels = Secret("machine:\n  nodeLabels: {zone: a}\n")
    disk = Secret("machine:\n  install: {disk: /dev/vda}\n")

    config = await offline.gen_config(
        "controlplane",
        cluster="-strange name",
        endpoint=ENDPOINT,
        secrets=secrets,
        kubernetes_version="1.35.0",
        talos_version="v1.13",
        additional_sans=["k8s.example.org"],
        patches=[labels, disk],
    )
    worker = await offline.gen_config("worker", cluster="c", endpoint=ENDPOINT, secrets=secrets)
    patched = await offline.patch_config(config, [Secret("debug: true\n")])

    main = documents(patched)[0]
    assert main["machine"]["type"] == "controlplane"  # type: ignore[index]
    assert main["machine"]["nodeLabels"]["zone"] == "a"  # type: ignore[index]
    assert main["machine"]["install"]["disk"] == "/dev/vda"  # type: ignore[index]
    assert main["cluster"]["clusterName"] == "-strange name"  # type: ignore[index]
    assert main["cluster"]["apiServer"]["certSANs"] == ["k8s.example.org"]  # type: ignore[index]
    assert main["cluster"]["apiServer"]["image"].endswith(":v1.35.0")  # type: ignore[index]
    assert main["debug"] is True
    assert documents(worker)[0]["machine"]["type"] == "worker"  # type: ignore[index]
    for each in (config, worker, patched):
        assert (await offline.validate(each)).is_valid
    assert list(tmp_path.rglob("*")) == []


async def test_the_secrets_of_an_existing_cluster(offline: Talosctl, secrets: Secret) -> None:
    config = await offline.gen_config("controlplane", cluster="c", endpoint=ENDPOINT, secrets=secrets)

    found = await offline.gen_secrets(from_controlplane=config)

    assert yaml.safe_load(found.reveal())["certs"] == yaml.safe_load(secrets.reveal())["certs"]


async def test_a_wrong_config_is_explained_without_its_secrets(offline: Talosctl, secrets: Secret) -> None:
    config = await offline.gen_config("controlplane", cluster="c", endpoint=ENDPOINT, secrets=secrets)
    text = config.reveal().decode()
    token = yaml.safe_load(secrets.reveal())["trustdinfo"]["token"]

    mistyped = await offline.validate(Secret(text.replace("    token: ", "    tokn: ")))
    mixed = await offline.validate(
        await offline.patch_config(config, [Secret("cluster: {network: {cni: {name: none}}}\n")])
    )
    no_yaml = await offline.validate(Secret("a: ["))
    nothing = await offline.validate(Secret(""))

    (problem,) = mistyped.problems
    assert f"tokn: {MASK}" in problem
    assert token not in problem
    assert len(mixed.problems) == 2
    assert all("remove it" in each for each in mixed.problems), "a field beside the document that replaces it"
    assert not no_yaml.is_valid
    assert not nothing.is_valid


@pytest.mark.parametrize("patch", ["machine:\n  type: [x]\n", "machine: {nope: hunter2}\n", "[{", ""])
async def test_a_patch_that_does_not_fit(offline: Talosctl, secrets: Secret, patch: str) -> None:
    config = await offline.gen_config("worker", cluster="c", endpoint=ENDPOINT, secrets=secrets)

    with pytest.raises(clients_talosctl.TalosRejected) as caught:
        await offline.patch_config(config, [Secret(patch)])

    assert "hunter2" not in f"{caught.value}{caught.value.stderr}"


async def test_damaged_secrets_and_endpoints_are_errors(offline: Talosctl, secrets: Secret) -> None:
    with pytest.raises(clients_talosctl.TalosRejected, match="the control plane endpoint URL should have scheme"):
        await offline.gen_config("worker", cluster="c", endpoint="http://h:1", secrets=secrets)
    with pytest.raises(clients_talosctl.TalosRejected, match=r"cluster\.id is required"):
        await offline.gen_config("worker", cluster="c", endpoint=ENDPOINT, secrets=Secret("cluster: {}\n"))


async def test_a_talosconfig_in_memory_is_read_and_not_written(
    program: Path, offline: Talosctl, secrets: Secret, tmp_path: Path
) -> None:
    talosconfig = await offline.gen_config("talosconfig", cluster="c", endpoint=ENDPOINT, secrets=secrets)

    with command.memory_file(talosconfig) as file:
        await command.run(
            [str(program), "version", f"--talosconfig={file.path}", "--endpoints=127.0.0.1:1", "--nodes=127.0.0.1"],
            env={"HOME": str(tmp_path)},
            pass_fds=[file.fd],
            check=False,
        )
        assert os.pread(file.fd, 1 << 20, 0) == talosconfig.reveal()

    talosctl = Talosctl(program, talosconfig=talosconfig)
    with pytest.raises(clients_talosctl.TalosUnreachable, match="connection refused"):
        await talosctl.version(MachineTarget.of("127.0.0.1", endpoints=["127.0.0.1:1"]))


async def test_words_that_look_like_options_are_none(program: Path) -> None:
    talosctl = Talosctl(program, talosconfig=talosconfig_of(pki.issue("admin")))

    with pytest.raises(clients_talosctl.TalosUnreachable):
        await talosctl.get(MachineTarget.of("127.0.0.1", endpoints=["127.0.0.1:1"]), "--help", "--version")


async def test_a_name_that_nobody_knows(program: Path) -> None:
    talosctl = Talosctl(program, talosconfig=talosconfig_of(pki.issue("admin")))

    with pytest.raises(clients_talosctl.TalosUnreachable):
        await talosctl.version(MachineTarget.of("10.5.0.2", endpoints=["nobody.invalid"]))


@pytest.mark.parametrize(
    "content", ["", "context: c\ncontexts: {}\n", "context: c\ncontexts:\n  c: {crt: x, key: x}\n"]
)
async def test_a_damaged_talosconfig(program: Path, content: str) -> None:
    with pytest.raises(clients_talosctl.TalosError) as caught:
        await Talosctl(program, talosconfig=Secret(content)).version(
            MachineTarget.of("10.5.0.2", endpoints=["127.0.0.1:1"])
        )

    assert "/proc/self/fd" not in f"{caught.value}{caught.value.stderr}"
    assert not isinstance(caught.value, clients_talosctl.TalosUnreachable)


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        (
            lambda: pki.issue("machine", issuer=pki.authority("other")),
            clients_talosctl.TalosCertificateProblem.UNKNOWN_AUTHORITY,
        ),
        (lambda: pki.issue("machine", days=(-5, -1)), clients_talosctl.TalosCertificateProblem.EXPIRED),
        (lambda: pki.issue("machine", address="127.0.0.9"), clients_talosctl.TalosCertificateProblem.WRONG_NAME),
    ],
)
async def test_a_machine_that_cannot_be_trusted(
    program: Path, server: Callable[[], pki.Pair], problem: clients_talosctl.TalosCertificateProblem
) -> None:
    talosctl = Talosctl(program, talosconfig=talosconfig_of(pki.issue("admin")))

    with listening(server()) as target, pytest.raises(clients_talosctl.TalosUntrusted) as caught:
        await talosctl.version(target)

    assert caught.value.problem is problem
    assert caught.value.hint


@pytest.mark.parametrize(
    "client",
    [lambda: pki.issue("admin", issuer=pki.authority("other")), lambda: pki.issue("admin", days=(-5, -1))],
)
async def test_a_machine_that_refuses_a_certificate(program: Path, client: Callable[[], pki.Pair]) -> None:
    talosctl = Talosctl(program, talosconfig=talosconfig_of(client()))

    with listening(pki.issue("machine")) as target, pytest.raises(clients_talosctl.TalosUnauthorised) as caught:
        await talosctl.members(target)

    assert "talosconfig" in caught.value.hint


async def test_a_configured_machine_taken_for_a_new_one(program: Path) -> None:
    with listening(pki.issue("machine")) as target, pytest.raises(clients_talosctl.TalosUnauthorised) as caught:
        await Talosctl(program, insecure=True).apply_config(MachineTarget(target.endpoints), Secret("machine: {}\n"))

    assert "configured already" in caught.value.hint


def talosconfig_of(client: pki.Pair) -> Secret:
    parts = {"ca": pki.certificate_pem(pki.authority()), "crt": pki.certificate_pem(client), "key": pki.key_pem(client)}
    context = {name: base64.b64encode(part).decode() for name, part in parts.items()}
    return Secret(yaml.safe_dump({"context": "c", "contexts": {"c": {"endpoints": [], **context}}}))


@contextlib.contextmanager
def listening(server: pki.Pair) -> Iterator[MachineTarget]:
    """Something that speaks TLS as a machine does, and nothing else."""
    context = pki.server_context(server, clients=pki.authority())
    context.set_alpn_protocols(["h2"])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve, args=(listener, context), daemon=True)
        thread.start()
        yield MachineTarget.of("127.0.0.1", endpoints=[f"127.0.0.1:{listener.getsockname()[1]}"])
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def _serve(listener: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, contextlib.suppress(OSError):
            connection.settimeout(10)
            with contextlib.suppress(ssl.SSLError):
                # The connection stays open for reading, so that the reason of a refusal is not overtaken by its end.
                context.wrap_socket(connection.dup(), server_side=True, suppress_ragged_eofs=True).detach()
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):
                pass
