"""Which clusters of the readers are one."""

from typing import Any

import pytest

from firstlight.model.cluster import Cluster, Engine, Machine, MachineRole, Network
from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
from firstlight.repo.join import join_clusters

HERE = Place("helmfile.yaml", 1)


def machines(name: str, place: str, **more: Any) -> Cluster:
    """What Talos files know of a cluster."""
    at = Place(place, 3)
    one = Machine(name="cp-1", role=MachineRole.CONTROL_PLANE, place=at)
    return Cluster(name=name, place=at, machines=(one,), files=(at,), **more)


def owned(name: str, path: str, **more: Any) -> Cluster:
    """What Flux knows of a cluster."""
    return Cluster(name=name, place=Place(f"{path}/gotk-sync.yaml", 1), path=path, engine=Engine.FLUX, **more)


def test_equal_names_are_one_cluster() -> None:
    joined = join_clusters.join(
        [owned("infra", "clusters/infra"), machines("infra", "talos/infra/talconfig.yaml")], fallback="repo"
    )

    (cluster,) = joined.clusters
    assert (cluster.path, len(cluster.machines), cluster.engine) == ("clusters/infra", 1, Engine.FLUX)
    assert joined.diagnostics == ()


def test_a_directory_called_like_a_cluster_tells_whose_machines_they_are() -> None:
    found = [
        owned("infra", "clusters/infra"),
        owned("apps", "clusters/apps"),
        machines("my-infra-talos", "talos/infra/talconfig.yaml"),
    ]

    joined = join_clusters.join(found, fallback="repo")

    assert [(each.name, len(each.machines)) for each in joined.clusters] == [("apps", 0), ("infra", 1)]
    assert joined.aliases["my-infra-talos"] == "infra"


def test_one_of_each_kind_is_one_cluster_and_it_is_said() -> None:
    joined = join_clusters.join(
        [owned("home", "clusters/home"), machines("talos-default", "talconfig.yaml")], fallback="r"
    )

    assert [each.name for each in joined.clusters] == ["home"]
    (diagnostic,) = joined.diagnostics
    assert (diagnostic.code, diagnostic.place.path) == ("cluster-machines-guessed", "talconfig.yaml")


def test_two_of_one_kind_and_a_third_name_are_not_guessed() -> None:
    found = [owned("a", "clusters/a"), owned("b", "clusters/b"), machines("c", "talconfig.yaml")]

    assert [each.name for each in join_clusters.join(found, fallback="r").clusters] == ["a", "b", "c"]


def test_a_cluster_without_a_name_is_the_only_one() -> None:
    joined = join_clusters.join([owned("", "."), machines("home", "talconfig.yaml")], fallback="repo")

    assert [each.name for each in joined.clusters] == ["home"]
    assert joined.aliases[""] == "home"


def test_a_cluster_without_a_name_among_several_is_a_diagnostic() -> None:
    found = [machines("", "talconfig.yaml"), owned("a", "clusters/a"), owned("b", "clusters/b")]

    joined = join_clusters.join(found, fallback="repo")

    assert [(each.code, each.place.path) for each in joined.diagnostics] == [("cluster-unclear", "talconfig.yaml")]


def test_nobody_has_a_name() -> None:
    assert [each.name for each in join_clusters.join([], fallback="repo").clusters] == ["repo"]
    assert [each.name for each in join_clusters.join([owned("", ".")], fallback="repo").clusters] == ["repo"]
    joined = join_clusters.join([owned("", ".")], fallback="repo", environments={"": HERE, "staging": HERE})
    assert [each.name for each in joined.clusters] == ["staging"]


def test_an_environment_that_nobody_else_knows_is_a_cluster() -> None:
    joined = join_clusters.join(
        [owned("home", "clusters/home")], fallback="r", environments={"home": HERE, "lab": HERE}
    )

    assert [each.name for each in joined.clusters] == ["home", "lab"]


def test_what_two_readers_say_differently_is_an_error_that_names_both_places() -> None:
    here, there = Place("firstlight.yaml", 9, 5), Place("talconfig.yaml", 4)
    found = [
        owned("a", "clusters/a", network=Network(pods=("10.1.0.0/16",)), said={"network.pods": here}),
        machines("a", "talconfig.yaml", network=Network(pods=("10.2.0.0/16",)), said={"network.pods": there}),
    ]

    joined = join_clusters.join(found, fallback="repo")

    (diagnostic,) = joined.diagnostics
    assert (diagnostic.code, diagnostic.severity, diagnostic.place) == ("cluster-facts-differ", Severity.ERROR, there)
    assert diagnostic.message == "network.pods is 10.2.0.0/16 here and 10.1.0.0/16 in firstlight.yaml:9:5"
    assert joined.clusters[0].network.pods == ("10.1.0.0/16",)


