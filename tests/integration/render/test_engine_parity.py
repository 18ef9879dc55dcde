"""Renditions against the real engines in the lab: the same objects, the same fields, the same values.

A repo is put into the lab's Git, Flux or Argo CD deploy it, and every object that they applied is compared with what
is rendered of the same files: each rendered value is live, and each field that the engine owns is rendered.
"""

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firstlight.model.component import Side
from tests.argocd import HOME, ArgoCD, application
from tests.flux import OFTEN, Flux, chart
from tests.integration.render import applied, repos
from tests.integration.render.repos import Kitchen, messages

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web, tier: "${tier}"}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: registry.example/web:1
          args: ["--region=${region:=nowhere}", --port=8080]
          ports: [{containerPort: 8080, name: http}]
          env: [{name: MODE, value: "${mode:=plain}"}]
        - {name: side, image: "registry.example/side:1"}
"""
SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http, name: http}]}
"""
TEMPLATES = {
    "deployment.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels: {chart: "{{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata:
      labels: {app: {{ .Release.Name }}}
      annotations: {checksum: {{ .Values | toJson | sha256sum | quote }}}
    spec:
      containers: [{name: main, image: "{{ .Values.image }}", args: {{ .Values.args | toJson }}}]
""",
    "config.yaml": """
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}
data:
  word: {{ .Values.word | quote }}
  nested: {{ .Values.nested | toJson | quote }}
  services: {{ .Capabilities.APIVersions.Has "v1/Service" | quote }}
  things: {{ .Capabilities.APIVersions.Has "render.example/v1/Thing" | quote }}
  minor: {{ .Capabilities.KubeVersion.Minor | quote }}
{{- if .Capabilities.APIVersions.Has "render.example/v1/Thing" }}
---
apiVersion: render.example/v1
kind: Thing
metadata: {name: {{ .Release.Name }}-{{ .Release.Namespace }}}
{{- end }}
""",
    "role.yaml": """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: {{ .Release.Name }}-{{ .Release.Namespace }}}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]
