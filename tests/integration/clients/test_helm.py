"""helm itself: charts on a disk, in a repository and in a registry, releases in a cluster, and its errors."""

import base64
import gzip
import json
import os
import shutil
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from firstlight import errors
from firstlight.clients import helm
from firstlight.clients import kube as clients_kube
from firstlight.lab import running_lab
from firstlight.model import helm_chart
from firstlight.model import secret as model_secret
from firstlight.model.secret import Secret
from firstlight.tools import install
from tests.unit.clients.helm import chart_server

CHART = """apiVersion: v2
name: small
version: 1.2.3
appVersion: "9.10"
description: small
kubeVersion: ">=1.20.0-0"
"""
SCHEMA = """{"type": "object", "properties": {
"replicas": {"type": "integer"}, "password": {"type": "string", "pattern": "^x+$"}}}"""
CONFIG_MAP = """apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-config
  namespace: {{ .Release.Namespace }}
data:
  replicas: {{ .Values.replicas | quote }}
  text: {{ .Values.text | quote }}
  kube: {{ .Capabilities.KubeVersion.Version }}
  widgets: {{ .Capabilities.APIVersions.Has "example.org/v1/Widget" | quote }}
  upgrade: {{ .Release.IsUpgrade | quote }}
  host: {{ getHostByName "localhost" | quote }}
"""
TEST_POD = """apiVersion: v1
kind: Pod
metadata: {name: test, annotations: {"helm.sh/hook": test}}
"""
LOGIN = model_secret.Login("ada", Secret("hunter2hunter2"))


@pytest_asyncio.fixture(scope="session")
async def helm_path() -> Path:
    return (await install.ensure(["helm"]))["helm"]


@pytest.fixture
def client(helm_path: Path) -> helm.Helm:
    return helm.Helm(helm_path)


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    path = tmp_path / "small"
    (path / "templates" / "tests").mkdir(parents=True)
    (path / "crds").mkdir()
    (path / "Chart.yaml").write_text(CHART)
    (path / "values.yaml").write_text("# how many\nreplicas: 1\ntext: default\n")
    (path / "values.schema.json").write_text(SCHEMA)
    (path / "templates" / "config.yaml").write_text(CONFIG_MAP)
    (path / "templates" / "tests" / "test.yaml").write_text(TEST_POD)
    (path / "crds" / "widget.yaml").write_text(
        "apiVersion: x/v1\nkind: CustomResourceDefinition\nmetadata: {name: w}\n"
    )
    return path


@pytest.fixture
async def server() -> AsyncIterator[chart_server.ChartServer]:
    async with chart_server.serving() as one:
        yield one


@pytest.fixture
async def guarded() -> AsyncIterator[chart_server.ChartServer]:
    async with chart_server.serving(username="ada", password="hunter2hunter2") as one:
        yield one


def documents(text: str) -> dict[str, Any]:
    found = [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each]
    return {each["kind"]: each for each in found}


async def rendered(client: helm.Helm, chart: helm_chart.ChartReference, **options: Any) -> dict[str, Any]:
    done = await client.template(chart, release="one", namespace="two", **options)
    return documents(done.text)


async def test_the_version(client: helm.Helm) -> None:
    assert (await client.version()).startswith("4.")


async def test_a_chart_is_rendered_with_values_in_their_order(client: helm.Helm, chart: Path) -> None:
    objects = await rendered(
        client,
        helm_chart.LocalChart(chart),
        values=[{"replicas": 2, "text": "plain, with = and 'quotes'"}, Secret("replicas: 3\n")],
        kube_version="1.31.2",
        api_versions=["example.org/v1/Widget"],
        is_upgrade=True,
        skip_tests=True,
    )

    assert list(objects) == ["ConfigMap"]
    assert objects["ConfigMap"]["metadata"] == {"name": "one-config", "namespace": "two"}
    assert objects["ConfigMap"]["data"] == {
        "replicas": "3",
        "text": "plain, with = and 'quotes'",
        "kube": "v1.31.2",
        "widgets": "true",
        "upgrade": "true",
        "host": "",
    }


