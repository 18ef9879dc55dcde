"""Being told to end: what was begun is cleaned up first, as after Ctrl-C."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def orderly() -> Iterator[None]:
    """End by TERM and HUP as by an interrupt, which cancels what runs, and only then by the signal itself."""
    told: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        told.append(number)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell has it for what runs in the background
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    # Whoever ignores a signal, as nohup does, goes on ignoring it.
    is_main = threading.current_thread() is threading.main_thread()
    taken = [each for each in _SIGNALS if is_main and signal.getsignal(each) is signal.SIG_DFL]
    for each in taken:
        signal.signal(each, interrupt)
    try:
        yield
    finally:
        for each in taken:
            signal.signal(each, signal.SIG_DFL)
        if told:
            os.kill(os.getpid(), told[0])
