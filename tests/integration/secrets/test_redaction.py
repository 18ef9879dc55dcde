"""A canary through every way that a secret goes: no output, no command line, no file and no error has it."""

import contextlib
import logging
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.sops import SopsClient
from firstlight.execute.actions import create_secret
from firstlight.execute.world import RunPrograms, World
from firstlight.model.cluster import Cluster
from firstlight.model.place import Place
from firstlight.model.platform import FoundationSecret
from firstlight.model.secret import Secret
from firstlight.model.work import CreateSecret
from firstlight.secrets import talos_bundle
from firstlight.secrets.secret_resolver import SecretResolver
from tests.integration.secrets.canary import CANARY, forms, seen_below, seen_in, told
from tests.integration.secrets.encrypted_repo import BUNDLE, EncryptedRepo, bundle
from tests.unit.clients.recorder import Recorder


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files would be, of this process and of its children."""
    directory = tmp_path / "scratch"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    monkeypatch.setenv("TMPDIR", str(directory))
    return directory


def noting(program: Path, directory: Path) -> Path:
    """A program that notes its command line and environment's names, and goes on as another."""
    directory.mkdir()
    wrapper = directory / program.name
    wrapper.write_text(
        f"#!/bin/sh\ntr '\\0' ' ' </proc/$$/cmdline >>{directory}/argv\necho \"$@\" >>{directory}/argv\n"
        f'exec {program} "$@"\n'
    )
    wrapper.chmod(0o755)
    return wrapper


@contextlib.asynccontextmanager
async def echoing(status: int) -> AsyncIterator[str]:
    """A server that repeats what it was asked, and a secret besides."""

    async def answer(request: web.Request) -> web.Response:
        said = [f"{CANARY} {dict(request.headers)}"]
        return web.json_response({"errors": said, "message": said[0]}, status=status, reason="No")

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def test_the_net_catches_what_it_is_for(tmp_path: Path) -> None:
    """A test that looks for nothing would pass as well."""
    for each in forms():
        assert seen_in(b"before " + each + b" after")
        (tmp_path / "file").write_bytes(each)
        assert seen_below(tmp_path)
    assert not seen_in("something else")