""",
}
VALUES = "replicas: 1\nword: default\nnested: {a: 1, b: 2}\nimage: registry.example/main:1\nargs: [one]\n"
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.render.example"},
    "spec": {
        "group": "render.example",
        "scope": "Cluster",
        "names": {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"},
        "versions": [{
            "name": "v1", "served": True, "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }],
    },
}  # fmt: skip
OVERLAY: dict[str, object] = {
    "base/kustomization.yaml": {"resources": ["deployment.yaml", "service.yaml"]},
    "base/deployment.yaml": DEPLOYMENT.replace("${replicas}", "1").replace("${tier}", "base"),
    "base/service.yaml": SERVICE,
    "part/kustomization.yaml": {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "resources": ["budget.yaml"],
        "patches": [{"target": {"kind": "Service"}, "patch": "- {op: add, path: /spec/type, value: ClusterIP}\n"}],
    },
    "part/budget.yaml": (
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n"
        "spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}\n"
    ),
    "overlay/kustomization.yaml": {
        "resources": ["../base"],
        "components": ["../part"],
        "namePrefix": "live-",
        "labels": [{"pairs": {"env": "live"}, "includeSelectors": True}],
        "commonAnnotations": {"note": "a text: with signs"},
        "replicas": [{"name": "web", "count": 2}],
        "images": [{"name": "registry.example/web", "newTag": "2"}],
        "configMapGenerator": [{"name": "settings", "literals": ["a=1", "b=two words"], "files": ["note.txt"]}],
        "patches": [
            {"path": "merge.yaml"},
            {"target": {"kind": "Deployment", "name": "web"}, "path": "patch.yaml"},
        ],
        "replacements": [{
            "source": {"kind": "ConfigMap", "name": "settings", "fieldPath": "data.b"},
            "targets": [{"select": {"kind": "Deployment"}, "options": {"create": True},
                         "fieldPaths": ["metadata.annotations.copied"]}],
        }],
    },
    "overlay/note.txt": "line one\nline two\n",
    "overlay/merge.yaml": (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
        "spec:\n  template:\n    spec:\n      containers:\n"
        "        - {name: side, $patch: delete}\n"
        "        - name: web\n          envFrom: [{configMapRef: {name: settings}}]\n"
        "          env: [{name: MODE, value: live}, {name: MORE, value: 'yes'}]\n"
    ),
    "overlay/patch.yaml": (
        "- {op: replace, path: /spec/template/spec/containers/0/ports/0/containerPort, value: 9090}\n"
        "- {op: add, path: /spec/template/spec/containers/0/args/-, value: --verbose}\n"
    ),
}  # fmt: skip


def kustomization(space: str, name: str, path: str, **more: Any) -> dict[str, Any]:
    spec = {
        "sourceRef": {"kind": "GitRepository", "name": space}, "path": path, "prune": True, "retryInterval": "1s",
        "targetNamespace": space, **OFTEN, **more,
    }  # fmt: skip
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": name, "namespace": space}, "spec": spec,
    }  # fmt: skip


def flux_files(flux: Flux, space: str, charts: str) -> dict[str, object]:
    """A repo as people write it: a root, a ConfigMap with settings, Kustomizations, HelmReleases and their sources."""
    source = {"apiVersion": "source.toolkit.fluxcd.io/v1", "metadata": {"name": space, "namespace": space}}
    release = {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease"}
    build = {
        "substitute": {"replicas": "2", "tier": "front"},
        "substituteFrom": [{"kind": "ConfigMap", "name": "settings"}],
    }
    patches = [
        {"target": {"kind": "Deployment"}, "patch": "- {op: add, path: /spec/minReadySeconds, value: 3}\n"},
        {"patch": "apiVersion: v1\nkind: Service\nmetadata: {name: web, labels: {patched: 'yes'}}\n"},
    ]
    return {
        "clusters/lab/flux-system/gotk-sync.yaml": [
            {**source, "kind": "GitRepository", "spec": {
                "url": f"{flux.at.git}tests/{space}.git", "ref": {"branch": "main"}, **OFTEN}},
            kustomization(space, "root", "./clusters/lab"),
        ],
        "clusters/lab/settings.yaml": {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": space},
            "data": {"region": "north", "word": "from settings"},
        },
        "clusters/lab/plain.yaml": kustomization(
            space, "plain", "./plain", postBuild=build, patches=patches, namePrefix="plain-",
            images=[{
                "name": "registry.example/side", "newName": "mirror.example/side", "digest": f"sha256:{'0' * 64}"}],
            commonMetadata={"labels": {"team": "one"}, "annotations": {"note": "all"}},
        ),
        "clusters/lab/overlay.yaml": kustomization(space, "overlay", "./overlay"),
        "clusters/lab/releases.yaml": kustomization(
            space, "releases", "./releases", postBuild={"substituteFrom": [{"kind": "ConfigMap", "name": "settings"}]}
        ),
        "plain/deployment.yaml": DEPLOYMENT,
        "plain/deep/service.yaml": SERVICE,
        "plain/crd.yaml": CRD,
        **OVERLAY,
        "releases/kustomization.yaml": {
            "resources": ["sources.yaml", "releases.yaml"],
            "configMapGenerator": [{"name": "values", "files": ["values.yaml=values.yaml", "single=single.txt"]}],
            "generatorOptions": {"disableNameSuffixHash": True},
        },
        "releases/values.yaml": "word: ${word}\nnested: {a: 10, c: 3}\nargs: [two, three]\n",
        "releases/single.txt": "7",
        "releases/sources.yaml": [
            {**source, "kind": "HelmRepository", "spec": {"url": charts, **OFTEN}},
            {**source, "kind": "OCIRepository", "spec": {
                "url": f"oci://{flux.at.registry}/{space}/greeter", "insecure": True, "ref": {"semver": "1.x"},
                "layerSelector": {
                    "mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "operation": "copy"}, **OFTEN}},
        ],
        "releases/releases.yaml": [
            {**release, "metadata": {"name": "first", "namespace": space}, "spec": {
                "interval": "1m",
                "chart": {"spec": {"chart": "greeter", "version": "1.x", "sourceRef": {
                    "kind": "HelmRepository", "name": space}}},
                "valuesFrom": [
                    {"kind": "ConfigMap", "name": "values"},
                    {"kind": "ConfigMap", "name": "values", "valuesKey": "single", "targetPath": "nested.d"},
                ],
                "values": {"replicas": 2, "nested": {"e": "${region}"}},
                "commonMetadata": {"labels": {"team": "two"}},
                "postRenderers": [{"kustomize": {
                    "patches": [{"target": {"kind": "ConfigMap"},
                                 "patch": "- {op: add, path: /data/more, value: patched}\n"}],
                    "images": [{"name": "registry.example/main", "newTag": "9"}]}}],
            }},
            {**release, "metadata": {"name": "second", "namespace": space}, "spec": {
                "interval": "1m", "releaseName": "named", "chartRef": {"kind": "OCIRepository", "name": space}}},
        ],
    }  # fmt: skip


@pytest.fixture
def here(kitchen: Kitchen, flux: Flux) -> Kitchen:
    return dataclasses.replace(kitchen, plain_http=repos.plain([flux.at.registry, flux.at.charts, flux.at.git]))


def declared(root: Path, kubernetes: str) -> None:
    """The version of the lab's Kubernetes, which charts ask for."""
    repos.write(root, {"firstlight.yaml": {
        "apiVersion": "firstlight.dev/v1alpha1", "kind": "Platform", "metadata": {"name": "lab"},
        "clusters": {"lab": {"path": "clusters/lab", "kubernetes": kubernetes}}}})  # fmt: skip


