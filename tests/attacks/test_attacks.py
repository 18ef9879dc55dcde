"""Commands that read a repo read it, and do nothing else, however hostile the repo is.

What must hold is the same for every attack: an exit code with a meaning and no traceback; no program of the repo was
run, no server called, nothing written; no file outside the repo shown; bounded memory; nothing on the terminal that a
terminal would act on.
"""

import base64
import dataclasses
import hashlib
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from firstlight.tools import binary_cache
from tests.attacks.attack import Attack, Ground, attacks, make
from tests.conftest import sample

CANARY = "canary-b7e1f0c2"
COMMANDS = (
    ("inventory", "--everything"),
    ("inventory", "--output", "json"),
    ("plan", "--offline", "--everything"),
    ("render", "--offline"),
    ("audit", "--render", "--offline"),
    ("decide", "--offline", "--diff", "HEAD~1..HEAD"),
)
CODES = {0, 1, 2, 3, 64}
SIZE = 12
"""Attacks that ``make test`` tries of all."""
MEMORY = 1_500_000
"""Kilobytes that a command, or any program it starts, may take."""
SECONDS = 120
"""When a command is taken to hang."""

_HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@dataclasses.dataclass(frozen=True)
class Ran:
    """What a command did."""

    words: tuple[str, ...]
    code: int
    output: str
    memory: int


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "attack" in metafunc.fixturenames:
        chosen = sample(metafunc.config, "hostile repos", list(attacks()), SIZE)
        metafunc.parametrize("attack", chosen, ids=[each.id for each in chosen])


class Trap:
    """A server that nobody may call: it counts who does."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.calls = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.calls += 1
            connection.close()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def trap() -> Iterator[Trap]:
    made = Trap()
    yield made
    made.close()


@pytest.fixture
def ground(tmp_path: Path, trap: Trap) -> Ground:
    home = tmp_path / "home"
    for name in (".ssh/id_ed25519", ".kube/config", ".config/sops/age/keys.txt", "secret.yaml"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {CANARY}}}\n")
    (home / ".config/helm").mkdir(parents=True)
    return Ground(repo=tmp_path / "repo", home=home, mark=tmp_path / "mark", trap=trap.address)


def test_reading_is_all_that_reading_does(attack: Attack, ground: Ground, trap: Trap, tmp_path: Path) -> None:
    make(attack, ground)
    before = _tree(ground.repo), _tree(ground.home)
    wrong = []

    for words in attack.commands or COMMANDS:
        ran = _run(words, attack, ground, tmp_path / "cache")
        wrong += [f"firstlight {' '.join(words)}: {each}" for each in _broken(ran, ground, trap)]

    if (_tree(ground.repo), _tree(ground.home)) != before:
        wrong.append("files were written")
    # What Git has in clear text is on this disk anyway; caches may have it, output may not.
    if attack.group != "secrets" and _shown(tmp_path / "cache"):
        wrong.append("a file outside the repo is in the cache")
    assert not wrong, "\n".join(wrong)


def test_there_are_attacks_of_every_class() -> None:
    names = [each.id for each in attacks()]

    assert len(names) == len(set(names))
    assert len(names) >= 120


def _run(words: tuple[str, ...], attack: Attack, ground: Ground, cache: Path) -> Ran:
    _lend_tools(cache)
    path = os.environ["PATH"]
    environment = {
        "HOME": str(ground.home), "PATH": path, "LANG": "C.UTF-8", "FIRSTLIGHT_CACHE": str(cache),
        "TMPDIR": str(cache.parent), "SECRET_TOKEN": CANARY,
    }  # fmt: skip
    environment |= {name: ground.fill(value).replace("$PATH", path) for name, value in attack.environment.items()}
    program = Path(sys.executable).with_name("firstlight")
    with subprocess.Popen(
        [program, *words], cwd=ground.repo, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        guard = threading.Timer(SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        guard.start()
        assert process.stdout is not None
        output = process.stdout.read().decode(errors="replace")
        _, status, used = os.wait4(process.pid, 0)
        guard.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    return Ran(words, process.returncode, output, used.ru_maxrss)


def _lend_tools(cache: Path) -> None:
    """Renderers of the user's cache, in a cache of the test's own."""
    for name in ("helm", "kustomize"):
        built = binary_cache.locate(os.environ).root / "bin" / name
        if built.is_dir() and not (cache / "bin" / name).exists():
            shutil.copytree(built, cache / "bin" / name, symlinks=True, copy_function=os.link)


def _broken(ran: Ran, ground: Ground, trap: Trap) -> Iterator[str]:
    if ran.code == -signal.SIGKILL:
        yield f"did not end within {SECONDS} s"
    elif ran.code not in CODES:
        yield f"ended with {ran.code}: {ran.output[-500:]}"
    if "Traceback (most recent call last)" in ran.output:
        yield f"traceback: {ran.output[-1500:]}"
    if ground.mark.exists():
        ground.mark.unlink()
        yield "ran a program of the repo"
    if trap.calls:
        trap.calls = 0
        yield "called the server"
    if any(form in ran.output for form in _forms()):
        yield "showed a file outside the repo"
    if harmful := _HARMFUL.search(ran.output):
        yield f"printed {harmful[0]!r} near {ran.output[max(0, harmful.start() - 60) : harmful.start()]!r}"
    if ran.memory > MEMORY:
        yield f"took {ran.memory // 1000} MB"


def _forms() -> tuple[str, ...]:
    return CANARY, base64.b64encode(CANARY.encode()).decode().rstrip("=")


def _tree(root: Path) -> dict[str, str]:
    found = {}
    for directory, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(directory, name)
            if path.is_symlink():
                found[str(path)] = os.readlink(path)
            elif path.is_file():
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest() + oct(path.stat().st_mode)
            else:
                found[str(path)] = oct(path.stat().st_mode)
    return found


def _shown(cache: Path) -> bool:
    return any(
        form.encode() in path.read_bytes()
        for path in cache.rglob("*")
        if path.is_file() and not path.is_symlink() and "bin" not in path.relative_to(cache).parts
        for form in _forms()
    )


def test_memory_is_measured_where_it_is_taken() -> None:
    """The bound would not be one if what children take went unseen."""
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = bytearray(300_000_000)'])"
    child = subprocess.Popen([sys.executable, "-c", code])
    _, _, used = os.wait4(child.pid, 0)
    child.returncode = 0

    assert used.ru_maxrss > 250_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0
