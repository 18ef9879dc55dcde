"""The files of a cluster in the new form: as a diff, and written."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight import errors
from firstlight.commands.node import migrate
from firstlight.errors import ExitCode

PLANE = """\
version: v1alpha1
machine:
  type: controlplane
  token: op://talos/token
  kubelet:
    image: registry.example.org/kubelet:v1.36.2
    disableManifestsDirectory: true
  network:
    hostname: cp-1
    interfaces: [{interface: eth0, addresses: [10.5.0.2/24]}]
cluster:
  clusterName: home
  controlPlane: {endpoint: "https://10.5.0.2:6443"}
  network: {podSubnets: [10.42.0.0/16], serviceSubnets: [10.43.0.0/16]}
"""
API = "cluster: {apiServer: {certSANs: [api.home]}, controlPlane: {localAPIServerPort: 7443}}\n"
PATCH = """\
# What control planes have besides.
cluster:
  network:
    cni: {name: none} # ours is Cilium
  coreDNS: {disabled: true}
"""
ALL = """\
machine:
  kubelet:
    extraArgs: {v: "3"}
  # stays
  certSANs: [cp.example.org]
---
apiVersion: v1alpha1
kind: WatchdogTimerConfig
device: /dev/watchdog0
"""
DECLARED = """\
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: home}
clusters:
  home:
    talos: v1.14.1
    machines: talos
    talosconfig: sops:talos/talosconfig.sops.yaml
    patches: [talos/patches/all.yaml]
    controlPlane: {patches: [talos/patches/controlplane.yaml]}
