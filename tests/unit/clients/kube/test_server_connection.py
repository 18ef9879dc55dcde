import pytest

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube import client_config, server_connection
from firstlight.model.secret import Secret

PROXY = client_config.Proxy("http://proxy:3128")


@pytest.mark.parametrize(
    ("server", "excluded", "is_proxied"),
    [
        ("https://api.example.org:6443", "", True),
        ("https://api.example.org:6443", "example.org", False),
        ("https://api.example.org:6443", ".example.org", False),
        ("https://example.org:6443", ".example.org", True),
        ("https://api.example.org:6443", "other.org, *", False),
        ("https://badexample.org", "example.org", True),
        ("https://api.example.org:6443", "api.example.org:6443", False),
        ("https://api.example.org:6443", "api.example.org:443", True),
        ("https://10.1.2.3:6443", "10.0.0.0/8", False),
        ("https://10.1.2.3:6443", "10.1.2.3", False),
        ("https://10.1.2.3:6443", "192.168.0.0/16,nonsense", True),
        ("https://[fd00::1]:6443", "fd00::/8", False),
        ("https://127.0.0.1:6443", "", False),
        ("https://localhost:6443", "", False),
        ("http://api.example.org", "", False),
    ],
)
def test_the_environment_as_kubectl_reads_it(server: str, excluded: str, is_proxied: bool) -> None:
    environ = {"https_proxy": "http://proxy:3128", "NO_PROXY": excluded}

    assert server_connection.choose_proxy(kube.ClientConfig(server=server), environ) == (PROXY if is_proxied else None)


def test_the_kubeconfig_wins_also_for_loopback() -> None:
    config = kube.ClientConfig(server="https://127.0.0.1", proxy=PROXY)

    assert server_connection.choose_proxy(config, {"HTTPS_PROXY": "http://other", "NO_PROXY": "*"}) == PROXY


def test_credentials_are_taken_out_of_the_address() -> None:
    found = server_connection.choose_proxy(kube.ClientConfig(server="https://h"), {"HTTPS_PROXY": "me:p%40ss@proxy"})

    assert found == client_config.Proxy("http://proxy", "me", Secret("p@ss"))


def test_a_proxy_that_cannot_be_used_is_never_bypassed() -> None:
    with pytest.raises(errors.ConfigError, match="socks5"):
        server_connection.choose_proxy(kube.ClientConfig(server="https://h"), {"HTTPS_PROXY": "socks5://p"})
