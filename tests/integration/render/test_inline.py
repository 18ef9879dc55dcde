"""A real chart, embedded into a patch, as a Talos machine applies it; and what real charts make anew each time."""

import asyncio
import datetime
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from firstlight.clients import helm, kube
from firstlight.commands.render import inline
from firstlight.model import helm_chart, helm_names
from firstlight.model.inline_manifest import InlineState
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.render import rendered_objects
from firstlight.render.inline import edited_file, embedding, prepared_objects
from firstlight.render.inline.embedding import EmbeddingRequest
from firstlight.repo import platform_reader
from firstlight.tools import content, install
from tests import machines
from tests.labs import until

MADE_FROM = Path(__file__).parents[2] / "scenarios/platform/made-from/repo"
PLACE = Place("apps/cilium.yaml", 1)
TEMPLATE = """\
kind: Cluster
name: home
kubernetes: {version: v1.36.4}
talos: {version: v1.13.0}
---
kind: ControlPlane
machines: [430d882a-51a8-48b3-ab00-2a2b3c4d5e6f]
patches:
  - {name: core, file: patches/core.yaml}
"""
PATCH = """\
# What the control plane starts with.
cluster:
  network: {cni: {name: none}}   # Cilium is below
  proxy:
    disabled: true
"""
STABLE = {
    "hubble": {"tls": {"auto": {"method": "cronJob"}}, "relay": {"enabled": True}},
    "gatewayAPI": {"enabled": True},
}
NEW_EACH_TIME = {"hubble": {"relay": {"enabled": True}}, "rollOutCiliumPods": True}


@pytest_asyncio.fixture(scope="module")
async def contents() -> Mapping[str, Path]:
    return await content.ensure(["cilium-chart", "gateway-api-crds"])


async def rendered(contents: Mapping[str, Path], values: Mapping[str, Any]) -> list[Object]:
    client = helm.Helm((await install.ensure(["helm"]))["helm"])
    chart = helm_chart.LocalChart(contents["cilium-chart"] / "cilium")
    made = await client.template(chart, release="cilium", namespace="kube-system", values=[values])
    objects, diagnostics = rendered_objects.parse_objects(made.text, PLACE, what="cilium")
    assert diagnostics == []
    return objects


def crds(contents: Mapping[str, Path]) -> list[Object]:
    found: list[Object] = []
    for path in sorted((contents["gateway-api-crds"] / "standard").rglob("*.yaml")):
        found += rendered_objects.parse_objects(path.read_text(), PLACE, what=path.name)[0]
    return [each for each in found if each.is_crd]


def request(root: Path, objects: list[Object], **given: Any) -> EmbeddingRequest:
    (root / "patches").mkdir(exist_ok=True)
    (root / "template.yaml").write_text(TEMPLATE)
    given.setdefault("text", PATCH)
    return EmbeddingRequest(
        root=root, path="patches/core.yaml", name="cilium", component="cilium", place=PLACE, objects=objects,
        talos="v1.13.0", now=datetime.datetime.now(datetime.UTC), **given,
    )  # fmt: skip


