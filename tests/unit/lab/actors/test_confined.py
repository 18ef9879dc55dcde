"""A confined program executes, reads and writes what it was told, and nothing else; nor do its children."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from firstlight.lab.actors import actor_parts, confined

PYTHON = os.path.realpath(sys.executable)
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/dev")


def run(tmp_path: Path, code: str, *, execute: tuple[str, ...] = (), write: tuple[str, ...] = ()) -> str:
    """What a confined Python says."""
    allowed = (*actor_parts.with_loaders([Path(PYTHON), *map(Path, execute)]),)
    options = [word for each in allowed for word in ("--execute", str(each))]
    options += [word for each in (*SYSTEM, sys.base_prefix, sys.prefix) for word in ("--read", each)]
    options += [word for each in write for word in ("--write", each)]
    argv = [sys.executable, "-I", "-S", confined.__file__, *options, "--", PYTHON, "-I", "-S", "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=tmp_path, check=False)
    return done.stdout + done.stderr


def script(path: Path) -> Path:
    path.write_text("#!/bin/sh\ntouch ran\n")
    path.chmod(0o755)
    return path


EXECUTE = "import subprocess; subprocess.run(['{}'])"


def test_what_is_not_named_cannot_be_executed(tmp_path: Path) -> None:
    said = run(tmp_path, EXECUTE.format(script(tmp_path / "x")), write=(str(tmp_path),))

    assert "PermissionError" in said
    assert not (tmp_path / "ran").exists()


def test_neither_can_a_shell_nor_a_copy_that_it_makes_itself(tmp_path: Path) -> None:
    copy = "import shutil, subprocess; shutil.copy('/bin/sh', 'sh'); subprocess.run(['./sh', '-c', 'touch ran'])"

    assert "PermissionError" in run(tmp_path, EXECUTE.format("/bin/sh"), write=(str(tmp_path),))
    assert "PermissionError" in run(tmp_path, copy, write=(str(tmp_path),))
    assert not (tmp_path / "ran").exists()


def test_what_is_named_can_be_executed_and_its_children_are_confined_too(tmp_path: Path) -> None:
    env = "/usr/bin/env"
    inner = EXECUTE.format(script(tmp_path / "x"))
    code = f"import subprocess; print(subprocess.run(['{env}', '{PYTHON}', '-I', '-S', '-c', {inner!r}]).returncode)"

    said = run(tmp_path, code, execute=(env,), write=(str(tmp_path),))

    assert "PermissionError" in said
    assert "1\n" in said
    assert not (tmp_path / "ran").exists()


def test_files_elsewhere_can_neither_be_read_nor_written(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "secret").write_text("s3cret")
    code = "print(open('secret').read())"

    assert "PermissionError" in run(tmp_path, code, write=(str(tmp_path / "mine"),))
    assert "PermissionError" in run(tmp_path, "open('x', 'w')", write=(str(tmp_path / "mine"),))
    assert run(tmp_path, "open('mine/x', 'w').write('a'); print(open('mine/x').read())", write=("mine",)) == "a\n"
    assert run(tmp_path, "import os; os.mkdir('mine/y'); os.rename('mine/x', 'mine/y/x')", write=("mine",)) == ""


def test_a_program_is_not_started_where_the_kernel_cannot_confine_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(confined, "OLDEST", 1000)

    assert confined.main(["--", "/bin/true"]) == confined.MISSING
    assert "/bin/true is not started" in capsys.readouterr().err
