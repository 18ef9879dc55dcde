"""What single command lines mean."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.model.component import Certainty
from firstlight.model.source import DirectorySource
from firstlight.repo import scripts
from tests.unit.repo.scripts import repos, shown

CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x.example.org}\n"
FILES = {
    "apps/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: one}\n",
    "apps/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: two}\n",
    "apps/deep/c.yaml": "apiVersion: v1\nkind: List\nitems: [{kind: Service, apiVersion: v1, metadata: {name: c}}]\n",
    "secrets/plain.sops.yaml": (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: plain}\n"
        "stringData: {a: 'ENC[AES256_GCM,data:x]'}\nsops: {mac: x}\n"
    ),
    "boot/resources.yaml.j2": (
        "{% for each in ['one'] %}\n---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: one\n{% endfor %}\n"
        "---\napiVersion: v1\nkind: Secret\nmetadata: {name: token, namespace: one}\n"
        "stringData:\n  {{- block() }}\n  a: {{ ENV.A }}-{{ ENV.B }}\n"
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'x-{{ ENV.A }}', namespace: one}\n"
    ),
    "apps/kustomization.yaml": "resources: [a.yaml]\n",
    "crd.yaml": CRD,
    "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "values/web.yaml": "a: 1\n",
    "clusters/home/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
}


def deployed(tmp_path: Path, line: str) -> dict[str, Any]:
    tree = repos.write(
        tmp_path, {**FILES, "bootstrap.sh": f"#!/bin/bash\nhelm repo add ex https://ex.example.org\n{line}\n"}
    )
    (origin,) = scripts.read(tree).origins
    assert origin.place.line == 3
    return shown.origin(origin)


TABLE = yaml.safe_load((shown.SCENARIOS / "scripts" / "commands.yaml").read_text())


@pytest.mark.parametrize("case", TABLE, ids=[case["line"] for case in TABLE])
def test_what_a_command_deploys(case: dict[str, Any], tmp_path: Path) -> None:
    found = deployed(tmp_path, case["line"])

    assert {key: found.get(key) for key in case if key != "line"} == {key: case[key] for key in case if key != "line"}


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("kubectl get pods", "gate kubectl get"),
        ("kubectl -n x wait --for=condition=Ready pods --all", "gate kubectl wait"),
        ("kubectl rollout status ds/x", "gate kubectl rollout status"),
        ("kubectl rollout restart ds/x", "change kubectl rollout restart"),
        ("kubectl delete -f apps", "change kubectl delete"),
        ("kubectl apply --dry-run=server -f apps", "gate kubectl apply"),
        ("kubectl create token x", "gate kubectl create"),
        ("kubectl create job now --from=cronjob/backup", "change kubectl create job"),
        ("kubectl create ns web", "support kubectl create ns"),
        ("kubectl create namespace argocd", "support kubectl create namespace"),
        ("kubectl create namespace $ns", "support kubectl create namespace"),
        ("helm upgrade --install x ./charts/web --dry-run", "gate helm upgrade"),
        ("helm uninstall x", "change helm uninstall"),
        ("helm template x ./charts/web > out.yaml", "support helm template"),
        ("helm repo update", "support helm repo"),
        ("kustomize build apps", "support kustomize build"),
        ("flux reconcile ks apps", "change flux reconcile"),
        ("flux check --pre", "gate flux check"),
        ("talosctl gen config home https://x", "machine talosctl gen config"),
        ("talosctl --nodes 10.0.0.1 apply-config --insecure --file x.yaml", "machine talosctl apply-config"),
        ("talosctl -n 10.0.0.1 bootstrap", "machine talosctl bootstrap"),
        ("talosctl health", "gate talosctl health"),
        ("talosctl upgrade-k8s --to 1.34.0", "machine talosctl upgrade-k8s"),
        ("talosctl patch machineconfig --patch @x", "machine talosctl patch machineconfig"),
        ("talhelper genconfig", "machine talhelper genconfig"),
        ("omnictl cluster template sync -f x.yaml", "machine omnictl cluster template sync"),
        ("op read op://v/i/f", "secret op read"),
        ("op inject -i x", "secret op inject"),
        ("sops -d x.yaml", "secret sops decrypt"),
        ("argocd app wait web", "gate argocd app wait"),
        ("cilium status --wait", "gate cilium status"),
        ("helmfile -f x diff", "gate helmfile diff"),
    ],
)
def test_what_deploys_nothing_is_a_step(line: str, wanted: str, tmp_path: Path) -> None:
    tree = repos.write(tmp_path, {**FILES, "bootstrap.sh": f"#!/bin/bash\n{line}\n"})

    assert [f"{step.role} {step.kind}" for step in scripts.steps(tree)] == [wanted]
    assert scripts.read(tree).origins == ()


@pytest.mark.parametrize(
    "line",
    [
        "for ns in a b; do kubectl create namespace $ns --dry-run=client -o yaml | kubectl apply -f -; done",
        "kubectl create ns argocd --dry-run=client -o yaml > ns.yaml; kubectl apply -f ns.yaml",
        "kubectl apply -f <(kubectl create ns argocd --dry-run=client -o yaml)",
        "cat list | while read ns; do kubectl get ns $ns || kubectl create ns $ns; done",
    ],
)
def test_a_namespace_is_no_component_however_it_is_created(line: str, tmp_path: Path) -> None:
    tree = repos.write(tmp_path, {"bootstrap.sh": f"#!/bin/bash\n{line}\n"})

    found = scripts.read(tree)

    assert found.origins == found.unreached == ()
    assert "support" in [step.role for step in scripts.steps(tree)]


def test_an_object_that_is_read_from_the_cluster_and_written_back_is_not_deployed(tmp_path: Path) -> None:
    line = "kubectl get cm x -o yaml | sed s/a/b/ | kubectl replace -f -"
    tree = repos.write(tmp_path, {"bootstrap.sh": line})

    steps = [f"{step.role} {step.kind}" for step in scripts.steps(tree)]
    assert steps == ["gate kubectl get", "change kubectl replace"]
    assert scripts.read(tree).origins == ()


def test_what_sops_runs_is_a_step_like_sops_itself(tmp_path: Path) -> None:
    line = "sops exec-file secrets/plain.sops.yaml 'kubectl apply -f {} && kubectl get pods'"
    tree = repos.write(tmp_path, {**FILES, "bootstrap.sh": f"#!/bin/bash\n{line}\n"})

    kinds = {step.kind for step in scripts.steps(tree)}

    assert kinds == {"sops decrypt", "kubectl apply", "kubectl get"}
    assert [each.source for each in scripts.read(tree).origins] == [
        DirectorySource(path="secrets/plain.sops.yaml", kustomize=False, recurse=False, decryption="sops")
    ]


def test_a_command_of_which_every_word_is_known_is_certain(tmp_path: Path) -> None:
    tree = repos.write(tmp_path, {**FILES, "up.sh": "A=apps\nkubectl apply -f $A/a.yaml\nkubectl apply -f $B/b.yaml\n"})

    certainties = [each.certainty for each in scripts.read(tree).origins]

    assert certainties == [Certainty.PARSED, Certainty.GUESSED]


def test_the_path_of_flux_is_a_cluster(tmp_path: Path) -> None:
    line = "flux bootstrap gitlab --hostname=git.example.org --owner=team --repository=home --path=clusters/home"
    tree = repos.write(tmp_path, {**FILES, "bootstrap.sh": line})

    (cluster,) = scripts.read(tree).clusters

    assert shown.cluster(cluster) == {
        "name": "home", "at": "bootstrap.sh:1", "engine": "flux", "url": "https://git.example.org/team/home",
        "branch": "main", "path": "clusters/home",
    }  # fmt: skip


def test_helmfile_is_another_readers_but_the_call_is_kept(tmp_path: Path) -> None:
    lines = [
        "kubectl apply -f apps/a.yaml",
        "helmfile -f boot/helmfile.yaml -e home template --include-crds | kubectl apply -f -",
        "cd boot && helmfile --environment=home sync",
        "helmfile -f $F apply",
    ]
    tree = repos.write(tmp_path, {**FILES, "boot/helmfile.yaml": "releases: []\n", "bootstrap.sh": "\n".join(lines)})

    calls = scripts.helmfile_calls(tree)

    assert [(each.place.line, each.verb, each.files, each.environment, each.is_crds) for each in calls] == [
        (2, "template", ("boot/helmfile.yaml",), "home", True),
        (3, "sync", ("boot/helmfile.yaml",), "home", False),
        (4, "apply", (), "", False),
    ]
    assert calls[0].needs == ("kubectl-command/one/a",)
    assert calls[2].doubt == "F is only known when it runs"
