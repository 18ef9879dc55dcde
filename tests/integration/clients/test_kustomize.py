"""kustomize itself: what it makes of small trees, and what it does not do in those of strangers."""

import contextlib
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml
from aiohttp import web

from firstlight.clients import command, kustomize
from firstlight.tools import install
from tests.unit.clients.kustomize.trees import OBJECT, make

CHART = {
    "app/charts/small/Chart.yaml": "apiVersion: v2\nname: small\nversion: 1.0.0\n",
    "app/charts/small/values.yaml": "text: default\n",
    "app/charts/small/templates/c.yaml": """apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}'}
data:
  text: {{ .Values.text }}
  kube: {{ .Capabilities.KubeVersion.Version }}
  widgets: {{ .Capabilities.APIVersions.Has "example.org/v1" | quote }}
""",
}


@pytest_asyncio.fixture(scope="session")
async def paths() -> dict[str, Path]:
    return await install.ensure(["kustomize", "helm"])


@pytest.fixture
def client(paths: dict[str, Path]) -> kustomize.Kustomize:
    return kustomize.Kustomize(paths["kustomize"])


def objects(text: str) -> list[dict[str, Any]]:
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


@contextlib.asynccontextmanager
async def web_server() -> AsyncIterator[tuple[str, list[str]]]:
    """A server of objects, and what was asked of it."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(text=OBJECT)

    application = web.Application()
    application.router.add_route("*", "/{tail:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", asked
    finally:
        await runner.cleanup()


async def test_the_version(client: kustomize.Kustomize) -> None:
    assert (await client.version()).startswith("5.")


async def test_bases_components_patches_and_generators(client: kustomize.Kustomize, tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            "app/kustomization.yaml": """
namespace: here
resources: [../base]
components: [../component]
patches: [{path: patch.yaml}]
commonLabels: {team: a}
configMapGenerator: [{name: made, files: [data.txt], envs: [e.env], options: {disableNameSuffixHash: true}}]
transformers:
- "{apiVersion: builtin, kind: PrefixTransformer, metadata: {name: p}, prefix: x-, fieldSpecs: [{path: metadata/name}]}"
""",
            "app/patch.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: patched}\n",
            "app/data.txt": "text",
            "app/e.env": "HOME\nSECRET\nA=1\n",
            "base/kustomization.yaml": "resources: [a.yaml]",
            "base/a.yaml": OBJECT + "data: {a: '1', b: '2'}\n",
            "component/kustomization.yaml": (
                "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {c: https://example.org}\n"
            ),
        },
    )

    done = await client.build(tmp_path / "app", within=tmp_path)

    found = {each["metadata"]["name"]: each for each in objects(done.text)}
    assert set(found) == {"x-x", "x-made"}
    assert found["x-x"]["data"] == {"a": "patched", "b": "2"}
    assert found["x-x"]["metadata"]["annotations"] == {"c": "https://example.org"}
    assert found["x-made"]["data"] == {"data.txt": "text", "A": "1", "HOME": "", "SECRET": ""}
    assert [warning.split(" is ")[0] for warning in done.warnings] == ["'commonLabels'"]


async def test_files_beside_a_kustomization(client: kustomize.Kustomize, tmp_path: Path) -> None:
    make(tmp_path, {"app/kustomization.yaml": "resources: [../shared.yaml]", "shared.yaml": OBJECT})

    with pytest.raises(kustomize.KustomizeForbidden):
        await client.build(tmp_path / "app", within=tmp_path)
    done = await client.build(tmp_path / "app", within=tmp_path, beyond_directory=True)
    assert objects(done.text)[0]["metadata"]["name"] == "x"


@pytest.mark.parametrize(
    ("files", "expected", "path"),
    [
        ({"app/kustomization.yaml": "resources: [none.yaml]"}, kustomize.MissingFile, "app/kustomization.yaml"),
        ({"app/kustomization.yaml": "bases: [../none]"}, kustomize.MissingFile, "app/kustomization.yaml"),
        ({"app/x": ""}, kustomize.MissingFile, "app"),
        ({"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": "a: [\n"}, kustomize.BadYaml, "app/a.yaml"),
        (
            {"app/kustomization.yaml": "bases: [../b]", "b/kustomization.yaml": "resources: [a]", "b/a": "x: [\n"},
            kustomize.BadYaml,
            "b/a",
        ),
        ({"app/kustomization.yaml": "resources: ["}, kustomize.BadYaml, "app/kustomization.yaml"),
        ({"app/kustomization.yaml": "resourcez: [a.yaml]"}, kustomize.BadYaml, None),
        ({"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": "a: 1"}, kustomize.BadYaml, None),
        (
            {"app/kustomization.yaml": "resources: [a, b]", "app/a": OBJECT, "app/b": OBJECT},
            kustomize.KustomizeDuplicate,
            None,
        ),
        (
            {
                "app/kustomization.yaml": "resources: [a]\npatches: [{path: p}]",
                "app/a": OBJECT,
                "app/p": OBJECT.replace("x", "y"),
            },
            kustomize.KustomizeUnmatched,
            None,
        ),
        (
            {"app/kustomization.yaml": "resources: [../b]", "b/kustomization.yaml": "resources: [../app]"},
            kustomize.KustomizeCycle,
            "b",
        ),
    ],
)
async def test_what_is_wrong(
    client: kustomize.Kustomize,
    tmp_path: Path,
    files: dict[str, str],
    expected: type[kustomize.KustomizeError],
    path: str | None,
) -> None:
    make(tmp_path, files)

    with pytest.raises(expected) as caught:
        await client.build(tmp_path / "app", within=tmp_path)

    assert type(caught.value) is expected
    assert caught.value.path == (tmp_path / path if path else None)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    "generator",
    [
        "secretGenerator: [{name: s, literals: [password=hunter2, x]}]",
        "secretGenerator: [{name: s, literals: [hunter2]}]",
        "secretGenerator: [{name: s, literals: [password=hunter2], behavior: nonsense, type: [x]}]",
    ],
)
async def test_secrets_are_not_in_a_message(client: kustomize.Kustomize, tmp_path: Path, generator: str) -> None:
    make(tmp_path, {"app/kustomization.yaml": generator})

    with pytest.raises(kustomize.KustomizeError) as caught:
        await client.build(tmp_path / "app", within=tmp_path)

    assert "hunter2" not in f"{caught.value} {caught.value.stderr}"


EXEC_FUNCTION = """apiVersion: example.org/v1
kind: Run
metadata:
  name: run
  annotations:
    config.kubernetes.io/function: |
      exec: {path: ./run.sh}
