"""What sort of thing a file is."""

from pathlib import Path

import pytest

from firstlight.model.change import Matter
from firstlight.repo.changes import file_classification
from tests.unit.repo.changes.states import changes

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
CASES: dict[str, tuple[str, str, Matter]] = {
    "object": ("apps/a.yaml", OBJECT, Matter.OBJECT),
    "object of Talos's group of names": ("talos/a.yaml", OBJECT, Matter.OBJECT),
    "object in a folder of charts' CRDs": ("charts/a/crds/a.yaml", OBJECT, Matter.OBJECT),
    "encrypted Secret": (
        "a.sops.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nsops: {mac: x}\n",
        Matter.SECRET,
    ),
    "encrypted something": ("a.sops.yaml", "a: x\nsops: {mac: x}\n", Matter.SECRET),
    "rules of sops": (".sops.yaml", "creation_rules: []\n", Matter.TOOLING),
    "config": ("x/a.yaml", "version: v1alpha1\nmachine: {type: worker}\n", Matter.MACHINE),
    "patch": ("x/a.yaml", "machine: {network: {hostname: a}}\n", Matter.MACHINE),
    "patch of the cluster": ("x/a.yaml", "cluster: {network: {cni: {name: none}}}\n", Matter.MACHINE),
    "operations": ("x/a.yaml", "- {op: add, path: /cluster/proxy, value: {disabled: true}}\n", Matter.MACHINE),
    "operations in JSON": ("x/a.json", '[{"op": "add", "path": "/machine/type", "value": "a"}]', Matter.MACHINE),
    "document of Talos": ("x/a.yaml", "apiVersion: v1alpha1\nkind: VolumeConfig\nname: EPHEMERAL\n", Matter.MACHINE),
    "talconfig": ("a/talconfig.yaml", "clusterName: a\nnodes: []\n", Matter.MACHINE),
    "broken talconfig": ("a/talconfig.yaml", "clusterName: [\n", Matter.MACHINE),
    "talenv": ("a/talenv.sops.yaml", "a: x\nsops: {mac: x}\n", Matter.MACHINE),
    "bundle of secrets": ("a/b.yaml", "cluster: {id: a, secret: b}\ncerts: {os: {key: a}}\n", Matter.MACHINE),
    "omni": ("a/b.yaml", "kind: Machine\nname: 1\n", Matter.MACHINE),
    "schematic": ("a/b.yaml", "customization: {extraKernelArgs: [a]}\n", Matter.MACHINE),
    "template": ("talos/a.yaml.j2", "machine:\n  type: {{ a }}\n", Matter.MACHINE),
    "broken template": ("talos/a.yaml.tmpl", "{{ if }}\n", Matter.MACHINE),
    "machines in Terraform": ("infra/main.tf", 'resource "talos_machine_secrets" "this" {}\n', Matter.MACHINE),
    "Terraform": ("infra/main.tf", 'resource "dns_record" "this" {}\n', Matter.UNKNOWN),
    "values": ("apps/web/values.yaml", "a: 1\n", Matter.VALUES),
    "values that look like machines": ("apps/cilium/values.yaml", "cluster: {id: 1, name: a}\n", Matter.VALUES),
    "values in their folder": ("helm/values/web.yaml", "a: 1\n", Matter.VALUES),
    "values of a template": ("helm/web.values.yaml.gotmpl", "a: {{ .Values.a }}\n", Matter.VALUES),
    "kustomization": ("a/kustomization.yaml", "resources: [b.yaml]\n", Matter.KUSTOMIZE),
    "component": ("a/kustomization.yaml", "kind: Component\nresources: [b.yaml]\n", Matter.KUSTOMIZE),
    "helmfile": ("a/helmfile.yaml", "releases: []\n", Matter.RELEASE),
    "helmfile as template": ("helmfile.yaml.gotmpl", "releases:\n{{ if .a }}\n- name: b\n{{ end }}\n", Matter.RELEASE),
    "helmfile by its content": ("a/b.yaml", "releases: [{name: a, chart: b/c}]\n", Matter.RELEASE),
    "taskfile": ("Taskfile.yaml", "version: '3'\ntasks: {a: {cmds: [kubectl get nodes]}}\n", Matter.SCRIPT),
    "included taskfile": (".taskfiles/t/x.yaml", "version: '3'\ntasks: {a: {cmds: [talosctl get]}}\n", Matter.SCRIPT),
    "taskfile of developers": ("Taskfile.yaml", "version: '3'\ntasks: {lint: {cmds: [yamllint .]}}\n", Matter.TOOLING),
    "justfile": ("justfile", "up:\n    talosctl bootstrap\n", Matter.SCRIPT),
    "makefile": ("Makefile", "up:\n\thelmfile apply\n", Matter.SCRIPT),
    "shell": ("scripts/up.sh", "#!/bin/sh\nflux bootstrap github\n", Matter.SCRIPT),
    "shell of developers": ("scripts/lint.sh", "#!/bin/sh\nkustomize build . | kubeconform\n", Matter.TOOLING),
    "environment": ("bootstrap/.env", "VERSION=1\n", Matter.SCRIPT),
    "chart": ("charts/a/Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n", Matter.CHART),
    "template of a chart": ("charts/a/templates/x.yaml", "a: {{ .Values.a }}\n", Matter.CHART),
    "platform": ("firstlight.yaml", "apiVersion: firstlight/v1\n", Matter.PLATFORM),
    "rules": ("firstlight-rules/a.yaml", "rules: []\n", Matter.POLICY),
    "owners": ("firstlight-rules/owners.yaml", "lead: []\n", Matter.POLICY),
    "workflow": (".github/workflows/a.yaml", "on: push\njobs: {a: {steps: [{run: yamllint .}]}}\n", Matter.TOOLING),
    "workflow with kubectl for a test": (
        ".github/workflows/a.yaml",
        "jobs: {a: {steps: [{run: kind create cluster}, {run: kubectl apply -f .}]}}\n",
        Matter.UNKNOWN,
    ),
    "workflow that deploys": (".github/workflows/a.yaml", "jobs: {a: [{run: kubectl apply -f .}]}\n", Matter.SCRIPT),
    "renovate": (".renovaterc.json5", "// a\n{extends: []}\n", Matter.TOOLING),
    "renovate in its folder": (".renovate/groups.json5", "{}\n", Matter.TOOLING),
    "pre-commit": (".pre-commit-config.yaml", "repos: []\n", Matter.TOOLING),
    "mise": (".mise.toml", '[tools]\nkubectl = "1.33"\n', Matter.TOOLING),
    "mise with tasks": (".mise.toml", '[tools]\na = "1"\n[tasks.up]\nrun = "talosctl apply-config"\n', Matter.SCRIPT),
    "editor": (".vscode/settings.json", "{}\n", Matter.TOOLING),
    "container of developers": (".devcontainer/devcontainer.json", "{}\n", Matter.TOOLING),
    "local cluster": ("hack/kind.yaml", "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\n", Matter.TOOLING),
    "ignored files": (".gitignore", "a\n", Matter.TOOLING),
    "markdown": ("apps/README.md", "# a\n", Matter.DOCUMENTATION),
    "picture": ("docs/a.png", "\0", Matter.DOCUMENTATION),
    "object in the docs": ("docs/example.yaml", OBJECT, Matter.DOCUMENTATION),
    "object for tests": ("tests/fixture.yaml", OBJECT, Matter.TOOLING),
    "license": ("LICENSE", "a\n", Matter.DOCUMENTATION),
    "who knows": ("a/b.conf", "a\n", Matter.UNKNOWN),
    "YAML that says nothing": ("a/b.yaml", "a: 1\n", Matter.UNKNOWN),
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("README.md", True), ("README", True), ("docs/a.txt", True), ("a/b/notes.md", True), ("LICENSE.md", True),
        ("apps/web/notes.txt", False), ("requirements.txt", False), ("docs/a.yaml", False), ("CHANGELOG.rst", True),
        ("Runbooks/disk.TXT", True), ("apps/docs/requirements.txt", False),
    ],
)  # fmt: skip
def test_what_is_documentation(path: str, expected: bool) -> None:
    assert file_classification.is_documentation(path) is expected