async def test_what_is_in_a_render_and_what_not(client: helm.Helm, chart: Path) -> None:
    local = helm_chart.LocalChart(chart)

    assert set(await rendered(client, local)) == {"ConfigMap", "Pod"}
    assert set(await rendered(client, local, no_hooks=True)) == {"ConfigMap"}
    assert set(await rendered(client, local, skip_tests=True, include_crds=True)) == {
        "ConfigMap",
        "CustomResourceDefinition",
    }
    assert set(await rendered(client, local, show_only=["templates/tests/test.yaml"])) == {"Pod"}


async def test_what_a_chart_says_of_itself(client: helm.Helm, chart: Path, tmp_path: Path) -> None:
    local = helm_chart.LocalChart(chart)

    assert await client.show_chart(local) == helm_chart.ChartMetadata(
        name="small",
        version="1.2.3",
        app_version="9.10",
        api_version="v2",
        kube_version=">=1.20.0-0",
        description="small",
    )
    assert (await client.show_values(local)).startswith("# how many\nreplicas: 1\n")
    archive = await client.package(local, tmp_path, version="2.0.0-rc.1", app_version="10")
    assert archive == tmp_path / "small-2.0.0-rc.1.tgz"
    packed = await client.show_chart(helm_chart.LocalChart(archive))
    assert (packed.version, packed.app_version) == ("2.0.0-rc.1", "10")


async def test_values_that_a_schema_does_not_want(client: helm.Helm, chart: Path) -> None:
    given = Secret("replicas: many\npassword: hunter2hunter2\n")

    with pytest.raises(helm.SchemaViolation) as caught:
        await rendered(client, helm_chart.LocalChart(chart), values=[given])

    # Helm tells them in any order.
    found = {(problem.chart, problem.path): problem.message for problem in caught.value.problems}
    assert found.keys() == {("small", "/password"), ("small", "/replicas")}
    assert found["small", "/replicas"] == "got string, want integer"
    assert "hunter2" not in f"{caught.value} {caught.value.stderr} {caught.value.problems}"
    assert "does not match pattern" in caught.value.message
    await rendered(client, helm_chart.LocalChart(chart), values=[given], skip_schema_validation=True)


@pytest.mark.parametrize(
    ("template", "place", "detail"),
    [
        ("a: 1\nb: {{ .Values.x.y.z }}\n", "small/templates/bad.yaml:2:13", "nil pointer evaluating interface {}.y"),
        ("a: 1\nb: {{ foo }}\n", "small/templates/bad.yaml:2", 'function "foo" not defined'),
        ('a: 1\nb: {{ fail "boom" }}\n', "small/templates/bad.yaml:2:6", "boom"),
        ('{{ required "need it" .Values.q }}\n', "small/templates/bad.yaml:1:3", "need it"),
        ("a: 1\n b: 2\n c\n", "small/templates/bad.yaml", "mapping values are not allowed"),
        ('a: {{ include "nope" . }}\n', "small/templates/bad.yaml:1:6", 'no template "nope"'),
        (
            '{{ define "x" }}\n\n{{ .Values.a.b.c }}{{ end }}\na: {{ include "x" . }}',
            "small/templates/bad.yaml:3:10",
            "nil pointer evaluating interface {}.b",
        ),
    ],
)
async def test_a_template_that_fails_names_its_place(
    client: helm.Helm, chart: Path, template: str, place: str, detail: str
) -> None:
    (chart / "templates" / "bad.yaml").write_text(template)

    with pytest.raises(helm.HelmTemplateError) as caught:
        await rendered(client, helm_chart.LocalChart(chart))

    assert str(caught.value.place) == place
    assert detail in caught.value.detail
    assert "\n" not in caught.value.message


