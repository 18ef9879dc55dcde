"""Which addresses are the same repository, and which repository this is."""

import hypothesis
import pytest
from hypothesis import strategies as st

from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
from firstlight.repo.argocd import git_urls
from firstlight.repo.argocd.git_urls import UrlEvidence

HERE = Place("app.yaml", 1)


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example.org/team/platform",
        "https://git.example.org/team/platform.git",
        "https://git.example.org/team/platform/",
        "https://me:secret@git.example.org/team/platform.git",
        "https://git.example.org:443/team/platform",
        "http://git.example.org/Team/Platform.git",
        "ssh://git@git.example.org/team/platform.git",
        "ssh://git@git.example.org:22/team/platform",
        "git@git.example.org:team/platform.git",
        "git.example.org:team/platform",
        " git.example.org/team/platform ",
    ],
)
def test_forms_of_one_address_are_equal(url: str) -> None:
    assert git_urls.normalised(url) == "git.example.org/team/platform"


@pytest.mark.parametrize(
    "url", ["https://git.example.org/team/other", "https://git.example.org:8443/team/platform", ""]
)
def test_other_addresses_differ(url: str) -> None:
    assert git_urls.normalised(url) != "git.example.org/team/platform"


names = st.from_regex(r"[a-z][a-z0-9-]{0,8}[a-z0-9]", fullmatch=True)


@hypothesis.given(names, st.lists(names, min_size=1, max_size=4))
def test_ssh_and_https_are_equal_for_any_repository(host: str, parts: list[str]) -> None:
    path = "/".join(parts)

    assert (
        len(
            {
                git_urls.normalised(form.format(f"{host}.org", path))
                for form in ("https://{}/{}.git", "git@{}:{}", "ssh://git@{}/{}/")
            }
        )
        == 1
    )


@hypothesis.given(st.text(max_size=40))
def test_nothing_breaks_on_any_text(url: str) -> None:
    git_urls.normalised(url)
    git_urls.without_password(url)


def test_a_password_is_not_shown() -> None:
    assert git_urls.without_password("https://me:pass@git.example.org/a") == "https://git.example.org/a"
    assert git_urls.without_password("ssh://git@git.example.org/a") == "ssh://git@git.example.org/a"
    assert git_urls.without_password("https://charts.example.org/a@b:c") == "https://charts.example.org/a@b:c"


def evidence(url: str, *exists: bool) -> list[UrlEvidence]:
    return [UrlEvidence(url, each, lambda: HERE) for each in exists]


class TestOwn:
    def test_the_one_whose_paths_are_here(self) -> None:
        found = git_urls.own([*evidence("https://a.org/x", True, True), *evidence("https://b.org/y", False)])

        assert found.has("git@a.org:x.git")
        assert not found.has("https://b.org/y")
        assert found.how == "https://a.org/x is taken for this repo: 2 of 2 of its paths are here"
        assert found.diagnostics == ()

    def test_none_where_most_paths_are_not_here(self) -> None:
        assert not git_urls.own(evidence("https://a.org/x", True, False, False)).urls

    def test_it_is_said_where_some_are_not_here(self) -> None:
        found = git_urls.own(evidence("https://a.org/x", True, True, False))

        (diagnostic,) = found.diagnostics
        assert (diagnostic.code, diagnostic.severity) == ("argocd-repo-url-guessed", Severity.WARNING)
        assert diagnostic.message == "https://a.org/x is taken for this repo: 2 of 3 of its paths are here"

    def test_the_name_of_the_directory_decides_between_equals(self) -> None:
        both = [*evidence("https://a.org/zzz", True), *evidence("https://a.org/platform", True)]

        assert git_urls.own(both, directory="platform").has("https://a.org/platform")
        assert "zzz" in git_urls.own(both, directory="platform").diagnostics[0].message

    def test_what_is_given_is_believed(self) -> None:
        found = git_urls.own(evidence("https://a.org/x", False), given=["git@a.org:x"])

        assert found.has("https://a.org/x")
        assert found.diagnostics == ()

    def test_what_nobody_uses_is_not_the_only_one(self) -> None:
        found = git_urls.own(evidence("https://mirror.org/x", True), given=["git@a.org:x"])

        assert found.has("https://mirror.org/x")
        assert found.has("https://a.org/x")
        assert [each.code for each in found.diagnostics] == ["argocd-repo-url-unused"]
