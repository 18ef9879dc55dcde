"""What encrypted files say in plain."""

from pathlib import Path

import pytest

from firstlight.clients import sops

YAML = b"""
a: ENC[AES256_GCM,data:x,type:str]
sops:
  age: [{recipient: age1one, enc: x}, {recipient: age1two, enc: x}]
  hc_vault: [{vault_address: "https://vault.example.org", engine_path: transit, key_name: k, enc: x}]
  kms: []
  mac: ENC[x]
"""
GROUPS = (
    b"sops: {mac: x, key_groups: [{age: [{recipient: age1one}]}, {pgp: [{fp: AB12}], hc_vault: [{vault_address: u}]}]}"
)
DOTENV = (
    b"A=ENC[x]\nsops_age__list_0__map_recipient=age1one\nsops_hc_vault__list_0__map_vault_address=u\nsops_mac=ENC[x]\n"
)
INI = b"[a]\nb = ENC[x]\n[sops]\nage__list_0__map_recipient = age1one\nmac = ENC[x]\n"
BINARY = b'{"data": "ENC[x]", "sops": {"pgp": [{"fp": "AB12"}], "mac": "ENC[x]"}}'


@pytest.mark.parametrize(
    ("data", "name", "kinds", "recipients", "vaults"),
    [
        (YAML, "a.yaml", {"age", "hc_vault"}, ("age1one", "age1two"), ("https://vault.example.org",)),
        (GROUPS, "a.yml", {"age", "pgp", "hc_vault"}, ("age1one", "AB12"), ("u",)),
        (DOTENV, "a.env", {"age", "hc_vault"}, ("age1one",), ("u",)),
        (INI, "a.ini", {"age"}, ("age1one",), ()),
        (BINARY, "a.key", {"pgp"}, ("AB12",), ()),
    ],
    ids=["yaml", "groups", "dotenv", "ini", "binary"],
)
def test_keys_are_found_in_every_form(
    data: bytes, name: str, kinds: set[str], recipients: tuple[str, ...], vaults: tuple[str, ...]
) -> None:
    found = sops.read_metadata(data, Path(name))

    assert found == sops.SopsMetadata(frozenset(kinds), recipients, vaults)


@pytest.mark.parametrize(
    ("data", "name"),
    [(b"a: b\n", "a.yaml"), (b"", "a.yaml"), (b"A=b\n", "a.env"), (b"\x00\x01", "a.key"), (b"sops: {}", "a.yaml")],
)
def test_what_is_plain_is_known_as_such(data: bytes, name: str) -> None:
    assert sops.read_metadata(data, Path(name)) is None


def test_what_is_no_yaml_is_refused() -> None:
    with pytest.raises(ValueError, match="YAML"):
        sops.read_metadata(b"a: [b", Path("a.yaml"))
