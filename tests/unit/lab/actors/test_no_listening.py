"""A program that may not listen believes that it does."""

import subprocess
import sys
from pathlib import Path

import pytest

from firstlight.lab import procfs
from firstlight.lab.actors import no_listening

SERVER = """
import errno, os, socket, sys
one = socket.socket()
one.bind(("127.71.252.4", 0))
one.listen()
one.setblocking(False)
try:
    one.accept()
except BlockingIOError:
    print("nobody calls", one.getsockname()[1], flush=True)
there = socket.socketpair()
there[0].send(b"x")
print(there[1].recv(1), flush=True)
sys.stdin.read()
"""


def started(*before: str) -> subprocess.Popen[str]:
    argv = [*before, sys.executable, "-c", SERVER]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("is_kept", [True, False])
def test_nothing_listens_and_all_else_goes_on(is_kept: bool) -> None:
    launcher = [sys.executable, "-I", "-S", no_listening.__file__] if is_kept else []
    with started(*launcher) as process:
        assert process.stdout is not None
        said, _, port = process.stdout.readline().rpartition(" ")
        others = process.stdout.readline()
        listening = [each.local.port for each in procfs.tcp_sockets() if each.state == procfs.LISTEN]
        process.communicate()

    assert (said, others.strip()) == ("nobody calls", "b'x'")
    assert (int(port) in listening) is not is_kept
    assert process.returncode == 0


def test_what_cannot_be_kept_from_listening_is_not_started(tmp_path: Path) -> None:
    launcher = Path(no_listening.__file__).read_text().replace("os.uname().machine", "'abacus'")
    (tmp_path / "launcher.py").write_text(launcher)

    done = subprocess.run(
        [sys.executable, "-I", "-S", str(tmp_path / "launcher.py"), "/bin/echo", "hello"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (1, "")
    assert "/bin/echo cannot be kept from listening, so it is not started" in done.stderr


@pytest.mark.parametrize("machine", sorted(no_listening.ARCHITECTURES))
def test_the_filter_is_whole(machine: str) -> None:
    code = no_listening.instructions(machine)

    assert len(code) % 8 == 0
    assert code.endswith((0x7FFF0000).to_bytes(4, sys.byteorder))
