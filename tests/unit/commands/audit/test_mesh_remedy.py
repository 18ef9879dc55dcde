"""A mesh connected from the repo: the patch alone does it, in order, and what cannot work is refused."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.model.component import Side
from firstlight.repo.platform_view import PlatformView
from tests.unit.commands.audit import remedy_scenes

OFF = """\
cluster:
  name: NAME # never changes
  id: ID
ipam: {mode: kubernetes}
clustermesh:
  useAPIServer: false
  # Connected manually
  config:
    enabled: false
  apiserver:
    service:
      type: LoadBalancer
      annotations:
        lbipam.cilium.io/ips: ADDRESS
"""
CERT_MANAGER = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: jetstack, namespace: cert-manager}
spec: {interval: 1h, url: https://charts.example.org}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: cert-manager, namespace: cert-manager}
spec:
  interval: 1h
  chart: {spec: {chart: cert-manager, version: v1.19.1, sourceRef: {kind: HelmRepository, name: jetstack}}}
"""


def _off(name: str, number: int, address: str) -> str:
    return OFF.replace("NAME", name).replace("ID", str(number)).replace("ADDRESS", address)


APART: Mapping[str, str | None] = {
    "bootstrap/clusters/infra/cilium.yaml": _off("infra", 1, "10.30.1.201"),
    "bootstrap/clusters/apps/cilium.yaml": _off("apps", 2, "10.30.2.201"),
    "kubernetes/clusters/infra/authority.yaml": None,
    "kubernetes/clusters/apps/authority.yaml": None,
}


def test_a_mesh_is_connected_by_the_patch_alone(tmp_path: Path) -> None:
    scene = remedy_scenes.made(tmp_path, {**APART, **remedy_scenes.STORES})
    remedy = remedy_scenes.remedy("mesh-by-hand", scene)
    assert not remedy.refused
    assert not remedy.open_questions
    texts = remedy_scenes.apply(tmp_path, remedy)
    assert remedy_scenes.finds(tmp_path, "mesh-by-hand", "mesh-not-connected", "mesh-own-authorities") == []
    apps = texts["bootstrap/clusters/apps/cilium.yaml"]
    assert "name: apps # never changes" in apps
    assert "10.30.1.201" in apps.partition("clusters:")[2]
    assert "lbipam.cilium.io/ips: 10.30.2.201" in apps
    authority = texts["kubernetes/mesh/authority.yaml"]
    assert "name: cilium-ca" in authority
    assert "namespace: kube-system" in authority
    assert "dependsOn:\n    - name: flux-system" in texts["kubernetes/clusters/apps/mesh.yaml"]


def test_the_half_of_bootstrap_is_named_because_agents_roll(tmp_path: Path) -> None:
    steps = remedy_scenes.remedy("mesh-by-hand", remedy_scenes.made(tmp_path, {**APART, **remedy_scenes.STORES})).steps
    rolling = [each for each in steps if "agents roll" in each.text]
    assert [each.side for each in rolling] == [Side.BOOTSTRAP, Side.BOOTSTRAP]
    assert "--environment apps --selector name=cilium apply" in rolling[0].command
    assert steps.index(rolling[0]) > next(n for n, each in enumerate(steps) if "store" in each.text)
    assert "cilium.yaml:7" in steps[-1].text


def test_cilium_signs_where_bootstrap_waits_for_it_before_cert_manager(tmp_path: Path) -> None:
    files = {
        **APART,
        **remedy_scenes.STORES,
        "kubernetes/clusters/infra/certificates.yaml": CERT_MANAGER,
        "kubernetes/clusters/apps/certificates.yaml": CERT_MANAGER,
    }
    remedy = remedy_scenes.remedy("mesh-by-hand", remedy_scenes.made(tmp_path, files))
    texts = remedy_scenes.apply(tmp_path, remedy)
    assert "kubernetes/mesh/issuer.yaml" not in texts
    assert "meta.helm.sh/release-name: cilium" in texts["kubernetes/mesh/authority.yaml"]
    assert "certmanager" not in texts["bootstrap/clusters/apps/cilium.yaml"]
    assert [each for each in remedy.steps if "a cluster that is built anew needs it before Cilium" in each.text]


def _by_gitops() -> dict[str, str | None]:
    files: dict[str, str | None] = {
        **APART, **remedy_scenes.STORES,
        "bootstrap/helmfile.yaml": None,
        "bootstrap/clusters/infra/cilium.yaml": None,
        "bootstrap/clusters/apps/cilium.yaml": None,
    }  # fmt: skip
    for number, name in ((1, "infra"), (2, "apps")):
        values = "".join(f"    {line}\n" for line in _off(name, number, f"10.30.{number}.201").splitlines())
        release = CERT_MANAGER.replace("cert-manager", "cilium").replace("v1.19.1", "1.18.2")
        files[f"kubernetes/clusters/{name}/cilium.yaml"] = f"{release}  values:\n{values}"
    return files


