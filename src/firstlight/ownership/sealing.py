"""The seal of a certificate: SHA-256 over everything in it but the seal and the signature, as canonical JSON."""

import dataclasses
import hashlib
import json

from firstlight.model.certificate import Certificate


def seal(certificate: Certificate) -> Certificate:
    """A certificate with its seal; a signature of another seal is dropped."""
    digest = hashlib.sha256(canonical(certificate)).hexdigest()
    signature = certificate.signature if certificate.digest == digest else ""
    return dataclasses.replace(certificate, digest=digest, signature=signature)


def is_sealed(certificate: Certificate) -> bool:
    """Whether a certificate is as it was when it was sealed."""
    return bool(certificate.digest) and certificate.digest == hashlib.sha256(canonical(certificate)).hexdigest()


def canonical(certificate: Certificate) -> bytes:
    """What is sealed: keys sorted, no space, no fraction; as ``jq -cS`` writes it, without its newline."""
    content = dataclasses.asdict(certificate)
    del content["digest"], content["signature"]
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def message(certificate: Certificate) -> bytes:
    """What is signed: the seal and a newline, as ``jq -r .digest`` writes it."""
    return f"{certificate.digest}\n".encode()
