import pytest

from firstlight.lab import network


def test_a_claimed_network_is_not_claimed_again_until_it_is_free() -> None:
    first = network.claim(None)
    second = network.claim(first.network.number)
    try:
        assert second.network != first.network
    finally:
        second.holder.close()
        first.holder.close()
    again = network.claim(first.network.number)
    again.holder.close()
    assert again.network == first.network


@pytest.mark.parametrize("number", [1, 250])
def test_the_declared_address_is_never_loopback(number: int) -> None:
    assert network.Network(number).declared == f"10.71.{number}.1"
    assert network.Network(number).loopback.startswith("127.")
