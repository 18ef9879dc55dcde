"""A platform as a whole: nothing that a reader found is lost on the way."""

from pathlib import Path

from firstlight.model.diagnostic import Severity
from firstlight.repo import platform_reader

SYNC = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: flux-system, namespace: flux-system}}
spec: {{path: ./clusters/{0}, sourceRef: {{kind: GitRepository, name: flux-system}}}}
"""


def test_a_script_that_names_no_cluster_is_for_each_of_several_and_doubted(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "clusters" / name).mkdir(parents=True)
        (tmp_path / "clusters" / name / "gotk-sync.yaml").write_text(SYNC.format(name))
    (tmp_path / "Makefile").write_text("bootstrap:\n\thelm install cilium ./charts/cilium\n")

    found = platform_reader.read(tmp_path)

    cilium = [each for each in found.components if each.name == "cilium"]
    assert [each.cluster for each in cilium] == ["one", "two"]
    assert {origin.doubt for each in cilium for origin in each.origins} != {""}


def test_every_origin_of_a_reader_is_in_a_component(tmp_path: Path) -> None:
    (tmp_path / "helmfile.yaml").write_text(
        "environments:\n  staging: {}\n---\nreleases:\n  - {name: a, namespace: b, chart: oci://charts.example.org/a}\n"
    )
    (tmp_path / "clusters/prod").mkdir(parents=True)
    (tmp_path / "clusters/prod/gotk-sync.yaml").write_text(SYNC.format("prod"))

    found = platform_reader.read(tmp_path)

    assert [(each.cluster, each.name) for each in found.components] == [("prod", "flux-system"), ("staging", "a")]


TALCONFIG = """\
clusterName: {0}
talosVersion: v1.11.0
endpoint: https://10.0.0.1:6443
nodes:
  - {{hostname: cp-1, ipAddress: 10.0.0.1, controlPlane: true, installDisk: /dev/sda}}
"""


def test_a_cluster_whose_name_leads_out_of_the_repo_is_left_out_and_may_be_named_otherwise(tmp_path: Path) -> None:
    (tmp_path / "talos").mkdir()
    (tmp_path / "talos" / "talconfig.yaml").write_text(TALCONFIG.format("../../x"))

    found = platform_reader.read(tmp_path)

    assert found.clusters == ()
    assert [(str(each.place), each.severity) for each in found.diagnostics] == [
        ("talos/talconfig.yaml:1:1", Severity.ERROR)
    ]

    (tmp_path / "firstlight.yaml").write_text(
        "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\nmetadata: {name: home}\n"
        "clusters: {home: {machines: talos/talconfig.yaml}}\n"
    )
    found = platform_reader.read(tmp_path)

    assert [(each.name, len(each.machines)) for each in found.clusters] == [("home", 1)]
    assert not [each for each in found.diagnostics if each.severity is Severity.ERROR]


DECLARED = """\
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: pair}
clusters:
  one:
    machines: [{name: a, address: 10.0.0.1, role: controlplane, patches: [talos/a.yaml]}]
    patches: [talos/all.yaml]
  two: {machines: [{name: b, address: 10.0.0.2, role: controlplane}], patches: [./talos/all.yaml, talos/two.yaml]}
"""


def test_patches_that_a_declaration_lists_are_of_the_clusters_that_list_them(tmp_path: Path) -> None:
    (tmp_path / "talos").mkdir()
    (tmp_path / "firstlight.yaml").write_text(DECLARED)
    for name in ("a", "all", "two"):
        (tmp_path / "talos" / f"{name}.yaml").write_text("machine: {sysctls: {a: b}}\n")

    found = platform_reader.read(tmp_path)

    files = {each.name: [place.path for place in each.files] for each in found.clusters}
    assert files == {"one": ["talos/a.yaml", "talos/all.yaml"], "two": ["talos/all.yaml", "talos/two.yaml"]}
    (machine,) = found.clusters[0].machines
    assert [each.path for each in machine.patches] == ["talos/a.yaml"]
    assert "cluster-unclear" not in {each.code for each in found.diagnostics}
