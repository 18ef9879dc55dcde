"""Secrets in what others print."""

import base64

from firstlight.execute.masks import Masks
from firstlight.model.secret import Secret


def test_values_are_masked_plain_and_as_kubernetes_shows_them() -> None:
    masks = Masks()
    masks.add(Secret("hunter2\n"))

    assert masks.masked("the password is hunter2!") == "the password is •••!"
    for value in (b"hunter2", b"hunter2\n"):
        assert masks.masked(base64.b64encode(value).decode()) == "•••"


def test_each_line_of_a_long_value_is_masked() -> None:
    masks = Masks()
    masks.add(Secret("-----BEGIN KEY-----\nMC4CAQAwBQYDK2Vw\n-----END KEY-----\n"))

    assert masks.masked("  MC4CAQAwBQYDK2Vw") == "  •••"


def test_longer_values_are_masked_before_those_that_they_contain() -> None:
    masks = Masks()
    masks.add(Secret("abc"))
    masks.add(Secret("abc-and-more"))

    assert masks.masked("abc-and-more abc") == "••• •••"


def test_what_is_almost_nothing_is_left_alone() -> None:
    masks = Masks()
    masks.add(Secret("1"))
    masks.add(Secret(""))

    assert masks.masked("1 of 10") == "1 of 10"


def test_of_a_kubeconfig_keys_and_tokens_are_masked_and_addresses_are_not() -> None:
    key = base64.b64encode(b"private key").decode()
    masks = Masks()
    masks.add_kubeconfig(
        Secret(
            "clusters: [{name: home, cluster: {server: 'https://10.0.0.1:6443'}}]\n"
            f"users: [{{name: me, user: {{client-key-data: {key}, token: abcdef}}}}]\n"
        )
    )

    assert masks.masked(f"{key} private key abcdef https://10.0.0.1:6443") == "••• ••• ••• https://10.0.0.1:6443"


async def test_what_is_resolved_is_masked_from_then_on() -> None:
    async def resolve(reference: str) -> Secret:
        return Secret(f"value of {reference}")

    masks = Masks()
    assert (await masks.remembering(resolve)("env:X")).reveal() == b"value of env:X"

    assert masks.masked("it is value of env:X") == "it is •••"
