"""Values for rehearsals: made up, always the same, and of the kind that the name of a key promises. Nobody is asked.

An encrypted file in the repo shows its keys, and so a rehearsal still finds that one is missing.
"""

import asyncio
import base64
import datetime
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from firstlight.clients import secret_errors
from firstlight.document import yaml_reader, yaml_writer
from firstlight.model import secret_reference
from firstlight.model.secret import Secret
from firstlight.secrets import age_keys, secret_files

_ENCRYPTED = re.compile(r"ENC\[AES256_GCM,.*,type:(?P<type>\w+)\]")
_TYPED: dict[str, Any] = {"int": 1, "float": 1.5, "bool": False}


class Dummies:
    """In the place of a ``Resolver``; also callable, as ``World.resolve`` is."""

    def __init__(self, root: Path | None = None) -> None:
        """Prepare.

        Args:
            root: The repo, if the keys of its encrypted files are to be looked at.
        """
        self._root = root

    async def resolve(self, reference: str) -> Secret:
        """A dummy for a reference.

        Raises:
            errors.UsageError: It is no reference.
            problems.NotFound: It names a file of the repo, or a key in one, that is not there.
        """
        parsed = secret_reference.parse(reference)
        if isinstance(parsed, secret_reference.SopsReference) and self._root is not None:
            path = secret_files.locate(parsed, self._root, environ={})
            return await asyncio.to_thread(_of_file, path, parsed)
        return dummy_value(_name(parsed), base=_base(parsed))

    __call__ = resolve

    async def close(self) -> None:
        """Nothing is open."""


def _name(reference: secret_reference.Reference) -> str:
    """What the value is called: the last part of a reference, and a little of what stands before it."""
    match reference:
        case secret_reference.OnePasswordReference():
            return f"{reference.item}/{reference.field}"
        case secret_reference.SopsReference():
            return reference.key or PurePosixPath(reference.path).name.replace(".sops.", ".")
        case secret_reference.VaultReference():
            return f"{PurePosixPath(reference.path).name}/{reference.key}"
        case secret_reference.EnvironmentReference():
            return reference.name
        case secret_reference.FileReference():
            return PurePosixPath(reference.path).name


def _base(reference: secret_reference.Reference) -> str:
    """What belongs together: a certificate and its key, a key and its public half."""
    match reference:
        case secret_reference.OnePasswordReference():
            return f"op://{reference.vault}/{reference.item}"
        case secret_reference.SopsReference():
            return f"sops:{reference.path}#{reference.key.rpartition('.')[0] if '.' in reference.key else ''}"
        case secret_reference.VaultReference():
            return f"vault:{reference.path}"
        case secret_reference.EnvironmentReference():
            return f"env:{reference.name.partition('_')[0]}"
        case secret_reference.FileReference():
            return f"file:{PurePosixPath(reference.path).parent}"


def _of_file(path: Path, reference: secret_reference.SopsReference) -> Secret:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise secret_errors.SecretFileNotFound("sops", str(reference), "there is no such file") from None
    except OSError as error:
        raise secret_errors.SecretUnreadable("sops", str(reference), f"it cannot be read: {error.strerror}") from None
    if path.suffix not in (".yaml", ".yml", ".json"):
        return dummy_value(_name(reference), base=_base(reference))
    try:
        documents = [_replaced(each, reference.path, "") for each in yaml_reader.load_all(data)]
    except ValueError:
        raise secret_errors.SecretUnreadable("sops", str(reference), "it is no YAML") from None
    if not reference.key:
        return Secret(yaml_writer.dump_all([each for each in documents if each is not None]))
    found, _ = secret_files.find_key(documents, reference.key)
    if secret_files.is_missing(found):
        raise secret_errors.SecretNotFound("sops", str(reference), "the file has no such key")
    if isinstance(found, dict | list):
        raise secret_errors.SecretUnreadable("sops", str(reference), "the key holds a mapping or a list, and no text")
    return Secret(secret_files.scalar_text(found))


def _replaced(value: Any, path: str, key: str) -> Any:
    """A document without what sops added, and with dummies for what it encrypted."""
    if isinstance(value, dict):
        return {
            name: _replaced(each, path, f"{key}.{name}" if key else str(name))
            for name, each in value.items()
            if key or name != "sops"
        }
    if isinstance(value, list):
        return [_replaced(each, path, f"{key}.{index}") for index, each in enumerate(value)]
    match = _ENCRYPTED.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    if match["type"] in _TYPED:
        return _TYPED[match["type"]]
    made = dummy_value(key, base=_base(secret_reference.SopsReference(path, key)))
    return made.reveal().decode()


# What a dummy looks like, by the name of its key; the same name and base give the same bytes for ever.


_HOST = "rehearsal.example.org"
_FROM = datetime.datetime(2020, 1, 1)
_UNTIL = datetime.datetime(2100, 1, 1)


def dummy_value(name: str, *, base: str) -> Secret:
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
    return f"# public key: {age_keys.recipient(seed)}\n{age_keys.identity(seed).reveal().decode()}\n"


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
    return yaml_writer.dump(
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
    return yaml_writer.dump({"rehearsal": True, "token": _token(name, base)})


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
