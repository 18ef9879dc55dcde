"""Until when the certificate lasts that an API server shows; nothing is sent to it."""

import asyncio
import base64
import contextlib
import hashlib
import ssl
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from firstlight import errors
from firstlight.clients.kube.client_config import ClientConfig


async def valid_until(config: ClientConfig, *, timeout: float) -> float | None:
    """When it expires; None where a proxy stands before the server, or none is shown.

    Raises:
        errors.Unreachable: Nothing answers there by TLS in time.
    """
    url = urllib.parse.urlsplit(config.server)
    if config.proxy is not None or url.scheme != "https" or not url.hostname:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is sent: only what it shows is read
    name = config.server_name or url.hostname
    try:
        async with asyncio.timeout(timeout):
            _, writer = await asyncio.open_connection(url.hostname, url.port or 443, ssl=context, server_hostname=name)
    except (OSError, TimeoutError) as error:
        said = str(error) or "no answer"
        raise errors.Unreachable(f"{config.server} shows no certificate: {said}", target=config.server) from error
    try:
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    return x509.load_der_x509_certificate(shown).not_valid_after_utc.timestamp() if shown else None


# The fingerprint of the certificate that a machine in maintenance mode shows, as its console prints it.
#
# talosctl can compare a fingerprint, and does not tell one; so the certificate is fetched here, and nothing else is
# said.


TALOS_PORT = 50000
TIMEOUT = 10.0


async def talos_fingerprint(endpoint: str, *, timeout: float = TIMEOUT) -> str:
    """What ``talosctl apply-config --cert-fingerprint`` takes: the SHA-256 of the public key, in base64.

    Raises:
        errors.Unreachable: Nothing answers there by TLS in time.
    """
    host, port = _split(endpoint)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is sent: whoever reads the fingerprint decides whether to trust it
    try:
        async with asyncio.timeout(timeout):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except (OSError, TimeoutError) as error:
        raise errors.Unreachable(f"{endpoint} shows no certificate: {error or 'no answer'}", target=endpoint) from error
    try:
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    key = x509.load_der_x509_certificate(shown).public_key()
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(der).digest()).decode()


def _split(endpoint: str) -> tuple[str, int]:
    host, colon, port = endpoint.rpartition(":")
    if colon and port.isdecimal() and (":" not in host or host.startswith("[")):
        return host.strip("[]"), int(port)
    return endpoint.strip("[]"), TALOS_PORT