async def version(kube: Any) -> str:
    return str(msgspec.json.decode((await kube.request("GET", "/version")).body)["gitVersion"])


async def test_flux(flux: Flux, space: str, here: Kitchen, tmp_path: Path) -> None:
    """A plain directory, a patch-heavy overlay, and HelmReleases with valuesFrom and substitution."""
    made = await flux.sources.create_charts(space)
    archive = chart("greeter", "1.3.0", TEMPLATES, VALUES)
    await flux.sources.push_chart(space, archive)
    await flux.sources.push_oci_chart(space, archive)
    files = flux_files(flux, space, made.url)
    root = repos.write(tmp_path / "repo", files)
    await flux.repository(space, space, {path: repos.text(content) for path, content in files.items()})
    await flux.kube.apply(kustomization(space, "root", "./clusters/lab"), manager="tests")
    kustomizations = {
        name: await flux.ready("Kustomization", name, space) for name in ("root", "plain", "overlay", "releases")
    }
    for name in ("first", "second"):
        await flux.ready("HelmRelease", name, space)

    declared(root, await version(flux.kube))
    found = await here.everything(root, owner_labels=True)
    renditions = {name: outcome.rendition for (name, side), outcome in found.items() if side == Side.GITOPS}

    assert {name: messages(each) for name, each in renditions.items() if each.diagnostics} == {}
    for name, kustomized in kustomizations.items():
        assert applied.ids(renditions[name].objects) == applied.inventory(kustomized)
        assert await applied.differences(flux.kube, renditions[name].objects, manager="kustomize-controller") == []
    for name in ("first", "second"):
        assert await applied.differences(flux.kube, renditions[name].objects, manager="helm-controller") == []
    words = {each.id.name: each.value["data"] for each in renditions["first"].objects if each.id.kind == "ConfigMap"}
    assert words["first"]["word"] == "from settings"
    assert words["first"]["things"] == "true"


@pytest.fixture
def there(kitchen: Kitchen, argocd: ArgoCD) -> Kitchen:
    return dataclasses.replace(kitchen, plain_http=repos.plain([argocd.at.registry, argocd.at.charts, argocd.at.git]))


