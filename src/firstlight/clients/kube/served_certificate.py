"""Until when the certificate lasts that an API server shows; nothing is sent to it."""

import asyncio
import contextlib
import ssl
import urllib.parse

from cryptography import x509

from firstlight import errors
from firstlight.clients.kube.config import Config


async def until(config: Config, *, timeout: float) -> float | None:
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