"""
EXEC_PLUGIN = "apiVersion: someteam.example.org/v1\nkind: Run\nmetadata: {name: run}\n"


@pytest.mark.parametrize("plugin", [EXEC_FUNCTION, EXEC_PLUGIN], ids=["function", "plugin"])
@pytest.mark.parametrize("field", ["generators", "transformers", "validators"])
async def test_a_program_in_a_repository_is_not_run(
    paths: dict[str, Path], tmp_path: Path, plugin: str, field: str
) -> None:
    marker = tmp_path / "ran"
    script = f"#!/bin/sh\ntouch {marker}\ncat\n"
    home = tmp_path / "home/.config/kustomize/plugin/someteam.example.org/v1/run"
    make(
        tmp_path,
        {
            "tree/app/kustomization.yaml": f"{field}: [run.yaml]",
            "tree/app/run.yaml": plugin,
            "tree/app/run.sh": script,
            # Behind a kustomization, where only kustomize itself finds it.
            "tree/behind/kustomization.yaml": f"{field}: [inner]\nresources: [a.yaml]",
            "tree/behind/a.yaml": OBJECT,
            "tree/behind/inner/kustomization.yaml": "resources: [run.yaml]",
            "tree/behind/inner/run.yaml": plugin,
            "tree/behind/run.sh": script,
            str((home / "Run").relative_to(tmp_path)): script,
        },
    )
    for program in (tmp_path / "tree/app/run.sh", tmp_path / "tree/behind/run.sh", home / "Run"):
        program.chmod(0o755)
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    client = kustomize.Kustomize(paths["kustomize"], environ=environ)

    for directory in ("app", "behind"):
        with pytest.raises(kustomize.KustomizeForbidden) as caught:
            await client.build(tmp_path / "tree" / directory, within=tmp_path / "tree")
        assert caught.value.reason == "exec"
    assert not marker.exists()

    # The attack is real: kustomize runs it for those who let it.
    reckless = ["build", "--enable-alpha-plugins", "--enable-exec", str(tmp_path / "tree" / "app")]
    await command.run([str(paths["kustomize"]), *reckless], env=environ, cwd=tmp_path / "tree" / "app", check=False)
    assert marker.exists()


async def test_nothing_is_fetched(client: kustomize.Kustomize, paths: dict[str, Path], tmp_path: Path) -> None:
    async with web_server() as (url, asked):
        make(
            tmp_path,
            {
                "app/kustomization.yaml": f"resources: ['{url}/x.yaml']",
                "nested/kustomization.yaml": "resources: [../app]",
                "patch/kustomization.yaml": f"resources: [a.yaml]\npatches: [{{path: '{url}/p'}}]",
                "patch/a.yaml": OBJECT,
                "git/kustomization.yaml": f"resources: ['{url}/org/repo.git//path?ref=main']",
                "chart/kustomization.yaml": f"helmCharts: [{{name: x, repo: '{url}', version: 1.0.0}}]",
            },
        )
        with_helm = kustomize.Kustomize(paths["kustomize"], helm=paths["helm"])
        for directory in ("app", "nested", "patch", "git", "chart"):
            with pytest.raises(kustomize.KustomizeForbidden) as caught:
                await with_helm.build(tmp_path / directory, within=tmp_path)
            assert caught.value.reason == "remote"
        assert asked == []

        # The attack is real.
        await command.run([str(paths["kustomize"]), "build", str(tmp_path / "app")], env={"PATH": os.environ["PATH"]})
        assert asked == ["/x.yaml"]


async def test_what_only_kustomize_sees_is_not_fetched_either(client: kustomize.Kustomize, tmp_path: Path) -> None:
    """A path that a patch puts into the config of a transformer: nobody can know it before."""
    make(
        tmp_path,
        {
            "app/kustomization.yaml": "resources: [a.yaml]\ntransformers: [inner]",
            "app/a.yaml": OBJECT,
            "app/inner/kustomization.yaml": (
                "resources: [t.yaml]\npatches:\n- target: {kind: PatchTransformer}\n  patch: |\n"
                "    - {op: replace, path: /path, value: 'https://example.org/x.yaml'}\n"
            ),
            "app/inner/t.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\npath: x\n",
        },
    )

    with pytest.raises(kustomize.KustomizeForbidden) as caught:
        await client.build(tmp_path / "app", within=tmp_path)

    assert caught.value.reason == "remote"


@pytest.mark.parametrize("beyond", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "configMapGenerator: [{name: stolen, files: [link]}]",
        "configMapGenerator: [{name: stolen, files: [SECRET]}]",
        "configMapGenerator: [{name: stolen, files: [../../secret]}]",
        "configMapGenerator: [{name: stolen, files: [directory/secret]}]",
        "secretGenerator: [{name: stolen, envs: [link]}]",
        "resources: [directory]",
        "resources: [../../elsewhere]",
        "components: [directory]",
    ],
)
async def test_nothing_outside_of_the_tree_is_read(
    client: kustomize.Kustomize, tmp_path: Path, text: str, beyond: bool
) -> None:
    make(
        tmp_path,
        {
            "secret": "hunter2=hunter2",
            "elsewhere/secret": "hunter2",
            "elsewhere/kustomization.yaml": "configMapGenerator: [{name: stolen, files: [secret]}]",
            "tree/app/link": "-> ../../secret",
            "tree/app/directory": "-> ../../elsewhere",
            "tree/app/kustomization.yaml": text.replace("SECRET", str(tmp_path / "secret")),
        },
    )

    with pytest.raises(kustomize.KustomizeForbidden) as caught:
        await client.build(tmp_path / "tree/app", within=tmp_path / "tree", beyond_directory=beyond)

    assert caught.value.reason == "outside"
    assert "hunter2" not in f"{caught.value}"


async def test_charts_with_a_helm_of_ours(paths: dict[str, Path], client: kustomize.Kustomize, tmp_path: Path) -> None:
    make(tmp_path, {"app/kustomization.yaml": "helmCharts: [{name: small, releaseName: one}]", **CHART})
    marker = tmp_path / "ran"
    helm_home = make(tmp_path / "home", {"bin/helm": f"#!/bin/sh\ntouch {marker}\n"})
    (helm_home / "bin" / "helm").chmod(0o755)
    with_helm = kustomize.Kustomize(
        paths["kustomize"], helm=paths["helm"], environ={"PATH": f"{helm_home}/bin:{os.environ['PATH']}"}
    )

    done = await with_helm.build(
        tmp_path / "app", within=tmp_path, kube_version="1.31.0", api_versions=["example.org/v1"]
    )

    [found] = objects(done.text)
    assert found["metadata"]["name"] == "one"
    assert found["data"] == {"text": "default", "kube": "v1.31.0", "widgets": "true"}
    assert not marker.exists()
    with pytest.raises(kustomize.KustomizeForbidden):
        await client.build(tmp_path / "app", within=tmp_path)
    (tmp_path / "app/charts/small/templates/link").symlink_to("/etc/passwd")
    with pytest.raises(kustomize.KustomizeForbidden):
        await with_helm.build(tmp_path / "app", within=tmp_path)
    shutil.rmtree(tmp_path / "app/charts")
    with pytest.raises(kustomize.KustomizeForbidden):
        await with_helm.build(tmp_path / "app", within=tmp_path)


async def test_remote_resources_where_they_are_allowed(client: kustomize.Kustomize, tmp_path: Path) -> None:
    make(tmp_path, {"app/kustomization.yaml": "resources: ['https://127.0.0.1:1/x.yaml']"})

    with pytest.raises(kustomize.KustomizeError, match="connection refused"):
        await client.build(tmp_path / "app", within=tmp_path, allow_remote=True)


async def test_what_takes_too_long(client: kustomize.Kustomize, tmp_path: Path) -> None:
    many = "---\n".join(OBJECT.replace("name: x", f"name: x{n}") for n in range(6000))
    make(tmp_path, {"app/kustomization.yaml": "resources: [a.yaml]\nnamePrefix: p-", "app/a.yaml": many})

    with pytest.raises(kustomize.KustomizeTimedOut):
        await client.build(tmp_path / "app", within=tmp_path, timeout=0.2)