def test_what_is_repeated_and_equal_is_fine() -> None:
    network = Network(pods=("10.1.0.0/16",))
    found = [owned("a", "clusters/a", network=network), machines("a", "talconfig.yaml", network=network)]

    assert join_clusters.join(found, fallback="repo").diagnostics == ()


def test_a_name_of_talos_counts_more_than_that_of_the_clone() -> None:
    joined = join_clusters.join([owned("my-clone", "flux"), machines("main", "talconfig.yaml")], fallback="my-clone")

    assert [each.name for each in joined.clusters] == ["main"]
    assert joined.aliases["my-clone"] == "main"


@pytest.mark.parametrize("name", ["../../x", "..", ".", "a/b", "-rf", "\x1b[2Jx", "Home", "home\n", "a" * 254])
def test_a_cluster_that_cannot_be_called_so_is_left_out(name: str) -> None:
    joined = join_clusters.join([machines(name, "talconfig.yaml")], fallback="repo", environments={name: HERE})

    assert joined.clusters == ()
    (diagnostic,) = joined.diagnostics
    assert (str(diagnostic.place), diagnostic.severity) == ("talconfig.yaml:3", Severity.ERROR)
    assert diagnostic.code == "cluster-name-wrong"
    assert diagnostic.message.isprintable()
    assert "clusters.NAME.machines" in diagnostic.fix


def test_the_others_stay_and_so_does_a_wrong_name_that_was_declared_otherwise() -> None:
    found = [machines("good", "a/talconfig.yaml"), machines("../bad", "b/talconfig.yaml"), owned("good", "clusters/x")]

    joined = join_clusters.join(found, fallback="repo", environments={"Prod": HERE})

    assert [each.name for each in joined.clusters] == ["good"]
    assert sorted(str(each.place) for each in joined.diagnostics) == ["b/talconfig.yaml:3", "helmfile.yaml:1"]


def test_a_directory_that_is_called_anything_gives_a_name_all_the_same() -> None:
    joined = join_clusters.join([owned("My_Home Ops", "."), machines("", "talconfig.yaml")], fallback="My_Home Ops")

    assert [(each.name, len(each.machines)) for each in joined.clusters] == [("my-home-ops", 1)]
    assert joined.aliases["My_Home Ops"] == "my-home-ops"
    assert joined.diagnostics == ()
    assert [each.name for each in join_clusters.join([], fallback="-\x1b").clusters] == ["cluster"]


def test_an_engine_that_names_no_cluster_is_in_the_only_one_that_the_repo_mentions() -> None:
    found = [machines("big", "omni/big.yaml"), machines("small", "omni/small.yaml"), owned("", "apps")]

    joined = join_clusters.join(found, fallback="repo", mentioned=lambda _: ["small"])

    assert [(each.name, each.path) for each in joined.clusters] == [("big", ""), ("small", "apps")]
    assert joined.doubt
    (diagnostic,) = joined.diagnostics
    assert diagnostic.code == "cluster-machines-guessed"
    assert "clusters: {small: {path: apps, machines: omni/small.yaml}}" in diagnostic.fix


def test_an_engine_that_may_be_anywhere_is_a_cluster_of_its_own() -> None:
    found = [machines("big", "omni/big.yaml"), machines("small", "omni/small.yaml"), owned("", "apps")]

    joined = join_clusters.join(found, fallback="repo")

    assert [(each.name, each.path) for each in joined.clusters] == [("big", ""), ("repo", "apps"), ("small", "")]
    assert joined.aliases[""] == "repo"


def test_a_cluster_is_called_as_talos_calls_it_where_git_has_the_name_of_any_directory() -> None:
    found = [owned("setup", "setup/flux/cluster"), machines("home", "setup/talos/talconfig.yaml")]

    joined = join_clusters.join(found, fallback="repo")

    assert [(each.name, each.path) for each in joined.clusters] == [("home", "setup/flux/cluster")]


def test_directories_that_only_two_parts_share_make_them_one() -> None:
    found = [
        owned("prod", "k8s/main/flux"),
        owned("trial", "k8s/lab/flux"),
        machines("house", "k8s/main/talos/cp.yaml"),
        machines("bench", "k8s/lab/talos/cp.yaml"),
    ]

    joined = join_clusters.join(found, fallback="repo")

    assert {each.name: each.machines[0].place.path for each in joined.clusters} == {
        "prod": "k8s/main/talos/cp.yaml",
        "trial": "k8s/lab/talos/cp.yaml",
    }