async def test_the_way_of_a_value_that_is_had(
    repo: EncryptedRepo,
    tmp_path: Path,
    scratch: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    sops = noting(repo.sops, tmp_path / "noted")
    repo.encrypt("a.sops.yaml", yaml.safe_dump({"key": CANARY}, allow_unicode=True))
    one = SecretResolver(repo.root, sops=sops, environ={**repo.environ, "VARIABLE": CANARY, "TMPDIR": str(scratch)})

    values = [await one.resolve(each) for each in ("sops:a.sops.yaml#key", "env:VARIABLE")]
    with pytest.raises(errors.FirstlightError) as caught:
        await one.resolve("sops:a.sops.yaml#nothing")
    shown = f"{values} {values[0]} {values[0]:>10} {one!r} {vars(one)} {told(caught.value)}"

    assert [each.reveal().decode() for each in values] == [CANARY, CANARY]
    out = capfd.readouterr()
    # A resolver has the user's environment, where the user has put the variable: it is nowhere printed.
    assert seen_in(shown.replace(repr(one._environ), "")) == []
    assert seen_in(out.out + out.err + caplog.text) == []
    assert (tmp_path / "noted" / "argv").read_text().strip(), "the command line was noted"
    assert seen_below(tmp_path) == []
    await one.close()


async def test_the_way_of_secrets_that_are_kept(
    repo: EncryptedRepo, tmp_path: Path, scratch: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sops = SopsClient(noting(repo.sops, tmp_path / "noted"), environ={**repo.environ, "TMPDIR": str(scratch)})
    made = yaml.safe_load(BUNDLE)
    made["cluster"]["secret"] = made["certs"]["os"]["key"] = CANARY
    path = repo.root / "talos" / "secrets.sops.yaml"

    await talos_bundle.keep(path, Secret(yaml.safe_dump(made, allow_unicode=True)), sops, root=repo.root)

    out = capfd.readouterr()
    assert path.is_file()
    assert seen_in(out.out + out.err) == []
    assert "encrypt" in (tmp_path / "noted" / "argv").read_text()
    assert seen_below(tmp_path) == []


@pytest.mark.parametrize("code", [1, 2, 25, 51, 100, 128, 203])
async def test_a_sops_that_repeats_what_it_decrypts(repo: EncryptedRepo, tmp_path: Path, code: int) -> None:
    program = Recorder(tmp_path / "program", "sops")
    program.says(CANARY, "\n".join(each.decode(errors="replace") for each in forms()), code=code)
    repo.encrypt("a.sops.yaml", "a: b\n")
    environ = {"SOPS_AGE_KEY": CANARY}

    with pytest.raises(errors.FirstlightError) as resolved:
        await SecretResolver(repo.root, sops=program.path, environ=environ).resolve("sops:a.sops.yaml#a")
    with pytest.raises(errors.FirstlightError) as kept:
        await talos_bundle.keep(
            repo.root / "b.sops.yaml", bundle(), SopsClient(program.path, environ=environ), root=repo.root
        )

    assert seen_in(told(resolved.value)) == []
    assert seen_in(told(kept.value)) == []
    assert all(seen_in(" ".join(each["argv"])) == [] for each in program.calls)


@pytest.mark.parametrize("said", ["isn't a vault", "does not have a field", "not currently signed in", "something new"])
async def test_an_op_that_repeats_what_it_reads(tmp_path: Path, said: str) -> None:
    program = Recorder(tmp_path / "program", "op")
    program.says(CANARY, f"[ERROR] {CANARY} {said} {CANARY}", code=1)
    one = SecretResolver(tmp_path, op=program.path, environ={"OP_SERVICE_ACCOUNT_TOKEN": CANARY})

    with pytest.raises(errors.FirstlightError) as caught:
        await one.resolve("op://home/item/field")

    assert seen_in(told(caught.value)) == []
    assert all(seen_in(" ".join(each["argv"])) == [] for each in program.calls)


@pytest.mark.parametrize("status", [200, 302, 400, 401, 403, 404, 418, 429, 500, 501, 503])
async def test_servers_that_repeat_what_they_are_told(tmp_path: Path, status: int) -> None:
    token = "tok-" + CANARY.encode("ascii", errors="ignore").decode()
    async with echoing(status) as url:
        environ = {"OP_CONNECT_HOST": url, "OP_CONNECT_TOKEN": token, "VAULT_ADDR": url, "VAULT_TOKEN": token}
        one = SecretResolver(tmp_path, environ=environ)
        for reference in ("op://home/item/field", "vault:secret/home#key"):
            with pytest.raises(errors.FirstlightError) as caught:
                await one.resolve(reference)
            assert seen_in(told(caught.value)) == []
            assert token not in told(caught.value)
        await one.close()


async def test_files_whose_content_is_wrong_are_not_quoted(repo: EncryptedRepo, tmp_path: Path) -> None:
    quoted = yaml.safe_dump(CANARY, allow_unicode=True).strip()
    (repo.root / "plain.sops.yaml").write_text(f"key: {quoted}\n")
    (repo.root / "broken.sops.yaml").write_text(f"key: [{quoted}\n")
    repo.encrypt("inner.key", f"- {CANARY}\n}}: ")
    repo.encrypt("text.sops.yaml", f"text: {{a: {quoted}}}\n")
    one = SecretResolver(repo.root, sops=repo.sops, environ=repo.environ)

    for each in (
        "sops:plain.sops.yaml#key",
        "sops:broken.sops.yaml#key",
        "sops:inner.key#a",
        "sops:text.sops.yaml#text",
    ):
        with pytest.raises(errors.FirstlightError) as caught:
            await one.resolve(each)
        assert seen_in(told(caught.value)) == []


async def test_a_secret_that_the_api_refuses(tmp_path: Path) -> None:
    """An action's change and its failures have names only; the API server of this test repeats the whole body."""

    declared = FoundationSecret(
        name="s", namespace="n", data={"key": "env:VARIABLE"}, place=Place("firstlight.yaml", 1)
    )

    async def answer(request: web.Request) -> web.Response:
        if request.path in ("/api", "/apis"):
            return web.json_response(
                {"kind": "APIVersions", "versions": ["v1"]} if request.path == "/api" else {"groups": []}
            )
        if request.path == "/api/v1":
            verbs = {
                "name": "secrets",
                "singularName": "",
                "namespaced": True,
                "kind": "Secret",
                "verbs": ["get", "patch"],
            }
            return web.json_response({"kind": "APIResourceList", "groupVersion": "v1", "resources": [verbs]})
        code = 404 if request.method == "GET" else 422
        body = (await request.read()).decode()
        said = {"kind": "Status", "status": "Failure", "reason": "Invalid" if code == 422 else "NotFound", "code": code}
        causes = [{"field": "data.key", "reason": "FieldValueInvalid", "message": f"{CANARY} {body}"}]
        return web.json_response({**said, "message": f"{CANARY} {body}", "details": {"causes": causes}}, status=code)

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    heard: list[str] = []
    resolver = SecretResolver(tmp_path, environ={"VARIABLE": CANARY})
    try:
        async with kube.Client(kube.ClientConfig(server=f"http://127.0.0.1:{runner.addresses[0][1]}")) as client:
            world = World(
                cluster=Cluster(name="c", place=Place("firstlight.yaml")), programs=RunPrograms(), resolve=resolver,
                state=tmp_path, tell=lambda step, text: heard.append(text),
            )  # fmt: skip
            world._kube = client
            change = await create_secret.look(CreateSecret(secret=declared, manager="m"), world, "s")
            assert change is not None
            with pytest.raises(kube.Invalid) as caught:
                await change.perform()
    finally:
        await runner.cleanup()

    assert change.writes == ("create Secret n/s",)
    assert seen_in(f"{change!r} {change} {heard}") == []
    assert seen_in(told(caught.value)) == []


async def test_the_environment_of_this_process_is_not_what_children_get(
    repo: EncryptedRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNRELATED", CANARY)
    program = Recorder(tmp_path / "program", "sops")
    program.says("a: b\n")
    repo.encrypt("a.sops.yaml", "a: b\n")

    await SecretResolver(repo.root, sops=program.path, environ=os.environ).resolve("sops:a.sops.yaml#a")

    assert seen_in(str(program.calls[-1]["env"])) == []
