"""What a dummy looks like, by the name of its key; the same name and base give the same bytes for ever."""

import base64
import datetime
import hashlib
import json
import re
from collections.abc import Callable, Sequence

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from firstlight.document import writing
from firstlight.model.secret import Secret
from firstlight.secrets import age

_HOST = "rehearsal.example.org"
_FROM = datetime.datetime(2020, 1, 1)
_UNTIL = datetime.datetime(2100, 1, 1)


def make(name: str, *, base: str) -> Secret:
    """A dummy.

    Args:
        name: What the value is called: ``age.agekey``, ``cloudflare/api-token``.
        base: What belongs together has the same: a certificate and its key.
    """
    lowered = name.lower()
    for pattern, maker in _MAKERS:
        if pattern.search(lowered):
            return Secret(maker(lowered, base))
    return Secret(_token(lowered, base))


def _seed(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(("firstlight rehearsal", *parts)).encode()).digest()


def _age(name: str, base: str) -> str:
    seed = _seed("age", base)
    return f"# public key: {age.recipient(seed)}\n{age.identity(seed).reveal().decode()}\n"


def _key(base: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(_seed("key", base))


def _private_key(name: str, base: str) -> bytes:
    # PKCS #8 and not OpenSSH's own form, which has random bytes in it; ssh libraries read both.
    return _key(base).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _public_key(name: str, base: str) -> bytes:
    key = _key(base).public_key()
    return key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH) + b"\n"


def _known_hosts(name: str, base: str) -> bytes:
    return f"{_HOST} ".encode() + _public_key(name, base)


def _certificate(name: str, base: str) -> bytes:
    key = _key(base)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _HOST)])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(_FROM)
        .not_valid_after(_UNTIL)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(_HOST)]), critical=False)
        .sign(key, None)
    )
    return made.public_bytes(serialization.Encoding.PEM)


def _kubeconfig(name: str, base: str) -> str:
    server = {"server": f"https://{_HOST}:6443"}
    return writing.dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "rehearsal", "cluster": server}],
            "contexts": [{"name": "rehearsal", "context": {"cluster": "rehearsal", "user": "rehearsal"}}],
            "current-context": "rehearsal",
            "users": [{"name": "rehearsal", "user": {"token": _token(name, base)}}],
        }
    )


def _docker_config(name: str, base: str) -> str:
    password = _token(name, base)
    auth = base64.b64encode(f"rehearsal:{password}".encode()).decode()
    login = {"username": "rehearsal", "password": password, "auth": auth}
    return json.dumps({"auths": {"registry.example.org": login}})


def _connect_credentials(name: str, base: str) -> str:
    kid = _token(name, base)
    return json.dumps({"verifier": {"salt": kid, "localHash": kid}, "encCredentials": {"kid": kid}, "version": "2"})


def _json(name: str, base: str) -> str:
    return json.dumps({"rehearsal": True, "token": _token(name, base)})


def _yaml(name: str, base: str) -> str:
    return writing.dump({"rehearsal": True, "token": _token(name, base)})


def _token(name: str, base: str) -> str:
    return f"rehearsal-{_seed('token', name, base).hex()[:40]}"


def _user(name: str, base: str) -> str:
    return "rehearsal"


def _email(name: str, base: str) -> str:
    return "rehearsal@example.org"


def _url(name: str, base: str) -> str:
    return f"https://{_HOST}"


def _host(name: str, base: str) -> str:
    return _HOST


# The first that fits the name decides: the last part of it before the whole.
_MAKERS: Sequence[tuple[re.Pattern[str], Callable[[str, str], str | bytes]]] = tuple(
    (re.compile(pattern), maker)
    for pattern, maker in (
        (r"agekey|(?:^|[-_./ ])age[-_. ](?:secret[-_. ])?(?:private[-_. ])?key|(?:^|/)keys\.txt$|sops[-_]?age", _age),
        (r"known[-_]?hosts", _known_hosts),
        (r"\.pub$|public[-_. ]?key", _public_key),
        (r"kubeconfig", _kubeconfig),
        (r"dockerconfig|docker[-_]?config", _docker_config),
        (r"1password-credentials|op[-_]credentials\.json", _connect_credentials),
        (r"(?:\.|[-_./ ]|^)(?:crt|cert|certificate|ca|cacert)(?:\.pem)?$", _certificate),
        (r"(?:^|[./])identity$|ssh|id_(?:ed25519|rsa|ecdsa)|private[-_. ]?key|deploy[-_. ]?key|(?:tls|\.)[-_.]?key$"
         r"|\.pem$|(?:tls|ca)[-_.]key", _private_key),
        (r"\.json$", _json),
        (r"\.ya?ml$", _yaml),
        (r"e-?mail$", _email),
        (r"user(?:[-_]?name)?$|login$", _user),
        (r"(?:url|endpoint|server)$", _url),
        (r"(?:host(?:name)?|domain|zone)$", _host),
    )
)  # fmt: skip