async def test_what_else_is_wrong_with_a_chart(client: helm.Helm, chart: Path, tmp_path: Path) -> None:
    with pytest.raises(helm.ChartNotFound):
        await rendered(client, helm_chart.LocalChart(tmp_path / "none"))
    with pytest.raises(helm.BadValues) as values:
        await rendered(client, helm_chart.LocalChart(chart), values=[Secret("a: [hunter2hunter2")])
    assert "values 1" in values.value.message
    assert "/proc/" not in values.value.message
    assert "hunter2" not in values.value.message
    with pytest.raises(helm.BadChart, match="kubeVersion"):
        await rendered(client, helm_chart.LocalChart(chart), kube_version="1.19.0")
    with pytest.raises(helm.HelmTemplateError):
        await rendered(client, helm_chart.LocalChart(chart), show_only=["templates/none.yaml"])
    (chart / "Chart.yaml").write_text(f"{CHART}dependencies: [{{name: d, version: 1.0.0, repository: 'https://h'}}]\n")
    with pytest.raises(helm.BadChart) as caught:
        await rendered(client, helm_chart.LocalChart(chart))
    assert caught.value.missing == ("d",)
    with pytest.raises(errors.Refused, match="not allowed"):
        await client.dependency_build(helm_chart.LocalChart(chart))
    for broken in (" x", "a: [", "name: x\n", ""):
        (chart / "Chart.yaml").write_text(broken)
        with pytest.raises(helm.BadChart):
            await rendered(client, helm_chart.LocalChart(chart))


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "templates/../../outside"])
async def test_a_link_out_of_a_chart_is_refused(client: helm.Helm, chart: Path, tmp_path: Path, target: str) -> None:
    (tmp_path / "outside").write_text("secret: 1\n")
    (chart / "stolen").symlink_to(target)
    (chart / "templates" / "thief.yaml").write_text('{{ .Files.Get "stolen" }}')

    for method in (client.show_chart, client.show_values):
        with pytest.raises(errors.Refused, match="leads out of"):
            await method(helm_chart.LocalChart(chart))
    with pytest.raises(errors.Refused, match="leads out of"):
        await rendered(client, helm_chart.LocalChart(chart))
    with pytest.raises(errors.Refused, match="leads out of"):
        await client.package(helm_chart.LocalChart(chart), tmp_path)
    if not target.startswith("/"):
        done = await client.template(helm_chart.LocalChart(chart, within=tmp_path), release="one", namespace="two")
        assert "secret: 1" in done.text