def test_replacements_that_a_kustomization_takes_in(tmp_path: Path) -> None:
    rest = {"apps/web/kustomization.yaml": "replacements: [{path: parts/names.yaml}]\n"}

    (found,) = changes(tmp_path, {}, {"apps/web/parts/names.yaml": "- {source: {kind: Service}}\n"}, rest=rest)

    assert found.matter is Matter.KUSTOMIZE


@pytest.mark.parametrize("case", CASES)
def test_matter(tmp_path: Path, case: str) -> None:
    path, content, matter = CASES[case]
    rest = {"charts/a/Chart.yaml": "apiVersion: v2\nname: a\n"} if path.startswith("charts/a/t") else {}

    assert {each.matter for each in changes(tmp_path, {}, {path: content}, rest=rest)} == {matter}


def test_docs_that_are_applied(tmp_path: Path) -> None:
    rest = {"clusters/home/flux-system/gotk-sync.yaml": SYNC}

    (found,) = changes(tmp_path, {}, {"docs/a.yaml": OBJECT}, rest=rest)

    assert found.matter is Matter.OBJECT


SYNC = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {url: "https://git.example.org/fleet", ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./clusters/home, sourceRef: {kind: GitRepository, name: flux-system}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: odd, namespace: flux-system}
spec: {path: ./docs, sourceRef: {kind: GitRepository, name: flux-system}}
"""
