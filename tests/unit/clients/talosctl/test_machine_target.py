import contextlib
import string

import pytest
from hypothesis import example, given, provisional
from hypothesis import strategies as st

from firstlight import errors
from firstlight.clients.talosctl import machine_target
from firstlight.clients.talosctl.machine_target import MachineTarget

STRANGE = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="-=,:.[]% \n\t\"'@/\\ab1", max_size=20),
    st.builds(
        lambda head, host: head + host,
        st.sampled_from(["-", "--", "-n=", "--file=/", "@", " ", ","]),
        st.just("10.5.0.2"),
    ),
    st.builds("10.5.0.2{}{}".format, st.sampled_from([",", " ", "\n", "\0", '"', "%"]), st.text(max_size=5)),
)


@given(STRANGE)
@example("fe80::1%,--file=/etc/shadow")
@example("[--x]:1")
@example("10.5.0.2\n")
@example("-n")
def test_a_strange_string_is_refused_or_is_harmless_on_a_command_line(text: str) -> None:
    for nodes, endpoints in (([text], []), (["10.5.0.2"], [text])):
        with contextlib.suppress(errors.UsageError):
            made = MachineTarget.of(*nodes, endpoints=endpoints)
            for value in (*made.nodes, *made.endpoints):
                bare = value.removeprefix("https://")
                assert not bare.startswith("-")
                assert set(bare) <= set(string.ascii_letters + string.digits + ".:-[]%_")
                assert bare


@given(
    st.one_of(
        st.ip_addresses().map(str),
        provisional.domains(max_length=100),
        st.from_regex(r"\A[a-z]([a-z0-9-]{0,20}[a-z0-9])?\Z"),
    )
)
def test_addresses_and_names_are_accepted(host: str) -> None:
    assert MachineTarget.of(host).node == host


@pytest.mark.parametrize(
    "endpoint",
    [
        "10.5.0.2:50000",
        "[fd00::1]:50000",
        "cp-1.example.org:443",
        "fe80::1%eth0",
        "https://omni.example.org",
        "https://h:8443",
    ],
)
def test_endpoints_may_have_ports_and_be_urls(endpoint: str) -> None:
    assert MachineTarget.of("10.5.0.2", endpoints=[endpoint]).endpoints == (endpoint,)


@pytest.mark.parametrize(
    "text",
    ["", "10.5.0.2,10.5.0.3", "a b", "-n", "host:", "host:0", "host:70000", "host:1:2", "[10.5.0.2]:1", "[fd00::1",
     "a_b", "a..b", "10.5.0.2%eth0", "http://h", "x" * 254, "https://", "@file", "h/../x"],
)  # fmt: skip
def test_what_is_neither_is_refused_and_shown(text: str) -> None:
    assert not machine_target.is_host(text)
    with pytest.raises(errors.UsageError) as caught:
        MachineTarget.of("10.5.0.2", endpoints=[text])

    assert text[:20] in caught.value.message


def test_a_machine_is_needed() -> None:
    with pytest.raises(errors.UsageError):
        MachineTarget.of()


def test_the_only_machine() -> None:
    with pytest.raises(ValueError, match="one machine"):
        _ = MachineTarget.of("10.5.0.2", "10.5.0.3").node
