"""Programs that want too much, started inside limits. What holds is a count, a size or an errno; no stopwatch."""

import ast
import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

import firstlight
from firstlight import errors
from firstlight.clients import command
from firstlight.clients.sandbox import isolation, program_limits
from firstlight.clients.sandbox.program_limits import ProgramLimits
from firstlight.model.secret import Secret
from tests.labs import until

PYTHON = sys.executable
SMALL = ProgramLimits(name="small", data=256 << 20, cpu=2, file=1 << 20, processes=0, network=False)


async def run(script: str, within: ProgramLimits = SMALL, **more: object) -> command.Completed:
    return await command.run([PYTHON, "-I", "-S", "-c", script], within=within, check=False, timeout=60, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("kept = [bytearray(1 << 20) for _ in range(4096)]", "256 MiB of memory"),
        ("import mmap; kept = [mmap.mmap(-1, 1 << 20, flags=2) for _ in range(4096)]", "256 MiB of memory"),
        ("while True: pass", "2 s of processor time"),
        ("open('large', 'wb').write(bytes(4 << 20))", "a file of more than 1 MiB"),
    ],
    ids=["memory", "mapped memory", "processor", "file"],
)
async def test_what_exceeds_a_limit_is_told_by_its_name(script: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(errors.LimitExceeded, match=what):
        await run(script, cwd=tmp_path)

    assert all(each.stat().st_size <= SMALL.file for each in tmp_path.iterdir())


async def test_address_space_is_free_since_go_reserves_much_of_it() -> None:
    # Protection 0: reserved, never written. Twice the limit and more.
    script = "import mmap; mmap.mmap(-1, 4 << 30, flags=mmap.MAP_PRIVATE | 0x4000, prot=0); print('reserved')"

    assert (await run(script)).stdout == b"reserved\n"


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_NETLINK"])
async def test_a_renderer_has_no_network(family: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        dial = f"import socket; socket.socket(socket.{family}).connect({address!r})"

        denied = await run(dial)
        # Each of two walls is enough: here it may open sockets, and there is nobody in its namespace.
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()

    assert denied.code == 1
    assert "Permission denied" in denied.stderr


async def test_a_program_with_the_network_reaches_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        dial = f"import socket; socket.create_connection({server.getsockname()!r}); print('reached')"

        assert (await run(dial, program_limits.CLIENT)).stdout == b"reached\n"


async def test_a_renderer_has_a_network_namespace_of_its_own() -> None:
    if "network" in {each.what for each in await isolation.try_limits()}:
        pytest.skip("the kernel grants no namespace")  # and says so: see below

    done = await run("import os; print(os.readlink('/proc/self/ns/net'))")

    assert done.stdout.decode().strip() != os.readlink("/proc/self/ns/net")


@pytest.mark.parametrize(
    "script", ["os.fork()", "os.posix_spawn('/bin/true', ['true'], {})", "subprocess.run(['/bin/true'])"]
)
async def test_a_renderer_starts_no_program_but_threads(script: str) -> None:
    denied = await run(f"import os, subprocess; {script}")
    threads = "import threading as t; a = t.Thread(target=print, args=['thread']); a.start(); a.join()"

    assert "Operation not permitted" in denied.stderr
    assert (await run(threads)).stdout == b"thread\n"


async def test_limits_reach_what_a_program_starts() -> None:
    script = f"import subprocess; subprocess.run([{PYTHON!r}, '-ISc', 'bytearray(1 << 30)'], check=True)"

    with pytest.raises(errors.LimitExceeded, match="memory"):
        await run(script, ProgramLimits(name="parent", data=256 << 20))


async def test_a_limit_that_is_stricter_already_stays(tmp_path: Path) -> None:
    script = (
        "import asyncio, resource, sys\n"
        "from firstlight.clients import command\n"
        "from firstlight.clients.sandbox import program_limits\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "ask = 'import resource; print(resource.getrlimit(resource.RLIMIT_FSIZE))'\n"
        "done = asyncio.run(command.run([sys.executable, '-c', ask], within=program_limits.RENDERER))\n"
        "print(done.stdout.decode())\n"
    )

    done = await command.run([PYTHON, "-c", script], cwd=tmp_path)

    assert done.stdout.split() == [b"(4096,", b"4096)"]


async def test_streams_descriptors_directory_and_environment_arrive(tmp_path: Path) -> None:
    script = (
        "import os, sys\n"
        "print(sys.stdin.read(3), os.getcwd(), os.environ['GIVEN'], open(sys.argv[1]).read())\n"
        "open_ones = [int(each) for each in os.listdir('/proc/self/fd')]\n"
        "print([each for each in sorted(open_ones) if os.path.exists(f'/proc/self/fd/{each}')], file=sys.stderr)\n"
        "sys.exit(3)\n"
    )

    with command.memory_file(Secret("first")) as one, command.memory_file(Secret("second")) as two:
        done = await command.run(
            [PYTHON, "-I", "-S", "-c", script, two.path], within=program_limits.RENDERER, check=False, cwd=tmp_path,
            env={"GIVEN": "a b=c"}, stdin=b"abc" * 500_000, pass_fds=[two.fd, one.fd],
        )  # fmt: skip

    assert done.code == 3
    assert done.stdout.decode() == f"abc {tmp_path} a b=c second\n"
    assert json.loads(done.stderr) == sorted([0, 1, 2, one.fd, two.fd])


async def test_descriptors_keep_their_numbers_whatever_the_launcher_received_them_as() -> None:
    """The launcher receives them at low numbers, in the order in which they were sent."""
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(command.memory_file(Secret(f"<{number}>"))) for number in range(30)]
        turned = [*files[::-1]]
        script = "import sys; print(*(open(each).read() for each in sys.argv[1:]))"

        done = await command.run(
            [PYTHON, "-I", "-S", "-c", script, *(each.path for each in files)],
            within=program_limits.RENDERER,
            pass_fds=[each.fd for each in turned],
        )

    assert done.stdout.decode().split() == [f"<{number}>" for number in range(30)]


async def test_a_program_that_cannot_start_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.Unreachable, match="no program /nowhere/tool"):
        await command.run(["/nowhere/tool"], within=SMALL)
    with pytest.raises(errors.Unreachable, match="cannot be executed"):
        await command.run([str(tmp_path)], within=SMALL)
    with pytest.raises(errors.ClientError, match="is not a directory"):
        await command.run([PYTHON, "-V"], within=SMALL, cwd=tmp_path / "none")


