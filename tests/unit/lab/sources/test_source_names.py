import pytest

from firstlight import errors
from firstlight.lab.sources import source_names
from firstlight.model import versions

LONG = "a" * 101


@pytest.mark.parametrize(
    ("name", "plain"),
    [("team/fleet", "team/fleet"), ("team/fleet.git", "team/fleet"), ("Group/sub/x_1.y-z", "Group/sub/x_1.y-z")],
)
def test_git_repositories(name: str, plain: str) -> None:
    assert source_names.git_name(name) == plain


@pytest.mark.parametrize(
    "name",
    ["", "one", "/a/b", "a/b/", "a//b", "../a", "a/..", "a/.b", "a/-b", "a/b.lock", "a/b.", "a/b.git/c", "a/b.git.git",
     "a/b\n", "a/b c", "a/%2e", "a/é", f"a/{LONG}", "a/" * 9 + "a", "a\\b/c"],
)  # fmt: skip
def test_what_cannot_be_a_git_repository(name: str) -> None:
    with pytest.raises(errors.UsageError):
        source_names.git_name(name)


@pytest.mark.parametrize("name", ["a", "team/fleet", "ghcr.io/org/chart", "a__b/c---d", "0/1"])
def test_oci_repositories(name: str) -> None:
    assert source_names.oci_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "A", "a/", "/a", "a//b", "_tags", "a/_tags", "a/..", ".", "a..b", "a___b", "a-", "a\n", "a" * 256]
)
def test_what_cannot_be_an_oci_repository(name: str) -> None:
    with pytest.raises(errors.UsageError):
        source_names.oci_name(name)


@pytest.mark.parametrize("name", ["v1", "main", "release/1.2", "feature/a+b"])
def test_branches(name: str) -> None:
    assert source_names.branch_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "-x", "--upload-pack=x", "a..b", "a/.b", "a.lock", "a/b.lock", "a/", "a b", "a~1", "a^", "a:b", "@{0}"]
)
def test_what_cannot_be_a_branch(name: str) -> None:
    with pytest.raises(errors.UsageError):
        source_names.branch_name(name)


@pytest.mark.parametrize("version", ["1.2.3", "v1.19.0", "1.2.3-rc.1+build.5", "0.1"])
def test_versions_of_charts(version: str) -> None:
    assert versions.is_chart(version)


@pytest.mark.parametrize("version", ["", "latest", "1.2.3/../x", "1.2.3 ", "1..2", "1.2.3.4", "../1.2.3"])
def test_what_cannot_be_a_version(version: str) -> None:
    assert not versions.is_chart(version)
