import socket

import pytest

from firstlight import errors
from firstlight.lab import loopback_network


def test_a_claimed_network_is_not_claimed_again_until_it_is_free() -> None:
    first = loopback_network.claim_network(None)
    second = loopback_network.claim_network(first.network)
    try:
        assert second.network != first.network
    finally:
        second.holder.close()
        first.holder.close()
    again = loopback_network.claim_network(first.network)
    again.holder.close()
    assert again.network == first.network


def test_a_network_with_a_port_in_use_is_left_alone() -> None:
    first = loopback_network.claim_network(None, shifts=(6666,))
    first.holder.close()
    with socket.socket() as stranger:
        stranger.bind((first.network.loopback, first.network.controller_manager))
        stranger.listen()
        second = loopback_network.claim_network(first.network, shifts=(6666,))
    second.holder.close()

    assert second.network != first.network


def test_ports_are_shifted_where_one_is_taken_on_every_address() -> None:
    with socket.socket() as stranger:
        stranger.bind(("0.0.0.0", 10250 + 3333))
        stranger.listen()
        claim = loopback_network.claim_network(None, shifts=(3333, 5555))
    claim.holder.close()

    assert claim.network.shift == 5555


def test_the_port_that_is_in_the_way_is_named() -> None:
    with socket.socket() as stranger:
        stranger.bind(("0.0.0.0", 10250 + 4444))
        stranger.listen()
        with pytest.raises(errors.LabError, match="port 14694 is in use"):
            loopback_network.claim_network(None, shifts=(4444,))


@pytest.mark.parametrize("number", [1, 250])
def test_the_declared_address_is_never_loopback(number: int) -> None:
    assert loopback_network.LoopbackNetwork(number).declared == f"10.71.{number}.1"
    assert loopback_network.LoopbackNetwork(number).loopback.startswith("127.")


@pytest.mark.parametrize(("shift", "apid"), [(0, 50000), (20000, 50002), (40000, 50004)])
def test_machines_have_addresses_of_their_own_and_one_port(shift: int, apid: int) -> None:
    net = loopback_network.LoopbackNetwork(3, shift)

    assert (net.machine(1), net.machine(2)) == ("127.71.3.11", "127.71.3.12")
    assert (net.apid, net.trustd) == (apid, apid + 1)


def test_a_network_whose_first_machine_would_clash_is_left_alone_by_labs_with_machines() -> None:
    first = loopback_network.claim_network(None, shifts=(7777,), needs=loopback_network.NetworkNeeds(machines=True))
    first.holder.close()
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        stranger.bind((first.network.machine(1), first.network.apid))
        stranger.listen()
        without = loopback_network.claim_network(first.network, shifts=(7777,))
        without.holder.close()
        with_machines = loopback_network.claim_network(
            first.network, shifts=(7777,), needs=loopback_network.NetworkNeeds(machines=True)
        )
    with_machines.holder.close()

    assert without.network == first.network
    assert with_machines.network != first.network


def test_a_lab_whose_members_know_each_other_gets_its_own_network_or_none() -> None:
    first = loopback_network.claim_network(None)
    try:
        with pytest.raises(errors.LabError, match=f"127.71.{first.network.number}.0/24, is taken: another lab has it"):
            loopback_network.claim_network(
                first.network, needs=loopback_network.NetworkNeeds(machines=True), others=False
            )
    finally:
        first.holder.close()
    again = loopback_network.claim_network(
        first.network, needs=loopback_network.NetworkNeeds(machines=True), others=False
    )
    again.holder.close()

    assert again.network == first.network


def test_the_place_of_a_lab_decides_where_it_would_like_to_be() -> None:
    assert loopback_network.network_of_place("/labs/a") == loopback_network.network_of_place("/labs/a")
    assert loopback_network.network_of_place("/labs/a").number in loopback_network.PREFERRED
