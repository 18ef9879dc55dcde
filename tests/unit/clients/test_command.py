import asyncio
import os
import sys
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import command
from firstlight.model.secret import Secret
from tests.labs import until

PYTHON = sys.executable


async def test_output_errors_and_exit_codes_are_told_apart() -> None:
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"

    done = await command.run([PYTHON, "-c", script], check=False)

    assert (done.code, done.stdout, done.stderr) == (3, b"out\n", "err\n")
    with pytest.raises(errors.CommandFailed, match="exited with 3: err"):
        await command.run([PYTHON, "-c", script])


async def test_a_missing_program_and_a_missing_directory_are_named(tmp_path: Path) -> None:
    with pytest.raises(errors.Unreachable, match="no program /nowhere/tool"):
        await command.run(["/nowhere/tool"])
    with pytest.raises(errors.ClientError, match="is not a directory"):
        await command.run([PYTHON, "-V"], cwd=tmp_path / "none")


async def test_a_program_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(600)\n"
    )

    with pytest.raises(errors.TimedOut):
        await command.run([PYTHON, "-c", script], timeout=3)

    async def gone() -> bool:
        return not any(_lives(int(pid)) for pid in pids.read_text().split())

    await until(gone, "both processes to be gone")


async def test_lines_of_standard_error_arrive_as_they_come() -> None:
    lines: list[str] = []

    await command.run([PYTHON, "-c", "import sys; sys.stderr.write('a\\nb\\nlast')"], on_stderr=lines.append)

    assert lines == ["a", "b", "last"]


async def test_input_is_fed_and_a_reader_that_stops_early_is_no_error() -> None:
    done = await command.run([PYTHON, "-c", "import sys; print(sys.stdin.read(3))"], stdin=b"abc" * 500_000)

    assert done.stdout == b"abc\n"


async def test_a_memory_file_reaches_a_program_and_no_disk() -> None:
    with command.memory_file(Secret("hunter2")) as file:
        done = await command.run([PYTHON, "-c", f"print(open({file.path!r}).read())"], pass_fds=[file.fd])
        assert os.readlink(file.path).startswith("/memfd:")

    assert done.stdout == b"hunter2\n"
    assert not os.path.exists(file.path)


async def test_a_spawned_process_dies_with_its_parent(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = (
        "import asyncio, pathlib, sys\n"
        "from firstlight.clients import command\n"
        "async def main():\n"
        "    child = await command.spawn([sys.executable, '-c', 'import time; time.sleep(600)'],"
        f" log=pathlib.Path({str(tmp_path / 'log')!r}))\n"
        f"    pathlib.Path({str(pid)!r}).write_text(str(child.pid))\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(PYTHON, "-c", script)

    async def started() -> bool:
        return pid.exists() and bool(pid.read_text())

    await until(started, "the child")
    child = int(pid.read_text())
    assert _lives(child)
    parent.kill()
    await parent.wait()

    async def gone() -> bool:
        return not _lives(child)

    await until(gone, "the child to die with its parent")


def _lives(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat[stat.rindex(")") + 2] not in "ZX"