def managers(live: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {(each["manager"], each["operation"]) for each in live["metadata"]["managedFields"]}


def noted(each: Object) -> dict[str, Any]:
    """An object with the annotation that Talos adds to each."""
    notes = {**prepared_objects.annotations(each), prepared_objects.INVENTORY: "talos-bootstrap-manifests-inventory"}
    return {**each.value, "metadata": {**each.value["metadata"], "annotations": notes}}


def settled(live: Mapping[str, Any]) -> dict[str, Any]:
    """A live object without what every write changes, and without what its controllers say."""
    gone = ("managedFields", "resourceVersion", "generation")
    metadata = {key: value for key, value in live["metadata"].items() if key not in gone}
    return {**{key: value for key, value in live.items() if key != "status"}, "metadata": metadata}


@pytest.mark.long
async def test_a_machine_applies_a_component_as_it_is_rendered(
    contents: Mapping[str, Path], fresh_machines: machines.Make, tmp_path: Path
) -> None:
    objects = await rendered(contents, STABLE)
    asked = request(tmp_path, objects, again=await rendered(contents, STABLE), crds=crds(contents))
    made = embedding.make_embedding(asked)
    assert not made.embedding.is_refused, made.embedding.diagnostics
    assert made.text.startswith(PATCH)
    assert not [each for each in made.embedding.diagnostics if "anew" in each.message]
    edited_file.write_file(tmp_path, "patches/core.yaml", made.text, old=None)

    one = await fresh_machines(machines=1)
    await one.apply("cp-1", patches=[(tmp_path / "patches" / "core.yaml").read_text()])
    await one.bootstrap()

    async with kube.Client(kube.load(one.lab.kubeconfig)) as client:
        wanted = [each for each in objects if helm_names.HOOK_ANNOTATION not in prepared_objects.annotations(each)]
        wanted += [each for each in crds(contents) if each.id in made.embedding.added_crds]
        assert len(wanted) == len(made.embedding.objects) == len(objects) - 1 + 5

        async def applied() -> bool:
            statuses = await one.talos.manifest_statuses(one.here("cp-1"))
            return any("99-cilium" in each.spec.manifests_applied for each in statuses)

        await until(applied, "Talos to apply the manifest", timeout=90)
        for each in wanted:
            live = await client.get(
                str(each.value["apiVersion"]), each.id.kind, each.id.name, namespace=each.id.namespace
            )  # fmt: skip
            assert ("talos", "Apply") in managers(live), str(each.id)
            # What Talos applied is what is rendered, if applying that in Talos's name would change nothing.
            again = await client.apply(noted(each), manager="talos", dry_run=True)
            assert settled(again) == settled(live), str(each.id)
        with pytest.raises(kube.NotFound):
            await client.get("batch/v1", "Job", "hubble-generate-certs", namespace="kube-system")
    fresh = embedding.make_embedding(request(tmp_path, objects, text=made.text, crds=crds(contents)))
    assert (fresh.embedding.state, fresh.text) == (InlineState.FRESH, made.text)


async def test_what_a_real_chart_makes_anew_is_found_and_kept(contents: Mapping[str, Path], tmp_path: Path) -> None:
    first, second = await rendered(contents, NEW_EACH_TIME), await rendered(contents, NEW_EACH_TIME)
    secrets = ["cilium-ca", "hubble-relay-client-certs", "hubble-server-certs"]

    refused = embedding.make_embedding(request(tmp_path, first))
    suspected = embedding.make_embedding(request(tmp_path, first, allowed=secrets))
    made = embedding.make_embedding(request(tmp_path, first, allowed=secrets, again=second))
    again = embedding.make_embedding(request(tmp_path, second, allowed=secrets, again=first, text=made.text))

    errors = [each.message for each in refused.embedding.diagnostics if each.severity == "error"]
    assert [each.partition(" has real data")[0] for each in errors] == [
        f"Secret kube-system/{name}" for name in secrets
    ]
    for one in (suspected, made):
        said = [each for each in one.embedding.diagnostics if "every rendering makes it anew" in each.message]
        assert {each.message.split(" of ")[1].partition(":")[0] for each in said} == {
            f"Secret kube-system/{name}" for name in secrets
        }
        assert all("hubble.tls.auto.method" in each.fix for each in said)
    assert (again.embedding.state, again.text) == (InlineState.FRESH, made.text)
    assert len(again.embedding.kept) == 8


REPO = {
    "template.yaml": TEMPLATE,
    "patches/core.yaml": """\
# first things
cluster:
  inlineManifests:
    - name: agent # ours
      contents: |
        apiVersion: v1
        kind: ServiceAccount
        metadata: {name: agent, namespace: kube-system}
""",
    "firstlight.yaml": """\
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: home}
gitops: {engine: flux, url: https://git.example.org/me/home, branch: main}
clusters:
  home: {machines: template.yaml, path: clusters/home}
""",
    **{
        f"clusters/home/{name}.yaml": f"""\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec: {{interval: 1h, path: ./apps/{name}, prune: true, sourceRef: {{kind: GitRepository, name: flux-system}}}}
"""
        for name in ("agent", "kinds")
    },
    "apps/agent/kustomization.yaml": "namespace: kube-system\nresources: [all.yaml]\n",
    "apps/agent/all.yaml": """\
apiVersion: v1
kind: ServiceAccount
metadata: {name: agent}
---
apiVersion: example.org/v1
kind: Widget
metadata: {name: w}
""",
    "apps/kinds/all.yaml": """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
""",
}


async def test_a_repo_is_rendered_embedded_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = await install.ensure(["helm", "kustomize"])
    for name, program in found.items():
        monkeypatch.setenv(f"FIRSTLIGHT_{name.upper()}", str(program))
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "repo"
    for path, text in REPO.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    platform = platform_reader.read(root)
    (component,) = [each for each in platform.components if each.name == "agent"]

    async def codes(**typed: Any) -> int:
        return await asyncio.to_thread(inline.command, platform, component, inline.InlineOptions(**typed))

    assert await codes(check=True) == 2
    assert (root / "patches/core.yaml").read_text() == REPO["patches/core.yaml"]
    assert await codes() == 0
    assert await codes(check=True) == 0
    text = (root / "patches/core.yaml").read_text()
    assert text.startswith(REPO["patches/core.yaml"].partition("        apiVersion")[0])
    kinds = [line.split()[1] for line in text.splitlines() if line.startswith("        kind: ")]
    assert kinds == ["CustomResourceDefinition", "ServiceAccount", "Widget"]
    assert "with      CustomResourceDefinition widgets.example.org" in capsys.readouterr().out


async def test_what_nothing_deploys_is_made_from_what_is_declared_and_the_commit_that_made_it_stale_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = await install.ensure(["helm", "kustomize"])
    for name, program in found.items():
        monkeypatch.setenv(f"FIRSTLIGHT_{name.upper()}", str(program))
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "repo"
    shutil.copytree(MADE_FROM, root)

    def run(*words: str) -> None:
        who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)

    async def check(name: str) -> tuple[int, str]:
        platform = platform_reader.read(root)
        (component,) = [each for each in platform.components if each.name == name]
        code = await asyncio.to_thread(inline.command, platform, component, inline.InlineOptions(check=True))
        return code, capsys.readouterr().out

    run("init", "--quiet", "--initial-branch=main")
    run("add", "--all")
    run("commit", "--quiet", "--message=the platform")
    assert (await check("cni"))[0] == 0
    assert (await check("engine"))[0] == 0
    (root / "README.md").write_text("nothing of the network\n")
    run("add", "--all")
    run("commit", "--quiet", "--message=a readme")
    account = root / "apps/network/cni/account.yaml"
    account.write_text(account.read_text().replace("agent", "agent-2"))
    run("commit", "--quiet", "--all", "--message=another agent")

    code, out = await check("cni")

    assert code == 2
    assert "changed since talos/patches/core.yaml was last committed:" in out
    assert "another agent" in out
    assert "a readme" not in out
    assert "the platform" not in out
    assert (await check("engine"))[0] == 0
