"""Which component a field of a file with several is about."""

import pytest

from tests.unit.commands.decide.repos import FLUX, SYNC, judged, kustomization, rules, touched

HELMFILE = """repositories:
  - {name: cilium, url: https://charts.example.org/cilium}
  - {name: jetstack, url: https://charts.example.org/jetstack}
helmDefaults: {timeout: 300}
releases:
  - name: cilium
    namespace: kube-system
    chart: cilium/cilium
    version: 1.18.2
  - name: cert-manager
    namespace: cert-manager
    chart: jetstack/cert-manager
    version: v1.17.0
  - name: spegel
    namespace: kube-system
    chart: jetstack/spegel
    version: 0.1.0
    installed: false
"""
TASKS = """version: "3"
vars:
  CERT_VERSION: v1.17.0
tasks:
  nodes:
    cmds: [kubectl get nodes -o wide]
  cilium:
    cmds:
      - helm upgrade --install cilium cilium/cilium --version 1.18.2 --namespace kube-system
  cert-manager:
    cmds:
      - helm upgrade --install cert-manager jetstack/cert-manager --version {{.CERT_VERSION}} --namespace cert-manager
"""
SCRIPT = """#!/bin/bash
helm upgrade --install cilium cilium/cilium \\
  --version 1.18.2 \\
  --namespace kube-system
helm upgrade --install cert-manager jetstack/cert-manager \\
  --version v1.17.0 \\
  --namespace cert-manager
"""
BASE = {FLUX: SYNC}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("v1.17.0", "v1.18.0", {"cert-manager"}),
        ("1.18.2", "1.18.3", {"cilium"}),
        ("0.1.0", "0.2.0", set()),
        ("timeout: 300", "timeout: 600", {"cilium", "cert-manager"}),
        ("org/jetstack}", "org/other}", {"cert-manager"}),
        ("    version: v1.17.0\n", "    version: v1.17.0\n    wait: true\n", {"cert-manager"}),
        ("    version: 1.18.2\n", "", {"cilium"}),
        (
            "  - name: cilium\n    namespace: kube-system\n    chart: cilium/cilium\n    version: 1.18.2\n",
            "",
            {"cilium"},
        ),
    ],
)
def test_of_a_helmfile(old: str, new: str, expected: set[str]) -> None:
    found = judged(
        {**BASE, "bootstrap/helmfile.yaml": HELMFILE}, {"bootstrap/helmfile.yaml": HELMFILE.replace(old, new)}
    )

    assert touched(found) == expected
    assert "cilium" in expected or not any(each.startswith("cni") for each in rules(found))


def test_the_network_beside_it_does_not_make_another_release_dangerous() -> None:
    changed = HELMFILE.replace("v1.17.0", "v1.17.1")
    found = judged({**BASE, "bootstrap/helmfile.yaml": HELMFILE}, {"bootstrap/helmfile.yaml": changed})

    assert found.risk.value == "medium"
    assert found.affected == ()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("1.18.2", "1.18.3", {"cilium"}),
        ("v1.17.0", "v1.18.0", {"cert-manager"}),
        ("-o wide", "-o json", set()),
        ("--namespace cert-manager\n", "--namespace cert-manager --wait\n", {"cert-manager"}),
    ],
)
def test_of_a_taskfile(old: str, new: str, expected: set[str]) -> None:
    found = judged({**BASE, "Taskfile.yaml": TASKS}, {"Taskfile.yaml": TASKS.replace(old, new)})

    assert touched(found) == expected


def test_a_task_whose_words_are_hidden_belongs_to_the_nearest_command() -> None:
    tasks = TASKS.replace("  cert-manager:\n", "  cert-credentials:\n")
    changed = tasks.replace("--namespace cert-manager\n", "--namespace cert-manager --wait\n")
    found = judged({**BASE, "Taskfile.yaml": tasks}, {"Taskfile.yaml": changed})

    assert touched(found) == {"cert-manager"}


