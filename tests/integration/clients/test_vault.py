"""Vault over HTTP, against a stand-in that answers as its API documentation says; the real one was not run."""

import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from firstlight import errors
from firstlight.clients import secret_errors
from firstlight.clients.vault import VaultClient
from firstlight.model import secret_reference
from firstlight.model.secret import Secret
from tests.integration.clients.vault_standin import TOKEN, Standin

CANARY = "s3cr3t-canary"


def asked(text: str) -> secret_reference.VaultReference:
    found = secret_reference.parse(text)
    assert isinstance(found, secret_reference.VaultReference)
    return found


@pytest.fixture
def standin() -> Standin:
    one = Standin()
    one.version_2["home/dns"] = {"token": CANARY, "port": 53, "on": True, "nothing": None, "more": {"a": 1}}
    one.version_1["home/dns"] = {"token": "old"}
    return one


@pytest_asyncio.fixture
async def address(standin: Standin) -> AsyncIterator[str]:
    async with standin.serving() as url:
        yield url


async def read(environ: dict[str, str], text: str) -> Secret:
    client = VaultClient(environ)
    try:
        return await client.read(asked(text))
    finally:
        await client.close()


async def test_both_versions_are_read_at_the_same_kind_of_path(standin: Standin, address: str, tmp_path: Path) -> None:
    (tmp_path / ".vault-token").write_text(f"{TOKEN}\n")
    environ = {"VAULT_ADDR": f"{address}/", "HOME": str(tmp_path), "VAULT_NAMESPACE": "team/"}

    assert await read(environ, "vault:secret/home/dns#token") == Secret(CANARY)
    assert await read(environ, "vault:old/kv/home/dns#token") == Secret("old")
    assert await read(environ, "vault:secret/home/dns#port") == Secret("53")
    assert await read(environ, "vault:secret/home/dns#on") == Secret("true")
    assert ("team", "secret/data/home/dns") in standin.asked
    assert ("team", "old/kv/home/dns") in standin.asked


@pytest.mark.parametrize(
    ("text", "kind", "what", "hint"),
    [
        ("vault:secret/home/nothing#token", secret_errors.SecretNotFound, "nothing at this path", "kv list"),
        ("vault:secret/data/home/dns#token", secret_errors.SecretNotFound, "nothing at this path", "leave out data/"),
        ("vault:secret/home/dns#other", secret_errors.SecretNotFound, "no such key", "more, nothing, on, port, token"),
        ("vault:secret/home/dns#more", secret_errors.SecretUnreadable, "no text", ""),
        ("vault:secret/gone#token", secret_errors.SecretNotFound, "was deleted", "undelete -versions=4 secret/gone"),
        ("vault:secret/burnt#token", secret_errors.SecretNotFound, "was destroyed", "kv put"),
        ("vault:secret/forbidden#token", secret_errors.SecretForbidden, "refuses", "policy"),
        ("vault:nowhere/x#token", secret_errors.SecretForbidden, "refuses", "policy"),
        ("vault:transit/keys#token", secret_errors.SecretUnreadable, "type transit", "key-value"),
        ("vault:old/kv/none#token", secret_errors.SecretNotFound, "nothing at this path", "kv list"),
    ],
)
async def test_each_no_has_its_meaning(
    standin: Standin, address: str, text: str, kind: type[secret_errors.SecretError], what: str, hint: str
) -> None:
    standin.deleted["gone"] = {"deletion_time": "2026-01-01T00:00:00Z", "destroyed": False, "version": 4}
    standin.deleted["burnt"] = {"deletion_time": "", "destroyed": True, "version": 1}

    with pytest.raises(kind) as caught:
        await read({"VAULT_ADDR": address, "VAULT_TOKEN": TOKEN}, text)

    assert what in caught.value.message
    assert hint in caught.value.hint
    assert CANARY not in f"{caught.value!r}{caught.value.hint}"


async def test_tokens_seals_and_silence(standin: Standin, address: str, tmp_path: Path) -> None:
    text = "vault:secret/home/dns#token"
    with pytest.raises(secret_errors.SecretStoreNotSignedIn, match="does not take the token") as wrong:
        await read({"VAULT_ADDR": address, "VAULT_TOKEN": f"hvs.{CANARY}"}, text)
    with pytest.raises(secret_errors.SecretStoreNotSignedIn, match="VAULT_ADDR: it is not set"):
        await read({"VAULT_TOKEN": TOKEN}, text)
    with pytest.raises(secret_errors.SecretStoreNotSignedIn, match="nobody is logged in"):
        await read({"VAULT_ADDR": address, "HOME": str(tmp_path)}, text)
    with pytest.raises(errors.UsageError, match="no URL"):
        await read({"VAULT_ADDR": "vault.example.org", "VAULT_TOKEN": TOKEN}, text)
    with pytest.raises(errors.Refused, match="VAULT_SKIP_VERIFY"):
        await read({"VAULT_ADDR": address, "VAULT_TOKEN": TOKEN, "VAULT_SKIP_VERIFY": "1"}, text)
    with pytest.raises(secret_errors.SecretStoreUnreachable):
        await read({"VAULT_ADDR": "http://127.0.0.1:1", "VAULT_TOKEN": TOKEN}, text)
    standin.sealed = True
    with pytest.raises(secret_errors.VaultSealed, match="is sealed") as sealed:
        await read({"VAULT_ADDR": address, "VAULT_TOKEN": TOKEN}, text)

    assert CANARY not in f"{wrong.value!r}{wrong.value.hint}"
    assert "unseal" in sealed.value.hint


async def test_a_standby_leads_to_the_active_one_but_not_to_less_safety(standin: Standin, address: str) -> None:
    standby = Standin()
    async with standby.serving() as other:
        environ = {"VAULT_ADDR": other, "VAULT_TOKEN": TOKEN}
        standby.redirect = address
        value = await read(environ, "vault:secret/home/dns#token")
        standby.redirect = "ftp://127.0.0.1"
        with pytest.raises(secret_errors.SecretStoreUnreachable, match="standby"):
            await read(environ, "vault:secret/home/dns#token")

    assert value == Secret(CANARY)


async def test_the_certificate_is_verified(standin: Standin, tmp_path: Path) -> None:
    certificate = _self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, tmp_path / "key.pem")
    async with standin.serving(context) as url:
        environ = {"VAULT_ADDR": url, "VAULT_TOKEN": TOKEN}

        with pytest.raises(secret_errors.SecretStoreUntrusted, match="unknown authority"):
            await read(environ, "vault:secret/home/dns#token")
        before = list(standin.asked)
        by_file = await read({**environ, "VAULT_CACERT": str(certificate)}, "vault:secret/home/dns#token")
        by_bytes = await read({**environ, "VAULT_CACERT_BYTES": certificate.read_text()}, "vault:secret/home/dns#token")
        with pytest.raises(errors.ConfigError, match="VAULT_CACERT"):
            await read({**environ, "VAULT_CACERT": str(tmp_path / "none")}, "vault:secret/home/dns#token")

    assert before == [], "nothing is sent to a server that proves nothing"
    assert by_file == by_bytes == Secret(CANARY)


def _self_signed(directory: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "vault")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(7).not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    (directory / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (directory / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return directory / "cert.pem"