async def test_plugins_and_helpers_are_not_run(helm_path: Path, chart: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    home = tmp_path / "home"
    script = f"#!/bin/sh\ntouch {marker}\n"
    plugin = home / ".local/share/helm/plugins/evil"
    for path in (plugin / "evil.sh", home / "bin" / "docker-credential-evil", home / "bin" / "docker-credential-pass"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script)
        path.chmod(0o755)
    (plugin / "plugin.yaml").write_text(
        "apiVersion: v1\ntype: getter/v1\nname: evil\nversion: 0.1.0\nruntime: subprocess\n"
        "config: {protocols: [evil, https]}\n"
        "runtimeConfig: {protocolCommands: [{protocols: [evil, https], platformCommand: [{command: ./evil.sh}]}]}\n"
    )
    (home / ".docker").mkdir()
    (home / ".docker" / "config.json").write_text('{"credsStore": "evil"}')
    environ = {
        "HOME": str(home), "PATH": f"{home}/bin:{os.environ['PATH']}", "HELM_PLUGINS": str(plugin.parent),
        "HELM_DRIVER": "sql", "KUBECONFIG": "/nowhere",
    }  # fmt: skip
    client = helm.Helm(helm_path, environ=environ)

    await rendered(client, helm_chart.LocalChart(chart))
    with pytest.raises(helm.HelmUnreachable):
        await client.show_chart(helm_chart.OciChart("oci://127.0.0.1:1/x/y", "1.0.0"))
    with pytest.raises(helm.HelmUnreachable):
        await client.show_chart(helm_chart.RepositoryChart("https://127.0.0.1:1", "x"))
    for reference in (helm_chart.OciChart("evil://h/x"), helm_chart.RepositoryChart("evil://h/x", "y")):
        with pytest.raises(errors.UsageError):
            await client.show_chart(reference)

    assert not marker.exists()


async def test_an_endless_template_is_ended(client: helm.Helm, chart: Path) -> None:
    endless = "{{ range until 9999 }}" * 3 + "{{ end }}" * 3
    (chart / "templates" / "bad.yaml").write_text(f"a: {endless}\n")

    with pytest.raises(helm.HelmTimedOut):
        await client.template(helm_chart.LocalChart(chart), release="one", namespace="two", timeout=1.5)


async def test_a_repository(helm_path: Path, chart: Path, server: chart_server.ChartServer, tmp_path: Path) -> None:
    client = helm.Helm(helm_path, plain_http=[server.host])
    archive = await client.package(helm_chart.LocalChart(chart), tmp_path)
    server.serve_chart(archive, name="small", version="1.2.3")
    url = f"http://{server.host}/charts/stable"

    assert "ConfigMap" in await rendered(client, helm_chart.RepositoryChart(url, "small", "^1.2"))
    pulled = await client.pull(helm_chart.RepositoryChart(url, "small", "1.2.3"), tmp_path / "pulled")
    assert (pulled.path, pulled.chart.version, pulled.digest) == (tmp_path / "pulled", "1.2.3", "")
    assert (tmp_path / "pulled" / "templates" / "config.yaml").read_text() == CONFIG_MAP
    assert "ConfigMap" in await rendered(client, helm_chart.LocalChart(pulled.path))
    with pytest.raises(helm.VersionNotFound):
        await client.pull(helm_chart.RepositoryChart(url, "small", "9"), tmp_path / "none")
    for version in ("", "1.2.3"):
        with pytest.raises(helm.ChartNotFound):
            await client.pull(helm_chart.RepositoryChart(url, "other", version), tmp_path / "none")
    with pytest.raises(helm.ChartNotFound):
        await client.pull(helm_chart.RepositoryChart(f"http://{server.host}/charts/none", "small"), tmp_path / "none")
    with pytest.raises(errors.UsageError, match="already"):
        await client.pull(helm_chart.RepositoryChart(url, "small"), tmp_path / "pulled")
    with pytest.raises(errors.UsageError, match="without TLS"):
        await helm.Helm(helm_path).pull(helm_chart.RepositoryChart(url, "small"), tmp_path / "none")
    server.files["stable/index.yaml"] = b"<html>"
    with pytest.raises(helm.ChartNotFound):
        await client.pull(helm_chart.RepositoryChart(url, "small"), tmp_path / "none")
    assert not (tmp_path / "none").exists()


async def test_a_repository_behind_a_password(
    helm_path: Path, chart: Path, guarded: chart_server.ChartServer, tmp_path: Path
) -> None:
    client = helm.Helm(helm_path, plain_http=[guarded.host], logins={guarded.host: LOGIN})
    guarded.serve_chart(await client.package(helm_chart.LocalChart(chart), tmp_path), name="small", version="1.2.3")
    url = f"http://{guarded.host}/charts/stable"

    assert "ConfigMap" in await rendered(client, helm_chart.RepositoryChart(url, "small", "1.2.3"))
    with pytest.raises(helm.VersionNotFound):
        await client.show_chart(helm_chart.RepositoryChart(url, "small", "9"))
    with pytest.raises(helm.ChartNotFound):
        await client.show_chart(helm_chart.RepositoryChart(url, "other", "9"))
    wrong = {guarded.host: model_secret.Login("ada", Secret("wrongwrong"))}
    for stranger in (
        helm.Helm(helm_path, plain_http=[guarded.host], logins=wrong),
        helm.Helm(helm_path, plain_http=[guarded.host]),
    ):
        with pytest.raises(helm.HelmUnauthorised) as caught:
            await stranger.show_chart(helm_chart.RepositoryChart(url, "small"))
        assert "wrongwrong" not in caught.value.stderr


async def test_a_registry(helm_path: Path, chart: Path, guarded: chart_server.ChartServer, tmp_path: Path) -> None:
    client = helm.Helm(helm_path, plain_http=[guarded.host], logins={guarded.host: LOGIN})
    archive = await client.package(helm_chart.LocalChart(chart), tmp_path)
    url = f"oci://{guarded.host}/library/small"

    pushed = await client.push(archive, f"oci://{guarded.host}/library")

    assert pushed.reference == f"{guarded.host}/library/small:1.2.3"
    pulled = await client.pull(helm_chart.OciChart(url, "1.2.3"), tmp_path / "pulled")
    assert (pulled.digest, pulled.chart.name) == (pushed.digest, "small")
    objects = await client.template(helm_chart.OciChart(url), release="one", namespace="two")
    assert objects.text.startswith("---\n# Source: small/")
    assert (await client.show_chart(helm_chart.OciChart(url, digest=pushed.digest))).version == "1.2.3"
    for version in ("9.9.9", "^9"):
        with pytest.raises(helm.VersionNotFound):
            await client.show_chart(helm_chart.OciChart(url, version))
    for version in ("9.9.9", ""):
        with pytest.raises(helm.ChartNotFound):
            await client.show_chart(helm_chart.OciChart(f"oci://{guarded.host}/library/other", version))
    await client.registry_login(guarded.host, LOGIN)
    stranger = helm.Helm(helm_path, plain_http=[guarded.host])
    with pytest.raises(helm.HelmUnauthorised):
        await stranger.registry_login(guarded.host, model_secret.Login("ada", Secret("wrongwrong")))
    with pytest.raises(helm.HelmUnauthorised):
        await stranger.show_chart(helm_chart.OciChart(url, "1.2.3"))
    with pytest.raises(helm.HelmUnauthorised):
        await stranger.push(archive, f"oci://{guarded.host}/library")


@pytest.mark.parametrize(
    ("status", "expected"),
    [(401, helm.HelmUnauthorised), (403, helm.HelmUnauthorised), (404, helm.ChartNotFound), (400, helm.HelmError)],
)
async def test_what_a_server_answers(
    helm_path: Path, server: chart_server.ChartServer, status: int, expected: type[helm.HelmError]
) -> None:
    client = helm.Helm(helm_path, plain_http=[server.host])
    server.status = status

    for reference in (
        helm_chart.OciChart(f"oci://{server.host}/x/y", "1.0.0"),
        helm_chart.RepositoryChart(f"http://{server.host}/charts/x", "y"),
    ):
        with pytest.raises(expected) as caught:
            await client.show_chart(reference)
        assert type(caught.value) is expected


async def test_dependencies_where_they_are_allowed(
    helm_path: Path, chart: Path, server: chart_server.ChartServer, tmp_path: Path
) -> None:
    client = helm.Helm(helm_path, plain_http=[server.host], allow_dependencies=True)
    server.serve_chart(await client.package(helm_chart.LocalChart(chart), tmp_path), name="small", version="1.2.3")
    parent = tmp_path / "parent"
    (parent / "templates").mkdir(parents=True)

    def needs(repository: str) -> None:
        (parent / "Chart.yaml").write_text(
            f"apiVersion: v2\nname: parent\nversion: 1.0.0\n"
            f"dependencies: [{{name: small, version: 1.2.3, repository: '{repository}'}}]\n"
        )

    needs(f"http://{server.host}/charts/stable")
    await client.dependency_build(helm_chart.LocalChart(parent))
    assert (parent / "charts" / "small-1.2.3.tgz").is_file()
    assert "ConfigMap" in await rendered(client, helm_chart.LocalChart(parent))
    shutil.rmtree(parent / "charts")
    (parent / "Chart.lock").unlink()
    for forbidden in ("file:///etc", "file://../../..", "file://../small"):
        needs(forbidden)
        with pytest.raises(errors.Refused):
            await client.dependency_build(helm_chart.LocalChart(parent))
    for forbidden in ("http://other.example.org/x", "--post-renderer=x", "@alias", "evil://x"):
        needs(forbidden)
        with pytest.raises(errors.UsageError):
            await client.dependency_build(helm_chart.LocalChart(parent))
    needs("file://../small")
    await client.dependency_build(helm_chart.LocalChart(parent, within=tmp_path))
    assert (parent / "charts" / "small-1.2.3.tgz").is_file()


@pytest.fixture
def release_client(helm_path: Path, lab: running_lab.Lab) -> helm.Helm:
    return helm.Helm(helm_path, kubeconfig=Secret(lab.kubeconfig.read_bytes()))


async def test_releases(release_client: helm.Helm, kube: clients_kube.Client, namespace: str, chart: Path) -> None:
    shutil.rmtree(chart / "crds")
    shutil.rmtree(chart / "templates" / "tests")
    local = helm_chart.LocalChart(chart)
    with pytest.raises(helm.ReleaseNotFound):
        await release_client.status("one", namespace=namespace)
    with pytest.raises(helm.ReleaseNotFound):
        await release_client.history("one", namespace=namespace)
    with pytest.raises(helm.ReleaseNotFound):
        await release_client.upgrade("one", local, namespace=namespace)
    assert await release_client.list(namespace=namespace) == ()
    dry = await release_client.install(
        "one", local, namespace=namespace, options=helm_chart.ReleaseOptions(dry_run="server")
    )
    assert dry.manifest is not None
    assert b"one-config" in dry.manifest.reveal()
    assert await release_client.list(namespace=namespace) == ()

    made = await release_client.install("one", local, namespace=namespace, values=[Secret("text: sesame-1\n")])

    assert (made.name, made.namespace, made.revision, made.status) == ("one", namespace, 1, "deployed")
    assert made.apply_method == "server-side"
    found = await kube.get("v1", "ConfigMap", "one-config", namespace=namespace)
    assert found["data"]["text"] == "sesame-1"
    assert [entry["operation"] for entry in found["metadata"]["managedFields"]] == ["Apply"]
    with pytest.raises(helm.HelmAlreadyExists):
        await release_client.install("one", local, namespace=namespace)

    options = helm_chart.ReleaseOptions(description="on purpose", labels={"team": "a"})
    second = await release_client.upgrade("one", local, namespace=namespace, values=[{"replicas": 2}], options=options)
    assert (second.revision, second.description) == (2, "on purpose")
    [listed] = await release_client.list(namespace=namespace)
    assert (listed.chart, listed.chart_version, listed.app_version, listed.revision) == ("small", "1.2.3", "9.10", 2)
    assert listed.updated is not None
    assert [each.name for each in await release_client.list() if each.namespace == namespace] == ["one"]
    assert [(each.revision, each.status) for each in await release_client.history("one", namespace=namespace)] == [
        (1, "superseded"),
        (2, "deployed"),
    ]
    now = await release_client.status("one", namespace=namespace)
    assert (now.revision, now.chart, now.chart_version, now.description) == (2, "small", "1.2.3", "on purpose")
    assert now.manifest is not None
    assert b'replicas: "2"' in now.manifest.reveal()
    assert (await release_client.status("one", namespace=namespace, revision=1)).status == "superseded"


async def test_objects_of_others(
    release_client: helm.Helm, kube: clients_kube.Client, namespace: str, chart: Path
) -> None:
    shutil.rmtree(chart / "crds")
    theirs = {
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "one-config", "namespace": namespace}, "data": {"text": "theirs"},
    }  # fmt: skip
    await kube.apply(theirs, manager="somebody")
    local = helm_chart.LocalChart(chart)

    with pytest.raises(helm.HelmNotOwned):
        await release_client.install("one", local, namespace=namespace)
    taking = helm_chart.ReleaseOptions(take_ownership=True)
    with pytest.raises(helm.HelmConflict) as caught:
        await release_client.upgrade("one", local, namespace=namespace, options=taking, install=True)
    assert caught.value.managers == ("somebody",)
    forced = helm_chart.ReleaseOptions(take_ownership=True, force_conflicts=True)
    made = await release_client.upgrade("one", local, namespace=namespace, options=forced, install=True)
    assert made.status == "deployed"
    found = await kube.get("v1", "ConfigMap", "one-config", namespace=namespace)
    assert found["data"]["text"] == "default"


