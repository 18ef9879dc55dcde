"""Names of clusters, URLs of repos, paths with mistakes in them."""

from pathlib import Path

import pytest

from firstlight.repo.flux import flux_kustomizations, flux_objects, flux_reader
from tests.unit.repo.trees import make


@pytest.mark.parametrize(
    ("path", "settings", "expected"),
    [
        ("clusters/infra", {}, "infra"),
        ("kubernetes/clusters/apps", {"CLUSTER": "other"}, "apps"),
        ("kubernetes/flux/cluster", {}, "home"),
        ("kubernetes/flux/cluster", {"CLUSTER_NAME": "attic"}, "attic"),
        ("kubernetes/flux/cluster", {"CLUSTER_NAME": "${X}"}, "home"),
        ("kubernetes/apps", {}, "home"),
        ("berlin/flux", {}, "berlin"),
        ("berlin/flux", {"CLUSTER": "b1"}, "b1"),
        (".", {}, "home"),
        ("clusters/taken", {}, "home"),
    ],
)
def test_names_of_clusters(path: str, settings: dict[str, str], expected: str) -> None:
    assert flux_reader.cluster_name(path, settings, repo="home", taken={"taken"}) == expected


def test_names_are_unique() -> None:
    taken: set[str] = set()
    for path in ("a/flux", "b/flux", "a/flux/cluster", "flux", "kubernetes"):
        taken.add(flux_reader.cluster_name(path, {}, repo="home", taken=taken))

    assert len(taken) == 5


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example.org/Me/Home",
        "https://git.example.org/me/home.git",
        "https://user@git.example.org/me/home/",
        "ssh://git@git.example.org/me/home",
        "ssh://git@git.example.org:22/me/home.git",
        "git@git.example.org:me/home.git",
    ],
)
def test_urls_of_one_repo(url: str) -> None:
    assert flux_kustomizations.same_place(url) == "git.example.org/me/home"


def test_urls_of_others() -> None:
    found = {
        flux_kustomizations.same_place(each)
        for each in ("https://a.example.org/x", "https://b.example.org/x", "x", "", "file:///x")
    }

    assert len(found) == 5


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("apps/wbe", "apps/web"),
        ("aps/web", "apps/web"),
        ("clusters/web", "apps/web"),
        ("apps/web/none", ""),
        ("xyz", ""),
    ],
)
def test_what_was_probably_meant(tmp_path: Path, path: str, expected: str) -> None:
    tree = make(tmp_path, {"apps/web/a.yaml": "", "infra/b.yaml": ""})

    assert flux_objects.path_near(tree, path) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("./a/b", "a/b"),
        ("/a", "a"),
        ("", "."),
        (".", "."),
        ("./", "."),
        ("a/../b", "b"),
        ("../a", None),
        ("  ./a ", "a"),
    ],
)
def test_paths_as_flux_reads_them(written: str, expected: str | None) -> None:
    assert flux_objects.normal_path(written) == expected
