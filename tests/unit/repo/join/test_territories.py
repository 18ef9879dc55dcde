"""Which cluster a file belongs to by its directories."""

import pytest

from firstlight.repo.join import territories


def test_a_directory_with_files_of_one_cluster_alone_is_its_territory() -> None:
    found = territories.of_places({"a": ["k8s/main/talos/cp.yaml"], "b": ["k8s/lab/talos/cp.yaml"]})

    assert found.cluster_of("k8s/main/bootstrap/helmfile.yaml") == "a"
    assert found.cluster_of("k8s/lab/apps") == "b"
    assert found.cluster_of("k8s/shared/helmfile.yaml") == found.cluster_of("helmfile.yaml") == ""


def test_what_two_clusters_share_is_nobodys() -> None:
    found = territories.of_places(
        {"a": ["talos/base.yaml", "talos/a/cp.yaml"], "b": ["talos/base.yaml", "talos/b.yaml"]}
    )

    assert found.cluster_of("talos/patch.yaml") == ""
    assert found.cluster_of("talos/a/patch.yaml") == "a"


def test_a_directory_name_in_two_trees_tells_the_cluster_elsewhere() -> None:
    found = territories.of_places(
        {
            "house": ["talos/main/cp.yaml", "k8s/main/flux/x.yaml"],
            "bench": ["talos/lab/cp.yaml", "k8s/lab/flux/x.yaml"],
        }
    )

    assert found.cluster_of("bootstrap/main/helmfile.yaml") == "house"
    assert found.cluster_of("bootstrap/talos/helmfile.yaml") == ""
    assert found.cluster_of("bootstrap/main/lab/helmfile.yaml") == ""


def test_the_only_cluster_has_no_territory() -> None:
    assert territories.of_places({"a": ["talos/cp.yaml"]}).cluster_of("talos/cp.yaml") == ""


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["k/main/flux", "k/lab/flux"], {"k/main/flux": "main", "k/lab/flux": "lab"}),
        (["main/flux", "lab/flux"], {"main/flux": "main", "lab/flux": "lab"}),
        (["flux", "gitops"], {}),
        (["k/main/flux"], {}),
        (["kubernetes/flux/cluster", "test/config"], {}),
    ],
)
def test_siblings_are_called_after_what_differs(paths: list[str], names: dict[str, str]) -> None:
    assert territories.distinct_names(paths) == names