async def test_argocd(argocd: ArgoCD, site: str, there: Kitchen, tmp_path: Path) -> None:
    """Applications with Helm, kustomize and plain directories, from one source and several, and an ApplicationSet."""
    charts = await argocd.sources.create_charts(site)
    await argocd.sources.push_chart(site, chart("greeter", "1.3.0", TEMPLATES, VALUES))
    url = argocd.git(site)

    def here(path: str, **more: Any) -> dict[str, Any]:
        return {"repoURL": url, "targetRevision": "main", "path": path, **more}

    helm = {
        "valueFiles": ["$files/values/app.yaml"],
        "valuesObject": {"nested": {"e": "five"}},
        "parameters": [{"name": "replicas", "value": "2"}, {"name": "nested.d", "value": "7", "forceString": True}],
    }
    with_chart = application(f"{site}-chart", site, {})
    with_chart["spec"].pop("source")
    with_chart["spec"]["sources"] = [
        {"repoURL": charts.url, "chart": "greeter", "targetRevision": "1.x", "helm": helm},
        {"repoURL": url, "targetRevision": "main", "ref": "files"},
        here("extra"),
    ]
    options = {"nameSuffix": "-end", "images": ["registry.example/side=mirror.example/side:3"],
               "commonLabels": {"team": "$ARGOCD_APP_NAME"}}  # fmt: skip
    overlay = application(f"{site}-overlay", site, here("overlay", kustomize=options))
    template = application("x", site, here("{{.path.path}}"))
    members = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": f"{site}-set", "namespace": HOME},
        "spec": {
            "goTemplate": True,
            "generators": [{"git": {"repoURL": url, "revision": "main", "directories": [{"path": "many/*"}]}}],
            "template": {"metadata": {"name": f"{site}-{{{{.path.basename}}}}"}, "spec": template["spec"]},
        },
    }
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {word: %s}\n"
    files: dict[str, object] = {
        "root.yaml": application(f"{site}-root", HOME, here("apps")),
        "apps/chart.yaml": with_chart,
        "apps/overlay.yaml": overlay,
        "apps/set.yaml": members,
        "values/app.yaml": "word: by ref\nargs: [two]\n",
        "extra/more.yaml": config % ("more", "extra"),
        "many/one/a.yaml": config % ("one", "first"),
        "many/two/kustomization.yaml": {"resources": ["a.yaml"], "namePrefix": "two-"},
        "many/two/a.yaml": config % ("a", "second"),
        **{path: text for path, text in OVERLAY.items()},
    }
    root = repos.write(tmp_path / "repo", files)
    await argocd.commit(site, {path: repos.text(content) for path, content in files.items()})
    await argocd.kube.apply(application(f"{site}-root", HOME, here("apps")), manager="tests")
    names = [f"{site}-{each}" for each in ("chart", "overlay", "one", "two")]
    lives = {name: await argocd.synced(name) for name in names}

    repos.write(root, {"firstlight.yaml": {
        "apiVersion": "firstlight.dev/v1alpha1", "kind": "Platform", "metadata": {"name": "lab"},
        "gitops": {"url": url},
        "clusters": {"lab": {"path": "apps", "kubernetes": await version(argocd.kube)}}}})  # fmt: skip
    found = await there.everything(root, owner_labels=True)
    renditions = {outcome.rendition.component: outcome.rendition for outcome in found.values()}
    by_name = {name: next(each for key, each in renditions.items() if name.endswith(key)) for name in names}

    for name, rendition in by_name.items():
        listed = {
            (each.get("group", ""), each["kind"], each.get("namespace", ""), each["name"])
            for each in lives[name]["status"]["resources"]
        }
        assert messages(rendition, "error", "unknown") == []
        assert {dataclasses.astuple(each) for each in applied.ids(rendition.objects)} == listed
        assert await applied.differences(argocd.kube, rendition.objects, manager="argocd-controller") == []


def test_the_comparison_finds_differences() -> None:
    """It would be worth nothing if it did not."""
    live = {"data": {"a": "1", "b": "2"}}
    fields: dict[str, Any] = {"f:data": {"f:a": {}, "f:b": {}}}
    assert list(applied._missing({"data": {"a": "1"}}, live, ())) == []
    assert list(applied._missing({"data": {"a": "x"}}, live, ())) != []
    assert list(applied._unrendered(fields, {"data": {"a": "1", "b": "2"}}, "")) == []
    assert list(applied._unrendered(fields, {"data": {"a": "1"}}, "")) == ["/f:data/f:b"]
