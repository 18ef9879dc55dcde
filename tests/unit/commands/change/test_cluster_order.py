"""In which order clusters get a change, and what is merged for each."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.commands.change import cluster_order
from firstlight.model.change import Change, ChangeVerb, Matter
from firstlight.model.cluster import Cluster
from firstlight.model.component import Side
from firstlight.model.decision import Decision, DecisionItem, Risk
from firstlight.model.place import Place
from firstlight.model.platform import Platform

FILES = {
    "apps/base.yaml": {"live", "test", "home"},
    "live/a.yaml": {"live"},
    "test/a.yaml": {"test"},
    "README.md": set(),
}


def platform(*names: str) -> Platform:
    clusters = tuple(Cluster(name=each, place=Place("firstlight.yaml")) for each in names)
    return Platform(name="small", root=Path("/repo"), engine=None, clusters=clusters, components=())


def decision(files: dict[str, set[str]] = FILES) -> Decision:
    items = tuple(
        DecisionItem(
            change=Change(matter=Matter.OBJECT, verb=ChangeVerb.CHANGED, place=Place(path), title=path),
            side=Side.GITOPS, risk=Risk.LOW, rulings=(), clusters=tuple(sorted(names)),
        )
        for path, names in files.items()
    )  # fmt: skip
    return Decision(side=Side.GITOPS, risk=Risk.LOW, items=items)


def test_clusters_that_are_there_to_find_out_come_first_and_live_ones_last() -> None:
    known = platform("live", "prod-eu", "home", "test", "staging-2", "latest")
    every = {"a.yaml": {each.name for each in known.clusters}}

    found = cluster_order.ordered_clusters(decision(every), known)

    assert [each.name for each in found] == ["test", "staging-2", "home", "latest", "live", "prod-eu"]


def test_an_order_that_was_given_wins() -> None:
    found = cluster_order.ordered_clusters(decision(), platform("live", "home", "test"), order=("live",))

    assert [each.name for each in found] == ["live", "test", "home"]


@pytest.mark.parametrize(("name", "says"), [("nowhere", "there is no cluster"), ("other", "does not reach")])
def test_a_cluster_that_it_does_not_reach_is_told(name: str, says: str) -> None:
    with pytest.raises(errors.UsageError, match=says):
        cluster_order.ordered_clusters(decision(), platform("live", "home", "test", "other"), only=(name,))


def test_each_cluster_has_its_own_part_after_the_first_one_and_what_is_shared() -> None:
    clusters = cluster_order.ordered_clusters(decision(), platform("live", "test", "home"))

    found = cluster_order.divided_parts(FILES, cluster_order.reached_clusters(decision()), clusters, branch="change/a")

    assert [(each.cluster, each.files, each.branch) for each in found] == [
        ("test", ("apps/base.yaml", "test/a.yaml", "README.md"), "change/a-test"),
        ("live", ("live/a.yaml",), "change/a-live"),
    ]
    assert cluster_order.shared_files(FILES, cluster_order.reached_clusters(decision()), clusters) == (
        "apps/base.yaml",
    )


def test_what_is_only_shared_is_one_part() -> None:
    files = {"apps/base.yaml": {"live", "test"}}
    clusters = cluster_order.ordered_clusters(decision(files), platform("live", "test"))

    (found,) = cluster_order.divided_parts(
        files, cluster_order.reached_clusters(decision(files)), clusters, branch="change/a"
    )

    assert (found.cluster, found.branch, found.files) == ("", "change/a", ("apps/base.yaml",))
