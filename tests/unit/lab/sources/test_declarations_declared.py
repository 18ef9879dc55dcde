from pathlib import Path

import pytest

from firstlight import errors
from firstlight.lab.sources.declarations import (
    DeclaredGitRepository,
    DeclaredSources,
    DeclaredWebhook,
    SealedAccess,
    SourcesHome,
)


@pytest.fixture
def home(tmp_path: Path) -> SourcesHome:
    one = SourcesHome(tmp_path / "home")
    one.make()
    return one


@pytest.mark.parametrize(
    ("repository", "decides"),
    [("team", "team"), ("team/a", "team"), ("team/a/b", "team/a/b"), ("team/a/b/c", "team/a/b"), ("teams", ""),
     ("other/team", "")],
)  # fmt: skip
def test_the_longest_beginning_decides(home: SourcesHome, repository: str, decides: str) -> None:
    declared = DeclaredSources(home)
    declared.registry[""] = SealedAccess(anonymous="none")
    declared.registry["team"] = SealedAccess(anonymous="read")
    declared.registry["team/a/b"] = SealedAccess(anonymous="write")

    assert declared.oci(repository) is declared.registry[decides]


def test_nothing_declared_is_open_to_readers(home: SourcesHome) -> None:
    assert DeclaredSources(home).oci("any/thing").anonymous == "read"


def test_what_is_saved_is_there_again(home: SourcesHome) -> None:
    first = DeclaredSources(home)
    first.git["a/b"] = DeclaredGitRepository(
        SealedAccess(anonymous="none"), "trunk", (DeclaredWebhook("http://x/", "hidden"),)
    )
    first.save()

    again = DeclaredSources(home)
    assert again.git == first.git
    assert home.declared.stat().st_mode & 0o777 == 0o600
    assert "hidden" not in repr(again.git)


def test_a_damaged_file_is_named(home: SourcesHome) -> None:
    home.declared.write_text("{")
    with pytest.raises(errors.LabError, match=r"declared\.json cannot be read"):
        DeclaredSources(home)


def test_a_home_is_held_once(home: SourcesHome) -> None:
    home.hold()
    with pytest.raises(errors.LabError, match="another process"):
        home.hold()
