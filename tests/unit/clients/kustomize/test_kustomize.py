"""Which command lines are made, and in which environment."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import kustomize
from tests.unit.clients.kustomize.trees import make
from tests.unit.clients.recorder import Recorder

ENVIRON = {"PATH": "/opt/bin", "HOME": "/home/ada", "HTTPS_PROXY": "http://p:1", "HELM_PLUGINS": "/x", "SECRET": "x"}
PRIVATE = {
    "HOME": "HOME",
    "TMPDIR": "HOME",
    "XDG_CONFIG_HOME": "HOME/config",
    "KUSTOMIZE_PLUGIN_HOME": "HOME/plugins",
    "HELM_PLUGINS": "HOME/plugins",
    "HELM_REGISTRY_CONFIG": "HOME/registry.json",
    "DOCKER_CONFIG": "HOME/docker",
    "KUBECONFIG": "/dev/null",
    "LC_ALL": "C",
}


@pytest.fixture
def program(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "program", "kustomize")


@pytest.fixture
def tree_path(tmp_path: Path) -> Path:
    return make(tmp_path / "tree", {"-app/kustomization.yaml": "namePrefix: x"})


async def test_the_command_line_and_what_it_finds(program: Recorder, tree_path: Path) -> None:
    program.says("kind: X\n", "# Warning: 'bases' is deprecated.\n\n")
    client = kustomize.Kustomize(program.path, environ=ENVIRON)

    done = await client.build(tree_path / "-app", within=tree_path)

    assert program.argv == ["build", "--load-restrictor=LoadRestrictionsRootOnly", "--", f"{tree_path}/-app"]
    assert (done.text, done.warnings) == ("kind: X\n", ("'bases' is deprecated.",))
    nowhere = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), "http://127.0.0.1:1")
    limit = str((1 << 30) // 4 * 3)  # for Go's collector, below the limit that the kernel enforces
    assert program.env == {**PRIVATE, **nowhere, "PATH": "HOME/bin", "NO_PROXY": "", "GOMEMLIMIT": limit}
    assert program.calls[-1]["home"] == ["bin", "plugins", "work"]
    assert "kind: X" not in repr(done)


async def test_what_is_allowed_changes_it(program: Recorder, tree_path: Path) -> None:
    client = kustomize.Kustomize(program.path, helm=Path("/opt/helm"), environ=ENVIRON)

    await client.build(
        tree_path / "-app",
        within=tree_path,
        beyond_directory=True,
        allow_remote=True,
        kube_version="1.34.1",
        api_versions=["example.org/v1", "v2"],
    )

    assert program.argv == [
        "build", "--load-restrictor=LoadRestrictionsNone", "--enable-helm", "--helm-command=/opt/helm",
        "--helm-kube-version=1.34.1", "--helm-api-versions=example.org/v1", "--helm-api-versions=v2",
        "--", f"{tree_path}/-app",
    ]  # fmt: skip
    env = program.env
    assert (env["PATH"], env["HTTPS_PROXY"], env["HOME"]) == ("/opt/bin", "http://p:1", "HOME")
    assert (env["GIT_ALLOW_PROTOCOL"], env["GIT_CONFIG_GLOBAL"]) == ("https", "/dev/null")
    assert "SECRET" not in env
    assert env["HELM_PLUGINS"] == "HOME/plugins"


async def test_nothing_runs_if_it_must_not(program: Recorder, tmp_path: Path, tree_path: Path) -> None:
    client = kustomize.Kustomize(program.path, helm=Path("/opt/helm"))
    make(tree_path, {"evil/kustomization.yaml": "resources: [https://h/x]"})

    with pytest.raises(kustomize.KustomizeForbidden):
        await client.build(tree_path / "evil", within=tree_path)
    with pytest.raises(kustomize.KustomizeForbidden):
        await client.build(tmp_path, within=tree_path)
    for wrong in ({"kube_version": "--x"}, {"api_versions": ["--x"]}, {"api_versions": ["a,b"]}):
        with pytest.raises(errors.UsageError):
            await client.build(tree_path / "-app", within=tree_path, **wrong)

    assert program.calls == []


async def test_the_version(program: Recorder, tmp_path: Path) -> None:
    program.says("v5.8.1\n")

    assert await kustomize.Kustomize(program.path).version() == "5.8.1"
    assert program.argv == ["version"]
    with pytest.raises(errors.ToolError):
        await kustomize.Kustomize(tmp_path / "none").version()


async def test_what_takes_too_long_or_says_too_much(
    program: Recorder, tree_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = kustomize.Kustomize(program.path)
    program.says("x" * 2000)
    monkeypatch.setattr("firstlight.clients.command.OUTPUT_LIMIT", 1000)
    with pytest.raises(kustomize.KustomizeTooLarge):
        await client.build(tree_path / "-app", within=tree_path)
    program.says(sleep=30)
    with pytest.raises(kustomize.KustomizeTimedOut):
        await client.build(tree_path / "-app", within=tree_path, timeout=0.3)
