import datetime
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

from firstlight import errors
from firstlight.lab import certificates


def foreign_authority(folder: Path, name: str, key: certificates.PrivateKey) -> None:
    """An authority as Talos makes it: without a common name, and with an identifier that is no hash of the key."""
    subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "kubernetes")])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier(b"its own"), critical=False)
    )
    certificate = builder.sign(key, None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256())
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    if isinstance(key, ed25519.Ed25519PrivateKey):
        pem = pem.replace(b" PRIVATE KEY", b" ED25519 PRIVATE KEY")
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.key").write_bytes(pem)
    (folder / f"{name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


KEYS: dict[str, Callable[[], certificates.PrivateKey]] = {
    "rsa": lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "p256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "p384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "ed25519": ed25519.Ed25519PrivateKey.generate,
}


@pytest.mark.parametrize("kind", KEYS)
def test_authorities_of_every_kind_are_taken_over_and_sign(tmp_path: Path, kind: str) -> None:
    foreign_authority(tmp_path / "machine", "ca", KEYS[kind]())
    certificates.adopt_authority(tmp_path / "machine", tmp_path, "ca")

    authority = certificates.CertificateAuthority(tmp_path, "ca")
    leaf = authority.issue("server", common_name="s", server_names=["a.example", "10.5.0.2"])

    issuer = x509.load_pem_x509_certificate((tmp_path / "machine" / "ca.crt").read_bytes())
    signed = x509.load_pem_x509_certificate(leaf.certificate.read_bytes())
    signed.verify_directly_issued_by(issuer)
    named = signed.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert named.key_identifier == b"its own"


def test_a_new_authority_means_new_certificates(tmp_path: Path) -> None:
    before = certificates.CertificateAuthority(tmp_path, "ca").issue("server", common_name="s").certificate.read_bytes()
    foreign_authority(tmp_path / "machine", "ca", KEYS["p256"]())

    certificates.adopt_authority(tmp_path / "machine", tmp_path, "ca")
    certificates.adopt_authority(tmp_path / "machine", tmp_path, "ca")
    authority = certificates.CertificateAuthority(tmp_path, "ca")
    after = authority.issue("server", common_name="s").certificate.read_bytes()

    assert after != before
    assert after == authority.issue("server", common_name="s").certificate.read_bytes()


def test_half_an_authority_is_not_taken_over(tmp_path: Path) -> None:
    foreign_authority(tmp_path / "machine", "ca", KEYS["p256"]())
    (tmp_path / "machine" / "ca.key").unlink()

    with pytest.raises(errors.LabError, match="no authority"):
        certificates.adopt_authority(tmp_path / "machine", tmp_path, "ca")
    assert not (tmp_path / "ca.crt").exists()


def test_strict_clients_accept_what_the_lab_serves(tmp_path: Path) -> None:
    """Python 3.13 verifies strictly by default; the lab must be ready there too."""
    authority = certificates.CertificateAuthority(tmp_path, "ca")
    pair = authority.issue("server", common_name="server", server_names=["lab.example"])
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pair.certificate, pair.key)
    client = ssl.create_default_context(cafile=str(authority.pair.certificate))
    client.verify_flags |= ssl.VERIFY_X509_STRICT

    ends = [ssl.MemoryBIO() for _ in range(2)]
    one = client.wrap_bio(ends[0], ends[1], server_hostname="lab.example")
    other = server.wrap_bio(ends[1], ends[0], server_side=True)
    for _ in range(4):
        for end in (one, other):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue

    assert one.version() is not None


def test_a_pair_stays_as_long_as_it_fits(tmp_path: Path) -> None:
    authority = certificates.CertificateAuthority(tmp_path, "ca")
    first = authority.issue("server", common_name="s", server_names=["a"]).certificate.read_bytes()
    same = authority.issue("server", common_name="s", server_names=["a"]).certificate.read_bytes()
    other = authority.issue("server", common_name="s", server_names=["a", "b"]).certificate.read_bytes()

    assert first == same
    assert first != other


def test_a_half_written_pair_is_made_anew(tmp_path: Path) -> None:
    authority = certificates.CertificateAuthority(tmp_path, "ca")
    pair = authority.issue("server", common_name="s")
    pair.key.write_bytes(b"")

    again = authority.issue("server", common_name="s")

    assert again.key.read_bytes()
    assert certificates.CertificateAuthority(tmp_path, "ca").pair.certificate.read_bytes()
    assert oct(again.key.stat().st_mode & 0o777) == "0o600"
