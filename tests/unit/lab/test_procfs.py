"""Whose a connection is, and what a process is connected to."""

import os
import socket
from collections.abc import Iterator

import pytest

from firstlight.lab import procfs
from firstlight.lab.procfs import SocketAddress


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket() as one:
        one.bind(("127.71.252.1", 0))
        one.listen()
        yield one


def address(end: tuple[str, int]) -> SocketAddress:
    return SocketAddress(*end[:2])


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_the_user_of_a_connection_is_known(listener: socket.socket, family: socket.AddressFamily) -> None:
    with socket.socket(family) as client:
        host, port = listener.getsockname()
        client.connect((f"::ffff:{host}" if family == socket.AF_INET6 else host, port))
        accepted, _ = listener.accept()
        with accepted:
            ends = address(accepted.getsockname()), address(accepted.getpeername())

            assert procfs.peer_uid(*ends) == os.geteuid()


def test_a_connection_that_its_client_has_left_belongs_to_nobody(listener: socket.socket) -> None:
    """What the kernel still has of it says user 0, whoever it was."""
    with socket.create_connection(listener.getsockname()) as client:
        accepted, _ = listener.accept()
    with accepted:
        client.close()

        assert procfs.peer_uid(address(accepted.getsockname()), address(accepted.getpeername())) is None


def test_somebody_who_listens_at_the_other_end_is_not_the_client(listener: socket.socket) -> None:
    here = address(listener.getsockname())

    assert procfs.peer_uid(SocketAddress("127.71.252.2", 1), here) is None


def test_a_process_is_connected_while_it_holds_a_connection(listener: socket.socket) -> None:
    there = address(listener.getsockname())
    before = procfs.is_connected(os.getpid(), there)
    with socket.create_connection(there):
        accepted, _ = listener.accept()
        with accepted:
            during = procfs.is_connected(os.getpid(), there), procfs.is_connected(os.getppid(), there)

    assert (before, during) == (False, (True, False))
    assert not procfs.is_connected(os.getpid(), there)


def test_a_process_listens_where_it_does(listener: socket.socket) -> None:
    there = address(listener.getsockname())

    assert procfs.is_listening(os.getpid(), there)
    assert not procfs.is_listening(os.getppid(), there)
    assert not procfs.is_listening(os.getpid(), SocketAddress(there.host, 1))


def test_all_listening_sockets_are_listed(listener: socket.socket) -> None:
    with socket.socket(socket.AF_INET6) as everywhere:
        everywhere.bind(("::", 0))
        everywhere.listen()
        wanted = {address(listener.getsockname()), address(everywhere.getsockname())}

        found = {each.local for each in procfs.tcp_sockets() if each.state == procfs.LISTEN}

    assert found >= wanted


def test_a_process_that_is_gone_has_no_sockets() -> None:
    assert procfs.socket_inodes(2**22 + 1) == frozenset()
