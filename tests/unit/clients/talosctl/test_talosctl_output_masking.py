import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.clients.talosctl import talosctl_output
from firstlight.model.secret import MASK, Secret

UNKNOWN_KEYS = """error decoding document /v1alpha1/ (line 1): unknown keys found during decoding:
cluster:
    tokn: 3izask.au1aj9zhen2jae63
    nested:
        - hunter2
        - name: hunter3
machine:
    passwrd: hunter4

more"""


def test_keys_that_are_unknown_are_named_without_their_values() -> None:
    masked = talosctl_output.masked_output(UNKNOWN_KEYS)

    assert "tokn:" in masked
    assert "passwrd:" in masked
    assert "more" in masked
    for secret in ("3izask", "au1aj9zhen2jae63", "hunter"):
        assert secret not in masked


def test_a_diff_of_configs_is_cut_off() -> None:
    said = "this config change can't be applied in immediate mode\ndiff:\n--- a\n+++ b\n-  password: hunter2\n"

    assert talosctl_output.masked_output(said) == f"this config change can't be applied in immediate mode\n{MASK}"


@given(st.binary(min_size=32, max_size=200))
def test_keys_in_base64_are_masked(key: bytes) -> None:
    text = base64.b64encode(key).decode()
    letters = [run for run in text.rstrip("=").split("+") if run]

    masked = talosctl_output.masked_output(f"illegal value {text} in .machine.ca.key")

    # A key without capitals, or without digits, does not occur.
    if any(c.isupper() for c in text) and any(c.islower() for c in text) and any(c.isdigit() for c in text):
        assert text not in masked
        assert letters[0] not in masked or len(letters[0]) < 3
    assert masked.endswith("in .machine.ca.key")


@pytest.mark.parametrize(
    "secret",
    [
        "-----BEGIN ED25519 PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEI\n-----END ED25519 PRIVATE KEY-----",
        "abcdef.0123456789abcdef",
    ],
)
def test_keys_and_tokens_are_masked(secret: str) -> None:
    assert talosctl_output.masked_output(f"x {secret} y") == f"x {MASK} y"


@pytest.mark.parametrize(
    "harmless",
    [
        'rpc error: code = Unavailable desc = "transport: Error while dialing: dial tcp 10.5.0.2:50000: connect"',
        "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "/var/lib/etcd/member/snapshots/verylongnames/db",
        "123e4567-e89b-12d3-a456-426614174000",
        "MachineConfigs.config.talos.dev",
        'resource "LinkAliasConfigs.net.talos.dev" is not registered',
    ],
)
def test_what_helps_stays(harmless: str) -> None:
    assert talosctl_output.masked_output(harmless) == harmless


@pytest.mark.parametrize("verb", ["unmarshal", "construct"])
def test_a_value_of_a_wrong_type_is_masked_though_it_is_shortened(verb: str) -> None:
    """go-yaml shows seven letters of it, under whatever key it stands."""
    said = f"yaml: errors:\n  line 5: cannot {verb} !!str `hun`er-...` into v1alpha1.RegistryAuthConfig\nmore `words`"

    masked = talosctl_output.masked_output(said)

    assert (
        masked == f"yaml: errors:\n  line 5: cannot {verb} !!str {MASK} into v1alpha1.RegistryAuthConfig\nmore `words`"
    )


def test_values_that_were_given_do_not_come_back() -> None:
    given = Secret(
        "registries:\n  auth:\n    password: hunter2\n  - token: 'sesame-1'\nenabledSecrets: true\nname: cp-1\n"
    )

    masked = talosctl_output.masked_output("cp-1: hunter2 and sesame-1 are true", given=[given])

    assert masked == f"cp-1: {MASK} and {MASK} are true"