def test_values_that_gitops_owns_are_brought_by_gitops(tmp_path: Path) -> None:
    remedy = remedy_scenes.remedy("mesh-by-hand", remedy_scenes.made(tmp_path, _by_gitops()))
    texts = remedy_scenes.apply(tmp_path, remedy)
    assert "10.30.2.201" in texts["kubernetes/clusters/infra/cilium.yaml"].partition("clusters:")[2]
    assert {each.side for each in remedy.steps if "agents roll" in each.text} == {Side.GITOPS}
    assert remedy_scenes.finds(tmp_path, "mesh-by-hand", "mesh-not-connected", "mesh-own-authorities") == []


def test_cert_manager_signs_where_gitops_brings_both(tmp_path: Path) -> None:
    files = {
        **_by_gitops(),
        "kubernetes/clusters/infra/certificates.yaml": CERT_MANAGER,
        "kubernetes/clusters/apps/certificates.yaml": CERT_MANAGER,
    }
    texts = remedy_scenes.apply(
        tmp_path, remedy_scenes.remedy("mesh-by-hand", remedy_scenes.made(tmp_path, files))
    )  # fmt: skip
    assert "secretName: mesh-authority" in texts["kubernetes/mesh/issuer.yaml"]
    assert "namespace: cert-manager" in texts["kubernetes/mesh/authority.yaml"]
    assert "method: certmanager" in texts["kubernetes/clusters/apps/cilium.yaml"]
    assert remedy_scenes.finds(tmp_path, "mesh-by-hand", "mesh-not-connected", "mesh-own-authorities") == []


def test_without_a_store_somebody_has_to_say_where_the_authority_comes_from(tmp_path: Path) -> None:
    remedy = remedy_scenes.remedy("mesh-by-hand", remedy_scenes.made(tmp_path, APART))
    (question,) = remedy_scenes.asked(remedy)
    assert question.startswith("From where does apps, infra get the authority?")
    assert not [each for each in remedy.edits if "mesh" in each.path]


def test_half_a_mesh_is_not_written(tmp_path: Path) -> None:
    files = {**APART, **remedy_scenes.STORES, "bootstrap/clusters/apps/cilium.yaml": _off("apps", 2, "whatever comes")}
    remedy = remedy_scenes.remedy("mesh-by-hand", remedy_scenes.made(tmp_path, files))
    assert [each for each in remedy_scenes.asked(remedy) if each.startswith("At which address do others reach")]
    assert not [each for each in remedy.edits if each.path.endswith("cilium.yaml")]


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (
            {"bootstrap/clusters/apps/cilium.yaml": _off("apps", 1, "10.30.2.201")},
            "cluster.id 1 of infra is that of apps",
        ),
        (
            {"talos/apps/apps-1.yaml": "machine: {type: controlplane, network: {hostname: apps-1}}\n"
             "cluster: {network: {podSubnets: [10.50.0.0/16], serviceSubnets: [10.53.0.0/16]}}\n"},
            "pods of apps (10.50.0.0/16) and pods of infra (10.50.0.0/16) share addresses",
        ),
    ],
)  # fmt: skip
def test_what_no_mesh_can_work_with_is_refused(tmp_path: Path, files: Mapping[str, str], says: str) -> None:
    remedy = remedy_scenes.remedy(
        "mesh-by-hand", remedy_scenes.made(tmp_path, {**APART, **remedy_scenes.STORES, **files})
    )
    assert says in remedy.refused[0]
    assert not remedy.edits
    assert not remedy.steps


def test_the_native_range_is_widened_to_the_pods_of_all(tmp_path: Path) -> None:
    base = remedy_scenes.mesh()["bootstrap/clusters/apps/cilium.yaml"]
    files = {"bootstrap/clusters/apps/cilium.yaml": base.replace("10.48.0.0/13", "10.52.0.0/16")}
    remedy = remedy_scenes.remedy("native-routing-too-narrow", remedy_scenes.made(tmp_path, files))
    texts = remedy_scenes.apply(tmp_path, remedy)
    assert texts == {"bootstrap/clusters/apps/cilium.yaml": base.replace("10.48.0.0/13", "10.48.0.0/13")}
    assert remedy_scenes.finds(tmp_path, "native-routing-too-narrow", "pod-range-differs") == []