async def test_what_a_cluster_does_not_take(
    helm_path: Path,
    release_client: helm.Helm,
    kube: clients_kube.Client,
    lab: running_lab.Lab,
    namespace: str,
    chart: Path,
) -> None:
    shutil.rmtree(chart / "crds")
    (chart / "templates" / "more.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'Not Valid'}\n")
    with pytest.raises(helm.HelmRejected):
        await release_client.install("one", helm_chart.LocalChart(chart), namespace=namespace)
    (chart / "templates" / "more.yaml").write_text("apiVersion: example.org/v1\nkind: Unknown\nmetadata: {name: x}\n")
    with pytest.raises(helm.HelmRejected):
        await release_client.install("two", helm_chart.LocalChart(chart), namespace=namespace)
    (chart / "templates" / "more.yaml").unlink()
    with pytest.raises(helm.HelmRejected):
        await release_client.install("three", helm_chart.LocalChart(chart), namespace="nowhere-at-all")
    history = await release_client.history("one", namespace=namespace)
    assert [each.status for each in history] == ["failed"]


async def test_a_release_that_is_pending(
    release_client: helm.Helm, kube: clients_kube.Client, namespace: str, chart: Path
) -> None:
    """A Helm that died on the way leaves its release so."""
    shutil.rmtree(chart / "crds")
    local = helm_chart.LocalChart(chart)
    await release_client.install("one", local, namespace=namespace)
    secret = await kube.get("v1", "Secret", "sh.helm.release.v1.one.v1", namespace=namespace)
    release = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"]))))
    release["version"] = 2
    release["info"]["status"] = "pending-upgrade"
    packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(release).encode()))).decode()
    labels = {**secret["metadata"]["labels"], "status": "pending-upgrade", "version": "2"}
    await kube.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": secret["type"],
            "metadata": {"name": "sh.helm.release.v1.one.v2", "namespace": namespace, "labels": labels},
            "data": {"release": packed},
        },
        manager="tests",
    )

    with pytest.raises(helm.HelmBusy):
        await release_client.upgrade("one", local, namespace=namespace)

    [listed] = await release_client.list(namespace=namespace)
    assert (listed.revision, listed.status, listed.is_pending) == (2, "pending-upgrade", True)
    assert (await release_client.status("one", namespace=namespace)).is_pending


