import socket

import pytest

from firstlight import errors
from firstlight.lab import network


def test_a_claimed_network_is_not_claimed_again_until_it_is_free() -> None:
    first = network.claim(None)
    second = network.claim(first.network)
    try:
        assert second.network != first.network
    finally:
        second.holder.close()
        first.holder.close()
    again = network.claim(first.network)
    again.holder.close()
    assert again.network == first.network


def test_a_network_with_a_port_in_use_is_left_alone() -> None:
    first = network.claim(None, shifts=(6666,))
    first.holder.close()
    with socket.socket() as stranger:
        stranger.bind((first.network.loopback, first.network.controller_manager))
        stranger.listen()
        second = network.claim(first.network, shifts=(6666,))
    second.holder.close()

    assert second.network != first.network


def test_ports_are_shifted_where_one_is_taken_on_every_address() -> None:
    with socket.socket() as stranger:
        stranger.bind(("0.0.0.0", 10250 + 3333))
        stranger.listen()
        claim = network.claim(None, shifts=(3333, 5555))
    claim.holder.close()

    assert claim.network.shift == 5555


def test_the_port_that_is_in_the_way_is_named() -> None:
    with socket.socket() as stranger:
        stranger.bind(("0.0.0.0", 10250 + 4444))
        stranger.listen()
        with pytest.raises(errors.LabError, match="port 14694 is in use"):
            network.claim(None, shifts=(4444,))


@pytest.mark.parametrize("number", [1, 250])
def test_the_declared_address_is_never_loopback(number: int) -> None:
    assert network.Network(number).declared == f"10.71.{number}.1"
    assert network.Network(number).loopback.startswith("127.")
