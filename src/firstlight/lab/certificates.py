"""The certificates of a lab: an authority each for the cluster, etcd and the front proxy, as kubeadm and Talos have.

The lab makes its own, or takes over those of a machine config, whatever kind of key they have. No certificate names a
loopback address: clients reach the API server there and verify it by name.
"""

import base64
import dataclasses
import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from firstlight import errors
from firstlight.lab import lab_directory, loopback_network
from firstlight.lab.control_plane.cluster_config import ClusterConfig

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey
SERVER_NAME = "kubernetes.default.svc"
"""The name by which clients verify the API server."""
LIFETIME = datetime.timedelta(days=3650)


@dataclasses.dataclass(frozen=True)
class CertificatePair:
    """A certificate and its key, as files."""

    certificate: Path
    key: Path


class CertificateAuthority:
    """Signs certificates into a directory; made once, then read."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.pair = CertificatePair(folder / f"{name}.crt", folder / f"{name}.key")
        if not _is_whole(self.pair):
            self._make(name)
        self._certificate = x509.load_pem_x509_certificate(self.pair.certificate.read_bytes())
        key = serialization.load_pem_private_key(self.pair.key.read_bytes(), None)
        assert isinstance(key, PrivateKey)
        self._key: PrivateKey = key

    def issue(
        self,
        name: str,
        *,
        common_name: str,
        organizations: Sequence[str] = (),
        server_names: Sequence[str] = (),
    ) -> CertificatePair:
        """A certificate for a client, and for a server too if it has names; one that is there stays if it fits."""
        pair = CertificatePair(self.folder / f"{name}.crt", self.folder / f"{name}.key")
        wanted = sorted({str(_general_name(each).value) for each in server_names})
        if _is_whole(pair) and _names(pair.certificate) == wanted and self._has_signed(pair.certificate):
            return pair
        key = ec.generate_private_key(ec.SECP256R1())
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
        subject = [*(x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations)]
        subject.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
        builder = _builder(x509.Name(subject), self._certificate.subject, key.public_key())
        builder = builder.add_extension(self._identifier(), critical=False)
        if wanted:
            usages.append(ExtendedKeyUsageOID.SERVER_AUTH)
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_general_name(each) for each in wanted]), critical=False
            )
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        # Ed25519 has a hash of its own, and wants none.
        has_hash = isinstance(self._key, ed25519.Ed25519PrivateKey)
        certificate = builder.sign(self._key, None if has_hash else hashes.SHA256())
        _write(pair, certificate, key)
        return pair

    def _has_signed(self, path: Path) -> bool:
        try:
            x509.load_pem_x509_certificate(path.read_bytes()).verify_directly_issued_by(self._certificate)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True

    def _identifier(self) -> x509.AuthorityKeyIdentifier:
        """As the authority calls itself: not everybody makes a key's identifier by the same hash."""
        try:
            own = self._certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
        except x509.ExtensionNotFound:
            return x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own.value)

    def _make(self, name: str) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"firstlight lab {name}")])
        builder = _builder(subject, subject, key.public_key())
        own = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
        builder = builder.add_extension(own, critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(_CA_USAGE, critical=True)
        _write(self.pair, builder.sign(key, hashes.SHA256()), key)


def adopt_authority(source: Path, target: Path, name: str) -> None:
    """Take over an authority from elsewhere; files that are the same already stay.

    Raises:
        errors.LabError: Certificate and key are not there, or do not belong together.
    """
    pair = CertificatePair(source / f"{name}.crt", source / f"{name}.key")
    if not _is_whole(pair):
        raise errors.LabError(f"{pair.certificate} and its key are no authority")
    adopt_key(pair.key, target / f"{name}.key")
    _replace(target / f"{name}.crt", pair.certificate.read_bytes(), mode=0o644)


def adopt_key(source: Path, target: Path) -> None:
    """Take over a private key, in the form that every program reads."""
    _replace(target, _readable(source.read_bytes()))


def _readable(pem: bytes) -> bytes:
    """Talos calls its Ed25519 keys by a name of its own; inside they are as everybody's."""
    return pem.replace(b" ED25519 PRIVATE KEY", b" PRIVATE KEY")


def _replace(path: Path, content: bytes, mode: int = 0o600) -> None:
    if not path.exists() or path.read_bytes() != content:
        lab_directory.write_whole(path, content, mode)


def signing_key(path: Path) -> Path:
    """The key that signs ServiceAccount tokens."""
    if not path.exists() or not path.stat().st_size:
        _write_key(path, rsa.generate_private_key(public_exponent=65537, key_size=2048))
    return path


_CA_USAGE = x509.KeyUsage(
    digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
    data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
)  # fmt: skip


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
        # Clients that verify strictly, as Python does from 3.13 on, want this and the authority's.
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _is_whole(pair: CertificatePair) -> bool:
    """Whether certificate and key are there and belong together: a power failure may have left one of them."""
    try:
        certificate = x509.load_pem_x509_certificate(pair.certificate.read_bytes())
        key = serialization.load_pem_private_key(_readable(pair.key.read_bytes()), None)
    except (OSError, ValueError):
        return False
    return certificate.public_key() == key.public_key()


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _names(certificate: Path) -> list[str]:
    parsed = x509.load_pem_x509_certificate(certificate.read_bytes())
    try:
        names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return sorted(str(name.value) for name in names)


def _write(pair: CertificatePair, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    # The key first: a certificate without its key would be taken for a finished pair.
    _write_key(pair.key, key)
    lab_directory.write_whole(pair.certificate, certificate.public_bytes(serialization.Encoding.PEM), mode=0o644)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    lab_directory.write_whole(path, pem)


# Kubeconfig files of a lab: one for each part and for the administrator, with certificates inside.


def write_kubeconfig(
    path: Path, *, server: str, authority: Path, user: str, pair: CertificatePair, context: str
) -> None:
    """Write a kubeconfig for its owner alone; JSON is YAML, and every client reads it."""
    identity = {
        "client-certificate-data": _encoded(pair.certificate),
        "client-key-data": _encoded(pair.key),
    }
    _kubeconfig_write(path, server=server, authority=authority, user=user, identity=identity, context=context)


def write_token_kubeconfig(path: Path, *, server: str, authority: Path, user: str, token: Path, context: str) -> None:
    """Write a kubeconfig whose token is in another file, which may be renewed."""
    _kubeconfig_write(
        path, server=server, authority=authority, user=user, identity={"tokenFile": str(token)}, context=context
    )


def _kubeconfig_write(
    path: Path, *, server: str, authority: Path, user: str, identity: dict[str, str], context: str
) -> None:
    cluster = {
        "server": server,
        "tls-server-name": SERVER_NAME,
        "certificate-authority-data": _encoded(authority),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": context, "cluster": cluster}],
        "users": [{"name": user, "user": identity}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": user}}],
        "current-context": context,
    }
    lab_directory.write_whole(path, msgspec.json.format(msgspec.json.encode(config), indent=2) + b"\n")


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


# The certificates that the parts of a control plane name in their flags, and the kubeconfigs of those who use it.


AUTHORITIES = ("ca", "etcd-ca", "front-proxy-ca")
SIGNING_KEY = "service-accounts.key"


class Pki:
    """The pairs that the parts name in their flags."""

    def __init__(self, folder: Path, config: ClusterConfig) -> None:
        self.cluster = CertificateAuthority(folder, "ca")
        self.etcd = CertificateAuthority(folder, "etcd-ca")
        self.front = CertificateAuthority(folder, "front-proxy-ca")
        self.signing = signing_key(folder / SIGNING_KEY)
        services = [str(ipaddress.ip_network(each, strict=False)[1]) for each in config.service_cidrs]
        names = [
            "kubernetes",
            "kubernetes.default",
            SERVER_NAME,
            f"{SERVER_NAME}.{config.dns_domain}",
        ]
        self.api = self.cluster.issue(
            "apiserver", common_name="kube-apiserver", server_names=[*names, *services, *config.names]
        )
        self.etcd_client = self.etcd.issue("apiserver-etcd", common_name="kube-apiserver")
        self.front_client = self.front.issue("front-proxy", common_name="front-proxy")
        self.kubelet_client = self.cluster.issue(
            "apiserver-kubelet", common_name="kube-apiserver-kubelet", organizations=["system:masters"]
        )
        self.parts = self.cluster.issue("parts", common_name="lab:parts", server_names=[SERVER_NAME])

    def etcd_server(self, loopback: str) -> CertificatePair:
        """That of the lab's own etcd, which is no Kubernetes object and has no other address than this one."""
        return self.etcd.issue("etcd", common_name="etcd", server_names=[loopback])


def make_pki(home: lab_directory.LabDirectory, net: loopback_network.LoopbackNetwork, config: ClusterConfig) -> Pki:
    """All certificates, and a kubeconfig for each user of the API."""
    pki = Pki(home.certificates, config)
    direct = f"https://{net.loopback}:{net.api}"
    ca = pki.cluster.pair.certificate
    users = {
        "admin": ("admin", ["system:masters"]),
        "kube-controller-manager": ("system:kube-controller-manager", []),
        "kube-scheduler": ("system:kube-scheduler", []),
        "kwok": ("lab:kwok", ["system:masters"]),
        "simulator": ("lab:simulator", ["system:masters"]),
    }
    for name, (user, groups) in users.items():
        pair = pki.cluster.issue(name, common_name=user, organizations=groups)
        path = home.kubeconfig if name == "admin" else home.certificates / f"{name}.kubeconfig"
        context = f"lab-{home.name}"
        write_kubeconfig(path, server=direct, authority=ca, user=user, pair=pair, context=context)
        if name == "admin":
            through = f"https://{net.loopback}:{net.faults}"
            write_kubeconfig(
                home.kubeconfig_faults, server=through, authority=ca, user=user, pair=pair, context=f"{context}-faults"
            )
    return pki


def adopt_authorities(source: Path, target: Path) -> None:
    """Take over the authorities of a machine config.

    Raises:
        errors.LabError: They are not all there.
    """
    for name in AUTHORITIES:
        adopt_authority(source, target, name)
    try:
        adopt_key(source / SIGNING_KEY, target / SIGNING_KEY)
    except OSError as error:
        raise errors.LabError(f"{source / SIGNING_KEY} cannot be read: {error.strerror}") from error


def forget_cluster(home: lab_directory.LabDirectory) -> None:
    """Take away the way in to a cluster that is no more."""
    for path in (home.kubeconfig, home.kubeconfig_faults, home.certificates / "cluster"):
        path.unlink(missing_ok=True)
