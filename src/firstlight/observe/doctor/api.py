"""Whether the Kubernetes API is there, as its client sees it, and until when the certificates on both sides last."""

import asyncio
import datetime
from collections.abc import Awaitable
from typing import TypeVar

from cryptography import x509

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube import served_certificate
from firstlight.policy.diagnosing.scene import ApiSight

T = TypeVar("T")

PATIENCE = 6.0
"""Seconds for the first answer: who looks at a broken cluster wants to know soon that there is none."""
POLICY = kube.Policy(deadline=20, attempt=12, connect=4, longest_delay=1)
"""Of a client that looks at a cluster that may be broken."""


async def look(client: kube.Client) -> ApiSight:
    """One question, asked in several ways; that nothing answers is an answer."""
    config = client.config
    served = asyncio.create_task(_or_none(served_certificate.until(config, timeout=PATIENCE)))
    own = _own_until(config)
    try:
        async with asyncio.timeout(PATIENCE):
            ready = await client.ready()
    except (errors.FirstlightError, TimeoutError) as error:
        why = error.message if isinstance(error, errors.FirstlightError) else f"no answer within {PATIENCE:g} s"
        return ApiSight(is_reached=False, why=why, serving_until=await served, kubeconfig_until=own)
    return ApiSight(
        is_reached=True, failed_checks=ready.failed, serving_until=await served, kubeconfig_until=own
    )  # fmt: skip


async def _or_none(asked: Awaitable[T]) -> T | None:
    try:
        return await asked
    except errors.FirstlightError:
        return None


def _own_until(config: kube.Config) -> float | None:
    return pem_until(config.client_certificate) if config.client_certificate else None


def pem_until(pem: bytes) -> float | None:
    """When the first certificate of a PEM expires; None where there is none."""
    try:
        found = x509.load_pem_x509_certificate(pem)
    except ValueError:
        return None
    return found.not_valid_after_utc.astimezone(datetime.UTC).timestamp()