@pytest.mark.parametrize(
    ("old", "new", "expected"), [("1.18.2", "1.18.3", {"cilium"}), ("v1.17.0", "v1.18.0", {"cert-manager"})]
)
def test_of_a_script(old: str, new: str, expected: set[str]) -> None:
    files = {**BASE, "Makefile": "core:\n\t./bootstrap.sh\n", "bootstrap.sh": SCRIPT}
    found = judged(files, {"bootstrap.sh": SCRIPT.replace(old, new)})

    assert touched(found) == expected


def release(name: str, namespace: str, version: str) -> str:
    return (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
        f"metadata: {{name: {name}, namespace: {namespace}}}\n"
        f"spec: {{interval: 1h, chart: {{spec: {{chart: {name}, version: {version}, "
        "sourceRef: {kind: HelmRepository, name: charts, namespace: flux-system}}}}\n"
    )


def test_of_several_releases_in_one_file() -> None:
    old = "---\n".join([release("web", "one", "1.0.0"), release("web", "two", "1.0.0"), release("api", "one", "1.0.0")])
    head, middle, tail = old.split("---\n")
    files = {**BASE, "clusters/home/apps.yaml": kustomization("apps", "apps"), "apps/all.yaml": old}
    found = judged(files, {"apps/all.yaml": "---\n".join([head, middle.replace("1.0.0", "1.1.0"), tail])})

    (each,) = [each for item in found.items for each in item.touched]
    assert "two" in each.component


def test_values_of_several_belong_to_all_of_them() -> None:
    text = HELMFILE.replace("    version: 1.18.2\n", "    version: 1.18.2\n    values: [all.yaml]\n")
    text = text.replace("    version: v1.17.0\n", "    version: v1.17.0\n    values: [all.yaml]\n")
    files = {**BASE, "bootstrap/helmfile.yaml": text, "bootstrap/all.yaml": "replicas: 1\n"}

    assert touched(judged(files, {"bootstrap/all.yaml": "replicas: 2\n"})) == {"cilium", "cert-manager"}


def test_a_set_belongs_to_all_that_it_makes() -> None:
    sets = """apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: tenants, namespace: argocd}
spec:
  generators: [{list: {elements: [{name: red}, {name: blue}]}}]
  template:
    metadata: {name: "tenant-{{name}}"}
    spec:
      project: default
      source: {repoURL: https://git.example.org/home.git, path: shop, targetRevision: main}
      destination: {server: https://kubernetes.default.svc, namespace: "{{name}}"}
"""
    root = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: root, namespace: argocd}
spec:
  project: default
  source: {repoURL: https://git.example.org/home.git, path: apps, targetRevision: main}
  destination: {server: https://kubernetes.default.svc, namespace: argocd}
"""
    files = {
        "root.yaml": root,
        "apps/tenants.yaml": sets,
        "shop/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    }
    found = judged(
        files, {"apps/tenants.yaml": sets.replace("path: shop, targetRevision: main", "path: shop, targetRevision: v2")}
    )

    assert touched(found) == {"tenant-red", "tenant-blue"}


def test_who_can_decrypt_is_no_side_of_a_cluster() -> None:
    rules_of_sops = "creation_rules: [{path_regex: .*, age: age1aaa}]\n"
    found = judged({**BASE, ".sops.yaml": rules_of_sops}, {".sops.yaml": rules_of_sops.replace("aaa", "bbb")})

    assert found.side is None
    assert rules(found) == {"encryption-recipients"}
    assert found.doubts == ()


def test_rights_to_everything_are_told_from_others() -> None:
    role = """apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
"""
    files = {**BASE, "clusters/home/role.yaml": role}

    def factors(verb: str) -> set[str]:
        found = judged(files, {"clusters/home/role.yaml": role.replace("verbs: [get]", f"verbs: [{verb}]")})
        return {each.id for item in found.items for ruling in item.rulings for each in ruling.factors}

    assert "wide-rights" in factors('"*"')
    assert "wide-rights" not in factors("list")