"""


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    async def program() -> Any:
        raise migrate._Unproven("there is no talosctl")

    monkeypatch.setattr(migrate, "_program", program)
    (tmp_path / "talos" / "patches").mkdir(parents=True)
    for path, text in {
        "firstlight.yaml": DECLARED, "talos/cp-1.yaml": PLANE, "talos/patches/controlplane.yaml": PATCH,
        "talos/patches/all.yaml": ALL,
    }.items():  # fmt: skip
        (tmp_path / path).write_text(text)
    return tmp_path


def run(repo: Path, capsys: pytest.CaptureFixture[str], *, write: bool = False) -> tuple[int, Any]:
    code = migrate.migrate("home", write=write, root=repo, form="json")
    return code, json.loads(capsys.readouterr().out)


def documents(repo: Path, path: str) -> list[Any]:
    return list(yaml.safe_load_all((repo / path).read_text()))


def test_the_diff_is_shown_and_nothing_is_written(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = run(repo, capsys)

    assert code == ExitCode.FINDINGS
    assert not found["written"]
    assert found["files"] == ["talos/cp-1.yaml", "talos/patches/all.yaml", "talos/patches/controlplane.yaml"]
    assert "+kind: KubeCoreDNSConfig" in found["diff"]
    assert found["lostComments"] == ["talos/patches/controlplane.yaml: line 4: # ours is Cilium"]
    assert found["proof"]["unknown"] == "there is no talosctl"
    assert (repo / "talos/cp-1.yaml").read_text() == PLANE


def test_files_are_written_and_a_second_run_finds_nothing(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = run(repo, capsys, write=True)

    assert (code, found["written"]) == (0, True)
    head = {"apiVersion": "v1alpha1"}
    assert documents(repo, "talos/patches/controlplane.yaml") == [
        {**head, "kind": "KubeFlannelCNIConfig", "$patch": "delete"},
        {**head, "kind": "KubeCoreDNSConfig", "enabled": False},
    ]
    assert (repo / "talos/patches/controlplane.yaml").read_text().startswith("# What control planes have besides.\n")
    assert {**head, "kind": "KubeletConfig", "extraArgs": {"v": "3"}} in documents(repo, "talos/patches/all.yaml")
    assert documents(repo, "talos/patches/all.yaml")[0] == {"machine": {"certSANs": ["cp.example.org"]}}
    plane = documents(repo, "talos/cp-1.yaml")
    assert plane[0]["cluster"] == {"clusterName": "home", "controlPlane": {"endpoint": "https://10.5.0.2:6443"}}
    assert "kubelet" not in plane[0]["machine"]
    assert [each["kind"] for each in plane[1:]] == ["KubeNetworkConfig", "KubeFlannelCNIConfig", "KubeletConfig"]

    assert run(repo, capsys)[0] == 0


def test_what_one_file_cannot_move_stays_in_all(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "talos/patches/all.yaml").write_text("machine:\n  kubelet:\n    extraMounts: [{source: /a}]\n")

    _, found = run(repo, capsys, write=True)

    assert [(each["group"], each["field"], each["place"]) for each in found["stays"]] == [
        ("kubelet", "machine.kubelet.extraMounts", "talos/patches/all.yaml:3:5")
    ]
    assert documents(repo, "talos/cp-1.yaml")[0]["machine"]["kubelet"]["image"]
    assert "talos/patches/all.yaml" not in found["files"]


def test_a_group_that_stays_keeps_another_one(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "talos/patches/all.yaml").write_text("machine: {nodeLabels: {a: {$patch: delete}}}\n")
    with_address = PLANE.replace("  kubelet:\n", "  kubelet:\n    nodeIP: {validSubnets: [10.5.0.0/24]}\n")
    (repo / "talos/cp-1.yaml").write_text(with_address)

    _, found = run(repo, capsys)

    # The node's address is among the kubelet's fields, and Talos refuses a KubeletConfig beside any of them.
    assert [each["field"] for each in found["stays"]] == ["machine.nodeLabels", "machine.kubelet.nodeIP"]
    assert "KubeletConfig" not in found["diff"]


def test_a_template_keeps_its_groups(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "talos" / "cp-1.yaml").rename(repo / "talos" / "cp-1.yaml.j2")

    _, found = run(repo, capsys)

    assert [each["path"] for each in found["notEdited"]] == ["talos/cp-1.yaml.j2"]
    assert {each["group"] for each in found["stays"]} == {"network", "kubelet"}
    assert "KubeCoreDNSConfig" in found["diff"]


def test_patches_on_generated_configs_wait_for_the_contract(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "talos" / "cp-1.yaml").unlink()
    listed = DECLARED.replace("machines: talos\n", "machines: [{name: cp-1, address: 10.5.0.2, role: controlplane}]\n")
    (repo / "firstlight.yaml").write_text(listed)
    with pytest.raises(errors.Refused, match="are generated") as caught:
        run(repo, capsys)
    assert "clusters.home.talosContract: v1.14" in caught.value.hint

    (repo / "firstlight.yaml").write_text(listed.replace("v1.14.1\n", "v1.14.1\n    talosContract: v1.14\n"))
    code, found = run(repo, capsys)
    assert code == ExitCode.FINDINGS
    assert found["files"] == ["talos/patches/all.yaml", "talos/patches/controlplane.yaml"]


def test_the_api_server_moves_where_it_is_generated_as_a_document(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    (repo / "talos/patches/controlplane.yaml").write_text(API)
    _, found = run(repo, capsys)
    assert [each["field"] for each in found["stays"]] == ["cluster.apiServer"]
    assert "talos/patches/controlplane.yaml" not in found["files"]

    (repo / "talos" / "cp-1.yaml").unlink()
    listed = DECLARED.replace("machines: talos\n", "machines: [{name: cp-1, address: 10.5.0.2, role: controlplane}]\n")
    (repo / "firstlight.yaml").write_text(listed.replace("v1.14.1\n", "v1.14.1\n    talosContract: v1.14\n"))
    _, found = run(repo, capsys, write=True)
    assert documents(repo, "talos/patches/controlplane.yaml") == [
        {"apiVersion": "v1alpha1", "kind": "KubeAPIServerConfig", "apiPort": 7443, "certExtraSANs": ["api.home"]}
    ]


def test_patches_of_talhelper_are_written_as_it_wants_them(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "talos" / "cp-1.yaml").unlink()
    (repo / "talos" / "talconfig.yaml").write_text(
        "clusterName: home\ntalosVersion: v1.14.1\nendpoint: https://10.5.0.2:6443\n"
        "nodes: [{hostname: cp-1, ipAddress: 10.5.0.2, controlPlane: true, installDisk: /dev/sda}]\n"
        'controlPlane: {patches: ["@./patches/controlplane.yaml"]}\npatches: ["@./patches/all.yaml"]\n'
    )
    (repo / "talos/patches/all.yaml").write_text("machine: {kubelet: {extraArgs: {v: ${LEVEL}}}}\n")
    (repo / "firstlight.yaml").write_text(
        DECLARED.partition("    patches")[0]
        .replace("machines: talos\n", "machines: talos/talconfig.yaml\n")
        .replace("v1.14.1\n", "v1.14.1\n    talosContract: v1.14\n")
    )

    _, found = run(repo, capsys, write=True)

    assert found["files"] == ["talos/patches/controlplane.yaml"]
    assert documents(repo, "talos/patches/controlplane.yaml")[0]["$$patch"] == "delete"
    assert found["notEdited"] == [{"path": "talos/patches/all.yaml", "why": "talhelper fills in its variables"}]
