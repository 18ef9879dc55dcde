"""Being told to end, by whom and however it was started: nothing is left in temporary directories."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = """
import asyncio, tempfile
from firstlight.cli import main

async def work():
    with tempfile.TemporaryDirectory() as made:
        print(made, flush=True)
        await asyncio.sleep(60)

def run(arguments):
    try:
        asyncio.run(work())
    except KeyboardInterrupt:
        return main.INTERRUPTED

main.run = run
main.main([])
"""


def ignoring(*numbers: int) -> Callable[[], None]:
    """What a child begins with; a shell has interrupts ignored by what runs in the background."""

    def begin() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)

    return begin


@pytest.mark.parametrize("ignored", [(), (signal.SIGINT,)], ids=["in the foreground", "in the background"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_cleans_up_and_ends_by_the_signal(number: signal.Signals, ignored: tuple[int, ...]) -> None:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, preexec_fn=ignoring(*ignored))
    assert process.stdout is not None
    made = Path(process.stdout.readline().decode().strip())
    assert made.is_dir()

    process.send_signal(number)
    process.communicate(timeout=30)

    assert process.returncode == -number
    assert not made.exists()


def test_nohup_is_respected() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, preexec_fn=ignoring(signal.SIGHUP)
    )
    assert process.stdout is not None
    made = Path(process.stdout.readline().decode().strip())

    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.3)
    assert made.is_dir()
    process.terminate()
    process.communicate(timeout=30)
    assert not made.exists()
