"""How a branch gets to be reviewed, by the host that it was pushed to."""

import types
from typing import cast

import pytest

from firstlight.commands.change import publish
from firstlight.commands.change.change_record import ChangePart
from firstlight.commands.change.followed_branch import FollowedRepository


@pytest.mark.parametrize(
    ("url", "line"),
    [
        (
            "https://github.com/me/home.git",
            "open a pull request: https://github.com/me/home/compare/main...fix?expand=1",
        ),
        ("git@github.com:me/home.git", "open a pull request: https://github.com/me/home/compare/main...fix?expand=1"),
        (
            "https://gitlab.example.org/me/home",
            "open a merge request: https://gitlab.example.org/me/home/-/merge_requests/new"
            "?merge_request[source_branch]=fix",
        ),
        ("https://git.example.org/me/home.git", "have fix reviewed and merged into main"),
    ],
)
def test_the_host_decides_how_a_branch_is_reviewed(url: str, line: str) -> None:
    clone = cast(FollowedRepository, types.SimpleNamespace(url=url, followed="main"))

    assert publish.how(clone, ChangePart(files=("a.yaml",), branch="fix")) == [line]
