"""The seal of a certificate: a digest over its canonical JSON, and the message that a signature is made over."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from firstlight.model.certificate import Certificate


def seal(certificate: Certificate) -> Certificate:
    """A certificate with its seal; a signature of another seal is dropped."""
    digest = hashlib.sha256(canonical_json(dataclasses.asdict(certificate))).hexdigest()
    signature = certificate.signature if certificate.digest == digest else ""
    return dataclasses.replace(certificate, digest=digest, signature=signature)


def is_sealed(certificate: Certificate, content: bytes | None = None) -> bool:
    """Whether a certificate is as it was when it was sealed.

    Args:
        certificate: As it was made, or read.
        content: The JSON that it was read from, with whatever it has besides; None for one that was just made.
    """
    try:
        found = dataclasses.asdict(certificate) if content is None else parse_certificate(content)
        digest = hashlib.sha256(canonical_json(found)).hexdigest()
    except ValueError:
        return False
    return bool(certificate.digest) and certificate.digest == digest


def parse_certificate(content: bytes) -> dict[str, Any]:
    """The JSON of a certificate; only such as every program reads alike.

    Raises:
        ValueError: It is no object, has a key twice, or a number with a fraction.
    """
    found = json.loads(content, object_pairs_hook=_object, parse_float=_refused, parse_constant=_refused)
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")
    return found


def canonical_json(content: Mapping[str, Any]) -> bytes:
    """What is sealed: keys sorted, no space, no fraction; as ``jq -cS`` writes it, without its newline."""
    rest = {name: each for name, each in content.items() if name not in ("digest", "signature")}
    return json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def signed_message(certificate: Certificate) -> bytes:
    """What is signed: the seal and a newline, as ``jq -r .digest`` writes it."""
    return f"{certificate.digest}\n".encode()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(each for each in names if names.count(each) > 1)
        raise ValueError(f"it has the key {twice!r} twice, which programs read in different ways")
    return found


def _refused(number: str) -> Any:
    raise ValueError(f"{number} is no whole number")
