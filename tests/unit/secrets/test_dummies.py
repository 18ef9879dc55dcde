"""Dummies: plausible, the same in every run, and never anybody's."""

import base64
import json
import re
import ssl
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from hypothesis import given
from hypothesis import strategies as st

from firstlight import errors
from firstlight.clients import secret_errors
from firstlight.model import secret_reference
from firstlight.secrets.dummies import Dummies

ENCRYPTED = """\
machine:
  registries: {password: "ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]"}
  number: ENC[AES256_GCM,data:x,iv:y,tag:z,type:int]
  plain: stays
sops: {mac: x, age: []}
"""


async def dummy(text: str) -> str:
    return (await Dummies().resolve(text)).reveal().decode()


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("op://kubernetes/sops/age-key", r"# public key: age1[a-z0-9]{58}\nAGE-SECRET-KEY-1[A-Z0-9]{58}\n"),
        ("sops:a.sops.yaml#stringData.age.agekey", r"# public key: age1.*\nAGE-SECRET-KEY-1.*\n"),
        ("file:~/.config/sops/age/keys.txt", r"# public key: age1.*\nAGE-SECRET-KEY-1.*\n"),
        ("env:SOPS_AGE_KEY", r"# public key: age1.*\nAGE-SECRET-KEY-1.*\n"),
        ("op://home/flux/identity", r"-----BEGIN PRIVATE KEY-----\n[\s\S]*"),
        ("op://home/flux/identity.pub", r"ssh-ed25519 AAAA\S+\n"),
        ("op://home/flux/known_hosts", r"rehearsal.example.org ssh-ed25519 AAAA\S+\n"),
        ("op://home/cloudflare/api-token", r"rehearsal-[0-9a-f]{40}"),
        ("op://home/postgres/username", "rehearsal"),
        ("op://home/postgres/password", r"rehearsal-[0-9a-f]{40}"),
        ("vault:secret/smtp#host", "rehearsal.example.org"),
        ("vault:secret/smtp#email", "rehearsal@example.org"),
        ("env:API_URL", "https://rehearsal.example.org"),
        ("op://home/image/storage", r"rehearsal-[0-9a-f]{40}"),
    ],
)
async def test_the_name_of_a_key_says_what_it_is(text: str, form: str) -> None:
    assert re.fullmatch(form, await dummy(text)), await dummy(text)


async def test_what_has_a_format_keeps_it() -> None:
    kubeconfig = yaml.safe_load(await dummy("op://home/cluster/kubeconfig"))
    docker = json.loads(await dummy("op://home/registry/.dockerconfigjson"))
    connect = json.loads(await dummy("op://home/connect/1password-credentials.json"))

    assert kubeconfig["current-context"] == kubeconfig["contexts"][0]["name"]
    auth = docker["auths"]["registry.example.org"]
    assert base64.b64decode(auth["auth"]).decode() == f"rehearsal:{auth['password']}"
    assert connect["version"] == "2"


async def test_a_certificate_and_its_key_belong_together(tmp_path: Path) -> None:
    certificate = await dummy("op://home/ingress/tls.crt")
    key = await dummy("op://home/ingress/tls.key")
    (tmp_path / "pair.pem").write_text(certificate + key)

    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tmp_path / "pair.pem")

    public = serialization.load_pem_private_key(key.encode(), None).public_key()
    assert x509.load_pem_x509_certificate(certificate.encode()).public_key() == public


@given(st.from_regex(r"(op://[a-z]{1,9}/[a-z]{1,9}/[a-z.-]{1,9}|env:[A-Z_]{1,9}|vault:[a-z]{1,5}/[a-z]{1,5}#[a-z]{1,9})",
                     fullmatch=True))  # fmt: skip
async def test_every_reference_has_one_and_always_the_same(text: str) -> None:
    try:
        secret_reference.parse(text)
    except errors.UsageError:
        return

    once, again = await dummy(text), await dummy(text)

    assert once == again
    assert once.strip()


async def test_an_encrypted_file_shows_its_keys(tmp_path: Path) -> None:
    (tmp_path / "patch.sops.yaml").write_text(ENCRYPTED)
    dummies = Dummies(tmp_path)

    whole = yaml.safe_load((await dummies.resolve("sops:patch.sops.yaml")).reveal())
    one = await dummies("sops:patch.sops.yaml#machine.plain")

    assert whole["machine"]["registries"]["password"].startswith("rehearsal-")
    assert whole["machine"]["number"] == 1
    assert one.reveal() == b"stays"
    assert "sops" not in whole
    with pytest.raises(secret_errors.SecretNotFound, match="no such key"):
        await dummies.resolve("sops:patch.sops.yaml#machine.nothing")
    with pytest.raises(secret_errors.SecretFileNotFound):
        await dummies.resolve("sops:none.sops.yaml")
