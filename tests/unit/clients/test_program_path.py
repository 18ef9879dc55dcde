import os
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import command, program_path
from tests import planted


@pytest.mark.parametrize(
    ("path", "cleaned"),
    [
        ("/usr/bin:/bin", "/usr/bin:/bin"),
        (":/usr/bin", "/usr/bin"),
        ("/usr/bin:", "/usr/bin"),
        ("/usr/bin::/bin", "/usr/bin:/bin"),
        (".:/usr/bin:bin:../x:~/bin", "/usr/bin"),
        ("", program_path.NOWHERE),
        (".", program_path.NOWHERE),
    ],
)
def test_only_absolute_entries_stay(path: str, cleaned: str) -> None:
    assert program_path.clean(path) == cleaned


def test_an_environment_without_a_path_stays_without() -> None:
    assert program_path.environment({"HOME": "/x"}) == {"HOME": "/x"}
    assert program_path.environment({"PATH": ".:/bin", "HOME": "/x"}) == {"PATH": "/bin", "HOME": "/x"}


def test_programs_of_the_working_directory_are_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = planted.plant(tmp_path / "repo")
    monkeypatch.chdir(here.directory)
    real = program_path.find("git")

    for name, value in here.environment(os.environ["PATH"]).items():
        monkeypatch.setenv(name, value)

    assert program_path.find("git") == real
    assert program_path.find("./git") is None
    assert program_path.find("kustomize", {"PATH": ".:"}) is None
    assert program_path.find("kustomize", {}) is None


async def test_children_are_neither_looked_up_there_nor_do_they_look_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = planted.plant(tmp_path / "repo")
    monkeypatch.chdir(here.directory)
    for name, value in here.environment(os.environ["PATH"]).items():
        monkeypatch.setenv(name, value)

    for env in (None, dict(os.environ)):
        done = await command.run(["git", "--version"], env=env)
        assert done.stdout.startswith(b"git version")
        done = await command.run(["/bin/sh", "-c", 'git --version > /dev/null; echo "$PATH"'], env=env)
        assert all(entry.startswith("/") for entry in done.stdout.decode().strip().split(":"))
    with pytest.raises(errors.Unreachable):
        await command.run(["kustomize"], env={"PATH": "."})
    with pytest.raises(errors.Unreachable):
        await command.run(["kustomize"], env={"PATH": ""})

    assert here.ran == []


async def test_a_process_that_stays_has_such_a_path_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = planted.plant(tmp_path / "repo")
    monkeypatch.chdir(here.directory)

    process = await command.spawn(["/bin/sh", "-c", "git --version"], log=tmp_path / "log", env=dict(
        here.environment(os.environ["PATH"])
    ))  # fmt: skip
    await process.wait()

    assert "git version" in (tmp_path / "log").read_text()
    assert here.ran == []
