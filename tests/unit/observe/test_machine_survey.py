"""What of a machine's log and address tells something."""

import pytest

from firstlight.observe import machine_survey

WAITS = "[talos] etcd is waiting to join the cluster, if this node is the first node in the cluster, please run"


@pytest.mark.parametrize(
    ("lines", "is_empty"),
    [
        ([WAITS], True),
        (["service[etcd](Preparing): Running pre state", WAITS, "service[kubelet](Running): Health check"], True),
        ([], False),
        (["service[etcd](Running): Health check successful"], False),
        ([WAITS, "[talos] service[etcd](Running): Started task etcd"], False),
        (["service[etcd](Running): before a reset", WAITS], True),
    ],
)
def test_only_who_looked_and_found_nothing_has_no_data(lines: list[str], is_empty: bool) -> None:
    assert machine_survey._found_nothing(lines) is is_empty


@pytest.mark.parametrize(
    ("endpoint", "host"),
    [
        ("10.5.0.2", "10.5.0.2"),
        ("127.71.1.11:50000", "127.71.1.11"),
        ("fd00::2", "fd00::2"),
        ("[fd00::2]:50000", "fd00::2"),
        ("cp-1.example.org", "cp-1.example.org"),
        ("cp-1.example.org:50001", "cp-1.example.org"),
    ],
)
def test_a_machine_is_named_without_its_port(endpoint: str, host: str) -> None:
    assert machine_survey._host(endpoint) == host
