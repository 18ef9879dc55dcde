"""What the user has allowed: kept for the user alone, for one repo and one content."""

import stat
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.execute import repo_commands
from firstlight.execute.command_digest import CommandDigest

ONE, OTHER = CommandDigest("sha256:aa"), CommandDigest("sha256:bb")


def test_what_was_remembered_is_allowed_in_its_repo_only(tmp_path: Path) -> None:
    path, repo = tmp_path / "config" / "allowed", tmp_path / "a\trepo\n"
    repo_commands.remember_allowed(path, [(ONE, ("./x", "a\tb\n"))], repo=repo, now=0)

    found = repo_commands.load_allowed(path)

    assert found.has(ONE, repo)
    assert not found.has(OTHER, repo)
    assert not found.has(ONE, tmp_path)
    repo_commands.remember_allowed(path, [(OTHER, ("y",))], repo=repo, now=0)
    assert repo_commands.load_allowed(path).has(ONE, repo)
    assert repo_commands.load_allowed(path).has(OTHER, repo)


def test_the_file_is_for_its_owner_and_says_what_was_allowed_when(tmp_path: Path) -> None:
    path = tmp_path / "config" / "allowed"
    repo_commands.remember_allowed(path, [(ONE, ("./x", "a b"))], repo=Path("/home/me/fleet"), now=1700000000)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == 'sha256:aa\t2023-11-14T22:13:20Z\t"/home/me/fleet"\t["./x", "a b"]\n'


def test_nothing_is_allowed_without_a_file_or_by_lines_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "allowed"
    assert repo_commands.load_allowed(path) == repo_commands.AllowedCommands()

    path.write_text('sha256:aa\n\nsha256:aa\tnow\t[]\t[]\nsha256:aa\tnow\t{\t[]\nsha256:bb\tnow\t"/a"\t["torn"]')
    path.chmod(0o600)

    assert repo_commands.load_allowed(path) == repo_commands.AllowedCommands()


def test_a_file_that_others_can_write_allows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "allowed"
    repo_commands.remember_allowed(path, [(ONE, ("x",))], repo=tmp_path, now=0)
    path.chmod(0o620)

    with pytest.raises(errors.ConfigError, match="others can write it") as caught:
        repo_commands.load_allowed(path)
    assert "chmod 600" in caught.value.hint


def test_it_is_where_users_have_their_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")

    assert repo_commands.allowed_path({"XDG_CONFIG_HOME": "/etc/me"}) == Path("/etc/me/firstlight/allowed")
    assert repo_commands.allowed_path({}) == Path("/home/me/.config/firstlight/allowed")
    assert repo_commands.allowed_path({"XDG_CONFIG_HOME": "inside/the/repo"}) == Path(
        "/home/me/.config/firstlight/allowed"
    )