async def test_clusters_that_do_not_answer_or_let_nobody_in(
    helm_path: Path, lab: running_lab.Lab, namespace: str
) -> None:
    config = yaml.safe_load(lab.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    with pytest.raises(helm.HelmUnreachable):
        await helm.Helm(helm_path, kubeconfig=Secret(yaml.safe_dump(config))).list(namespace=namespace)
    config = yaml.safe_load(lab.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": "sesame-sesame"}
    with pytest.raises(helm.HelmUnauthorised):
        await helm.Helm(helm_path, kubeconfig=Secret(yaml.safe_dump(config))).list(namespace=namespace)
    config = yaml.safe_load(lab.kubeconfig.read_text())
    config["clusters"][0]["cluster"].pop("certificate-authority-data", None)
    config["clusters"][0]["cluster"].pop("certificate-authority", None)
    with pytest.raises(helm.HelmUntrusted):
        await helm.Helm(helm_path, kubeconfig=Secret(yaml.safe_dump(config))).list(namespace=namespace)
    with pytest.raises(errors.UsageError, match="needs a kubeconfig"):
        await helm.Helm(helm_path).list()


async def test_a_program_in_a_kubeconfig_is_run_only_if_it_is_allowed(
    helm_path: Path, lab: running_lab.Lab, namespace: str, tmp_path: Path
) -> None:
    marker = tmp_path / "ran"
    program = tmp_path / "credentials"
    program.write_text(f"#!/bin/sh\ntouch {marker}\nexit 1\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    config = yaml.safe_load(lab.kubeconfig.read_text())
    config["users"][0]["user"] = {
        "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program), "interactiveMode": "Never"}
    }
    kubeconfig = Secret(yaml.safe_dump(config))

    with pytest.raises(errors.Refused):
        helm.Helm(helm_path, kubeconfig=kubeconfig)
    assert not marker.exists()
    with pytest.raises(helm.HelmError):
        await helm.Helm(helm_path, kubeconfig=kubeconfig, allow_exec=True).list(namespace=namespace)
    assert marker.exists()
