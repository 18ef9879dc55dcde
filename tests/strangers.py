"""Another user of this computer, for tests: what he gets where a lab listens."""

import contextlib
import encodings.idna  # noqa: F401 -- to connect needs it, and nobody can read it any more
import os
import pickle
import signal
import socket
import ssl
from collections.abc import Callable
from typing import Literal, TypeVar

import pytest

T = TypeVar("T")
NOBODY = 65534
PATIENCE = 10.0
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
"""What a client of HTTP/2 begins with: its preface, and empty settings."""
OTHERWISE = ("WRONG_VERSION_NUMBER", "TLSV1_ALERT_NO_APPLICATION_PROTOCOL")
"""Failures of a handshake that mean that it speaks another protocol; it may also just hang up."""
Answer = Literal["refused", "answered"]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def as_stranger(task: Callable[[], T]) -> T:
    """Do something as nobody, in a process of its own; it can import nothing any more, and reads no file of ours."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            signal.alarm(120)
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            try:
                done: object = task()
            except Exception as error:  # noqa: BLE001 -- it is raised again where somebody sees it
                done = RuntimeError(f"{type(error).__name__}: {error}")
            with open(writer, "wb", closefd=False) as pipe:
                pickle.dump(done, pipe)
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        raw = pipe.read()
    os.waitpid(pid, 0)
    answer: T = pickle.loads(raw)
    if isinstance(answer, RuntimeError):
        raise answer
    return answer


def ask(host: str, port: int, path: str = "/metrics") -> tuple[Answer, bytes]:
    """What a server says to somebody who brings nothing along: over TLS if it speaks that, else in plain text."""
    for protocol in ("http/1.1", "h2", None):
        try:
            heard = _heard(host, port, path, protocol)
        except ssl.SSLEOFError:
            continue
        except ssl.SSLError as error:
            if error.reason in OTHERWISE:
                continue
            return "refused", str(error.reason).encode()
        except OSError as error:
            if protocol is not None and isinstance(error, ConnectionResetError):
                continue
            return "refused", type(error).__name__.encode()
        if not heard and protocol is not None:
            continue
        is_refused = not heard or heard.split(b" ", 2)[1:2] in ([b"401"], [b"403"])
        return ("refused" if is_refused else "answered"), heard[:300]
    raise AssertionError("a protocol is left")


def say(host: str, port: int, words: bytes) -> bytes:
    """What a server answers to some words."""
    with socket.create_connection((host, port), timeout=PATIENCE) as line:
        line.sendall(words)
        return line.recv(65536)


def _heard(host: str, port: int, path: str, protocol: str | None) -> bytes:
    question = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode()
    with contextlib.ExitStack() as stack:
        line: socket.socket = stack.enter_context(socket.create_connection((host, port), timeout=PATIENCE))
        if protocol is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            context.set_alpn_protocols([protocol])
            line = stack.enter_context(context.wrap_socket(line))
        line.sendall(PREFACE if protocol == "h2" else question)
        return line.recv(65536)
