"""Resources that are elsewhere, as kustomize reads their URLs."""

import pytest

from firstlight.repo.kustomize import remote_resources

CASES = {
    "https://github.com/example/repo//deploy?ref=v1.2": ("https://github.com/example/repo", "v1.2", "deploy"),
    "github.com/example/repo/deploy/crds?ref=main": ("https://github.com/example/repo", "main", "deploy/crds"),
    "git@github.com:example/repo.git/deploy": ("git@github.com:example/repo.git", "", "deploy"),
    "ssh://git@git.example.org/team/repo//x?ref=a": ("ssh://git@git.example.org/team/repo", "a", "x"),
    "https://git.example.org/team/repo.git//x?version=b": ("https://git.example.org/team/repo.git", "b", "x"),
    "git::https://git.example.org/team/repo": ("https://git.example.org/team/repo", "", ""),
    "https://dev.example.org/org/project/_git/repo/path": ("https://dev.example.org/org/project/_git/repo", "", "path"),
    "https://example.org/install.yaml": ("https://example.org/install.yaml", "", ""),
    "https://github.com/example/repo/releases/download/v1.4.0/crds.yaml": (
        "https://github.com/example/repo/releases/download/v1.4.0/crds.yaml",
        "v1.4.0",
        "",
    ),
    "https://raw.githubusercontent.com/example/repo/v2/a/b.yaml": (
        "https://raw.githubusercontent.com/example/repo/v2/a/b.yaml",
        "v2",
        "",
    ),
}


@pytest.mark.parametrize("text", CASES)
def test_urls(text: str) -> None:
    found = remote_resources.parse_remote(text)

    assert found is not None
    assert (found.url, found.revision, found.path) == CASES[text]


@pytest.mark.parametrize(
    "text", ["base", "../base", "a/b.yaml", "/etc/passwd", "github.com", "a:b", "", "https://host"]
)
def test_paths_are_no_urls(text: str) -> None:
    assert remote_resources.parse_remote(text) is None
