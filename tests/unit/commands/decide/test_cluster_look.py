"""How a cluster is looked at, said again as it was asked."""

import contextlib
from pathlib import Path

import pytest

from firstlight.commands.decide.cluster_look import ClusterLook


@pytest.mark.parametrize(
    ("way", "options"),
    [
        ((None, ""), ()),
        ((Path("a/config"), ""), ("--kubeconfig", "a/config")),
        ((None, "admin"), ("--context", "admin")),
        ((Path("a/config"), "admin"), ("--kubeconfig", "a/config", "--context", "admin")),
    ],
)
def test_the_same_cluster_can_be_looked_at_again(way: tuple[Path | None, str], options: tuple[str, ...]) -> None:
    look = ClusterLook("home", way, contextlib.AsyncExitStack(), is_wanted=True)

    assert look.options == ("--cluster", "home", *options)