def test_a_range_that_would_hold_machines_is_asked_for(tmp_path: Path) -> None:
    cilium, machine = "bootstrap/clusters/apps/cilium.yaml", "talos/apps/apps-1.yaml"
    base = remedy_scenes.mesh()
    files = {
        cilium: base[cilium].replace("10.48.0.0/13", "10.20.0.0/16"),
        machine: base[machine].replace("10.52.0.0/16", "10.20.0.0/16"),
    }
    remedy = remedy_scenes.remedy("native-routing-too-narrow", remedy_scenes.made(tmp_path, files))
    assert not remedy.edits
    assert remedy.open_questions


def test_answers_finish_a_mesh_that_has_no_addresses_yet(tmp_path: Path) -> None:
    files = {**APART, **remedy_scenes.STORES, "bootstrap/clusters/apps/cilium.yaml": _off("apps", 2, "whatever comes")}
    remedy = remedy_scenes.remedy("mesh-by-hand", remedy_scenes.made(tmp_path, files), address__apps="10.30.2.201")
    texts = remedy_scenes.apply(tmp_path, remedy)

    assert not [each for each in remedy_scenes.asked(remedy) if each.startswith("At which address")]
    assert "10.30.2.201" in texts["bootstrap/clusters/apps/cilium.yaml"]
    assert "10.30.2.201" in texts["bootstrap/clusters/infra/cilium.yaml"]
    assert remedy_scenes.finds(tmp_path, "mesh-by-hand", "mesh-not-connected") == []


def test_the_mesh_goes_into_the_directory_that_is_answered(tmp_path: Path) -> None:
    stage, sync = "kubernetes/clusters/stage", "flux-system/gotk-sync.yaml"
    files = {
        **APART, **remedy_scenes.STORES,
        "kubernetes/clusters/apps/kustomization.yaml": f"resources: [{sync}, store.yaml]\n",
        "kubernetes/clusters/apps-only/notes.yaml": "kind: List\napiVersion: v1\nitems: []\n",
        f"{stage}/{sync}": remedy_scenes.mesh()[f"kubernetes/clusters/apps/{sync}"].replace("apps", "stage"),
        f"{stage}/kustomization.yaml": f"resources: [{sync}, ../apps]\n",
    }  # fmt: skip
    scene = remedy_scenes.made(tmp_path, files)

    asked = remedy_scenes.remedy("mesh-by-hand", scene)
    answered = remedy_scenes.remedy("mesh-by-hand", scene, directory__apps="./kubernetes/clusters/apps-only/")

    assert "directory.apps" in [each.key for each in asked.open_questions]
    assert "directory.apps" not in [each.key for each in answered.open_questions]
    assert "kubernetes/clusters/apps-only/mesh.yaml" in [each.path for each in answered.edits]
    with pytest.raises(errors.UsageError, match="there is no directory nowhere"):
        remedy_scenes.remedy("mesh-by-hand", scene, directory__apps="nowhere")


SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: cluster-settings, namespace: flux-system}
data:
  POD_CIDR: 10.54.0.0/16
"""


def _contradicting(root: Path) -> PlatformView:
    cilium, sync = "bootstrap/clusters/apps/cilium.yaml", "kubernetes/clusters/apps/flux-system/gotk-sync.yaml"
    base = remedy_scenes.mesh()
    substituted = "  postBuild: {substituteFrom: [{kind: ConfigMap, name: cluster-settings}]}\n"
    return remedy_scenes.made(root, {
        cilium: base[cilium].replace("10.48.0.0/13", "10.52.0.0/16"),
        sync: base[sync].rstrip("\n") + "\n" + substituted,
        "kubernetes/clusters/apps/settings.yaml": SETTINGS,
    })  # fmt: skip


def test_an_answered_range_is_written(tmp_path: Path) -> None:
    scene = _contradicting(tmp_path)
    (question,) = remedy_scenes.remedy("native-routing-too-narrow", scene).open_questions
    assert str(question).endswith("(--answer range=NETWORK)")

    remedy = remedy_scenes.remedy("native-routing-too-narrow", scene, range="10.48.0.0/13")

    assert not remedy.open_questions
    texts = remedy_scenes.apply(tmp_path, remedy)
    assert "ipv4NativeRoutingCIDR: 10.48.0.0/13" in texts["bootstrap/clusters/apps/cilium.yaml"]
    assert remedy_scenes.finds(tmp_path, "native-routing-too-narrow") == []


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("10.56.0.0/16", "10.56.0.0/16 does not hold the pods in 10.50.0.0/16"),
        ("10.0.0.0/8", "10.0.0.0/8 also holds 10.30.2.11"),
        ("somewhere", "somewhere is not a network, such as 10.0.0.0/16"),
    ],
)
def test_a_range_that_cannot_be_right_is_refused(tmp_path: Path, answer: str, says: str) -> None:
    with pytest.raises(errors.UsageError, match=re.escape(says)):
        remedy_scenes.remedy("native-routing-too-narrow", _contradicting(tmp_path), range=answer)
