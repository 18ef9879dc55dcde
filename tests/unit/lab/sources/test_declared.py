from pathlib import Path

import pytest

from firstlight import errors
from firstlight.lab.sources.access import Sealed
from firstlight.lab.sources.declared import Declared, Git, Webhook
from firstlight.lab.sources.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    one = Home(tmp_path / "home")
    one.make()
    return one


@pytest.mark.parametrize(
    ("repository", "decides"),
    [("team", "team"), ("team/a", "team"), ("team/a/b", "team/a/b"), ("team/a/b/c", "team/a/b"), ("teams", ""),
     ("other/team", "")],
)  # fmt: skip
def test_the_longest_beginning_decides(home: Home, repository: str, decides: str) -> None:
    declared = Declared(home)
    declared.registry[""] = Sealed(anonymous="none")
    declared.registry["team"] = Sealed(anonymous="read")
    declared.registry["team/a/b"] = Sealed(anonymous="write")

    assert declared.oci(repository) is declared.registry[decides]


def test_nothing_declared_is_open_to_readers(home: Home) -> None:
    assert Declared(home).oci("any/thing").anonymous == "read"


def test_what_is_saved_is_there_again(home: Home) -> None:
    first = Declared(home)
    first.git["a/b"] = Git(Sealed(anonymous="none"), "trunk", (Webhook("http://x/", "hidden"),))
    first.save()

    again = Declared(home)
    assert again.git == first.git
    assert home.declared.stat().st_mode & 0o777 == 0o600
    assert "hidden" not in repr(again.git)


def test_a_damaged_file_is_named(home: Home) -> None:
    home.declared.write_text("{")
    with pytest.raises(errors.LabError, match=r"declared\.json cannot be read"):
        Declared(home)


def test_a_home_is_held_once(home: Home) -> None:
    home.hold()
    with pytest.raises(errors.LabError, match="another process"):
        home.hold()
