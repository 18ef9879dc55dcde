"""A lab without any engine, as the ground for failures, and what several of them are made of."""

import contextlib
import dataclasses
import datetime
from collections.abc import AsyncIterator
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from firstlight.clients import kube as clients_kube
from tests.doctor.failure import Expected


@dataclasses.dataclass(frozen=True)
class Ground:
    """A lab, and a namespace of the failure's own."""

    kube: clients_kube.Client
    space: str

    async def apply(self, *objects: dict[str, Any]) -> None:
        """Put objects into the cluster."""
        for each in objects:
            await self.kube.apply(each, manager="tests")

    def expect(self, code: str, kind: str, name: str) -> Expected:
        """That an object of this namespace is the cause, asked about the namespace."""
        return Expected(code=code, subject=f"{kind} {self.space}/{name}", asked=self.space)


KUBELET = "kwok plays the kubelet"


@contextlib.asynccontextmanager
async def removed(on: Ground, hook: dict[str, Any]) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await on.kube.delete(hook["apiVersion"], hook["kind"], hook["metadata"]["name"])


def expired() -> tuple[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "web.example.org")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - datetime.timedelta(days=90))
        .not_valid_after(now - datetime.timedelta(days=1)).sign(key, hashes.SHA256())
    )  # fmt: skip
    raw = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return made.public_bytes(serialization.Encoding.PEM).decode(), raw.decode()
