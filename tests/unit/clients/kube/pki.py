"""Certificates for tests: made once, in memory."""

import datetime
import functools
import ipaddress
import ssl

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from firstlight.clients import command
from firstlight.model.secret import Secret

Pair = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]


@functools.cache
def authority(name: str = "authority") -> Pair:
    return _issue(name, issuer=None, days=(-1, 30), is_authority=True)


def issue(
    name: str, *, issuer: Pair | None = None, days: tuple[int, int] = (-1, 30), address: str = "127.0.0.1"
) -> Pair:
    return _issue(name, issuer=issuer or authority(), days=days, address=address)


def intermediate() -> Pair:
    return _issue("intermediate", issuer=authority(), days=(-1, 30), is_authority=True)


def certificate_pem(pair: Pair) -> bytes:
    return pair[0].public_bytes(serialization.Encoding.PEM)


def key_pem(pair: Pair, password: bytes = b"") -> bytes:
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return pair[1].private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


def server_context(pair: Pair, *, clients: Pair | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with command.memory_file(Secret(certificate_pem(pair) + key_pem(pair))) as file:
        context.load_cert_chain(file.path)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=certificate_pem(clients).decode())
    return context


def _issue(
    name: str, *, issuer: Pair | None, days: tuple[int, int], is_authority: bool = False, address: str = ""
) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + datetime.timedelta(days=days[0]))
        .not_valid_after(now + datetime.timedelta(days=days[1]))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if address:
        names = [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address(address))]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(issuer[1] if issuer else key, hashes.SHA256()), key