async def test_a_program_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(600)\n"
    )

    with pytest.raises(errors.TimedOut):
        await command.run([PYTHON, "-c", script], timeout=3, within=program_limits.CLIENT)

    async def gone() -> bool:
        return not any(os.path.exists(f"/proc/{pid}") for pid in pids.read_text().split())

    await until(gone, "both processes to be gone")


async def test_who_stops_waiting_leaves_no_program_behind(tmp_path: Path) -> None:
    mark = f"left-{os.getpid()}-{id(tmp_path)}"
    tasks = [
        asyncio.create_task(run("import time; time.sleep(600)", program_limits.CLIENT, env={"MARK": f"{mark}"}))
        for _ in range(20)
    ]
    for number, task in enumerate(tasks):
        await asyncio.sleep(0.002 * (number % 5))
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    async def gone() -> bool:
        return not list(_with_variable(mark))

    await until(gone, "the programs to be gone")


async def test_programs_die_with_whoever_started_them(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = (
        "import asyncio, os, sys\n"
        "from firstlight.clients import command\n"
        "from firstlight.clients.sandbox import program_limits\n"
        "sleep = 'import os, sys, time; open(sys.argv[1], \"w\").write(str(os.getpid())); time.sleep(600)'\n"
        "argv = [sys.executable, '-c', sleep, sys.argv[1]]\n"
        "asyncio.run(command.run(argv, within=program_limits.CLIENT, dies_with_parent=True))\n"
    )
    parent = await asyncio.create_subprocess_exec(PYTHON, "-c", script, str(pid))

    async def written() -> bool:
        return pid.exists() and bool(pid.read_text())

    await until(written, "the program to run")
    parent.send_signal(signal.SIGKILL)
    await parent.wait()

    async def gone() -> bool:
        return not os.path.exists(f"/proc/{pid.read_text()}")

    await until(gone, "the program to be gone")


async def test_a_launcher_that_was_killed_is_replaced() -> None:
    await run("")
    os.kill(isolation._launchers[False].process.pid, signal.SIGKILL)
    isolation._launchers[False].process.wait()

    assert (await run("print('again')")).stdout == b"again\n"


async def test_what_the_kernel_refuses_is_told_for_each_kind_of_program(tmp_path: Path) -> None:
    """Under a filter that refuses namespaces and further filters, as some container runtimes do."""
    script = (
        "import asyncio, errno, json, platform\n"
        "from firstlight.clients.sandbox import isolation, launcher\n"
        "unshare, prctl = {'x86_64': (272, 157), 'aarch64': (97, 167)}[platform.machine()]\n"
        "start = launcher.rules(network=True, programs=True)\n"
        "wanted = [*start, *launcher.refused(unshare, errno.EPERM), *launcher.refused(prctl, errno.EPERM)]\n"
        "launcher.apply_filter(wanted)\n"
        "print(json.dumps([[each.what, each.kind, str(each)] for each in asyncio.run(isolation.try_limits())]))\n"
    )

    done = await command.run([PYTHON, "-c", script])

    told = json.loads(done.stdout)
    assert {(what, kind) for what, kind, _ in told} == {
        ("network", "renderer"), ("processes", "renderer"), ("network", "renderer with charts"),
        ("processes", "renderer with charts"), ("network", "reader"),
    }  # fmt: skip
    assert "network isolation (renderer): Operation not permitted" in {text for _, _, text in told}


async def test_processes_are_counted_in_a_namespace_of_their_own() -> None:
    if os.getuid() == 0:
        pytest.skip("root is exempt, and told so")
    if "processes" in {each.what for each in await isolation.try_limits()}:
        pytest.skip("the kernel grants no user namespace")
    script = (
        "import os, time\n"
        "count = 0\n"
        "try:\n"
        "    while True:\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(60)\n"
        "        count += 1\n"
        "except BlockingIOError:\n"
        "    print(count, flush=True)\n"
    )

    done = await run(script, program_limits.RENDERER_WITH_CHARTS)

    assert 0 < int(done.stdout) < program_limits.RENDERER_WITH_CHARTS.processes


async def test_root_is_told_that_its_processes_are_not_counted() -> None:
    if os.getuid() != 0:
        pytest.skip("only for root")

    told = [each for each in await isolation.try_limits() if each.what == "processes"]

    assert [str(each) for each in told] == ["a limit on the number of processes (renderer with charts): root is exempt"]


def test_every_program_is_started_within_limits_that_are_named() -> None:
    """``within`` has a default for tests alone: a new call in the product has to choose."""
    root = Path(firstlight.__file__).parent
    calls = [
        (path, node)
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "command.run"
    ]

    bare = [f"{path}:{node.lineno}" for path, node in calls if "within" not in {each.arg for each in node.keywords}]

    assert len(calls) > 15
    assert bare == []


def _with_variable(mark: str) -> list[int]:
    found = []
    for each in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if each.name.isdigit() and mark.encode() in (each / "environ").read_bytes():
                found.append(int(each.name))
    return found
