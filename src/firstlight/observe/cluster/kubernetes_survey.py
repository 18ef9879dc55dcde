"""Whether the Kubernetes API is there, as its client sees it, and until when the certificates on both sides last."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import dataclasses
import datetime
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

from cryptography import x509

from firstlight import errors
from firstlight.clients import kube, served_certificate
from firstlight.clients.kube.discovery import ApiCatalog, ApiResource
from firstlight.document.within import mapping, text
from firstlight.gates.causes import refusals
from firstlight.model import helm_names
from firstlight.observe import owned_objects
from firstlight.observe.cluster import observation, secret_masking
from firstlight.observe.cluster.observation import ApiObservation, WantedLog

T = TypeVar("T")

API_PATIENCE = 6.0
"""Seconds for the first answer: who looks at a broken cluster wants to know soon that there is none."""
POLICY = kube.RetryPolicy(deadline=20, attempt=12, connect=4, longest_delay=1)
"""Of a client that looks at a cluster that may be broken."""


async def observe_api(client: kube.Client) -> ApiObservation:
    """One question, asked in several ways; that nothing answers is an answer."""
    config = client.config
    served = asyncio.create_task(_or_none(served_certificate.valid_until(config, timeout=API_PATIENCE)))
    own = _own_until(config)
    try:
        async with asyncio.timeout(API_PATIENCE):
            ready = await client.ready()
    except (errors.FirstlightError, TimeoutError) as error:
        why = error.message if isinstance(error, errors.FirstlightError) else f"no answer within {API_PATIENCE:g} s"
        return ApiObservation(
            is_reached=False, why=why, is_foreign=_is_foreign(error), is_refused=isinstance(error, kube.Unauthorized),
            serving_until=await served, kubeconfig_until=own,
        )  # fmt: skip
    return ApiObservation(
        is_reached=True, failed_checks=ready.failed, serving_until=await served, kubeconfig_until=own
    )  # fmt: skip


def _is_foreign(error: Exception) -> bool:
    return isinstance(error, kube.KubeUntrusted) and error.problem is kube.CertificateProblem.UNKNOWN_AUTHORITY


async def _or_none(asked: Awaitable[T]) -> T | None:
    try:
        return await asked
    except errors.FirstlightError:
        return None


def _own_until(config: kube.ClientConfig) -> float | None:
    return pem_until(config.client_certificate) if config.client_certificate else None


def pem_until(pem: bytes) -> float | None:
    """When the first certificate of a PEM expires; None where there is none."""
    try:
        found = x509.load_pem_x509_certificate(pem)
    except ValueError:
        return None
    return found.not_valid_after_utc.astimezone(datetime.UTC).timestamp()


# The last lines of containers that rules want, masked before anybody sees them.


LOG_TAIL = 50
LOG_PATIENCE = 5.0
"""Seconds for one log: a node that is gone answers never."""
MOST_LOGS = 40
"""Logs that are read: forty pods that fail alike tell the same."""
_AT_ONCE = 8


async def read_logs(
    client: kube.Client, wanted: Iterable[WantedLog], *, hide: Callable[[str], str] = str
) -> tuple[Mapping[str, tuple[str, ...]], str]:
    """Lines by ``WantedLog.key``, and what was not read; of a container that ended before, its end comes first.

    Args:
        client: Of the cluster.
        wanted: Which containers.
        hide: Takes known values out of a line.
    """
    chosen = sorted(set(wanted))
    turn = asyncio.Semaphore(_AT_ONCE)

    async def read(each: WantedLog) -> tuple[str, ...] | None:
        async with turn:
            lines = await _lines(client, each)
            return secret_masking.lines(map(hide, lines)) if lines is not None else None

    found: dict[str, tuple[str, ...]] = {}
    failed = 0
    # Previous ones first, so that lines are in the order in which they were printed.
    taken = sorted(chosen[:MOST_LOGS], key=lambda each: not each.is_previous)
    for each, lines in zip(taken, await asyncio.gather(*map(read, taken)), strict=True):
        if lines is None:
            failed += not each.is_previous
        elif lines:
            found[each.key] = (*found.get(each.key, ()), *lines)
    return found, _unread(len(chosen) - len(taken), failed)


async def _lines(client: kube.Client, wanted: WantedLog) -> tuple[str, ...] | None:
    printed = client.logs(
        wanted.pod,
        namespace=wanted.namespace,
        container=wanted.container,
        previous=wanted.is_previous,
        tail=LOG_TAIL,
    )
    try:
        async with asyncio.timeout(LOG_PATIENCE), contextlib.aclosing(printed):
            lines = [each async for each in printed]
    except (errors.ClientError, TimeoutError):
        return None
    return tuple(lines[-LOG_TAIL:])


def _unread(left: int, failed: int) -> str:
    said = [f"{left} more that fail alike"] if left > 0 else []
    said += [f"{failed} that no kubelet gave"] if failed else []
    return f"logs: {', '.join(said)}" if said else ""


# Secrets as far as rules need them: names, types, keys, and when certificates expire. Values are dropped at once.


TLS = "kubernetes.io/tls"
_PAGE = 500
_KEPT = ("name", "namespace", "uid", "labels", "creationTimestamp", "deletionTimestamp", "finalizers")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ListedSecrets:
    """What is known of Secrets."""

    objects: tuple[Mapping[str, Any], ...] = ()
    certificates: Mapping[str, float] = dataclasses.field(default_factory=dict)
    problem: str = ""


async def list_secrets(client: kube.Client) -> ListedSecrets:
    """All Secrets, without their values; releases of Helm by their labels alone."""
    try:
        held, releases = await asyncio.gather(
            client.list("v1", "Secret", fields=f"type!={helm_names.RELEASE_SECRET_TYPE}", limit=_PAGE),
            client.list(
                "v1", "Secret", fields=f"type={helm_names.RELEASE_SECRET_TYPE}", limit=_PAGE, metadata_only=True
            ),
        )
    except kube.Forbidden:
        return ListedSecrets(problem="Secret: this identity may not list it")
    except errors.ClientError as error:
        return ListedSecrets(problem=f"Secret: {error.message}")
    certificates = {}
    for each in held.items:
        if text(each, "type") == TLS and (until := _until(each)) is not None:
            certificates[f"{text(each, 'metadata', 'namespace')}/{text(each, 'metadata', 'name')}"] = until
    objects = [_named(each, text(each, "type"), sorted(mapping(each, "data"))) for each in held.items]
    objects += [_named(each, helm_names.RELEASE_SECRET_TYPE, ["release"]) for each in releases.items]
    return ListedSecrets(objects=tuple(objects), certificates=certificates)


def _named(item: Mapping[str, Any], type: str, keys: list[str]) -> Mapping[str, Any]:
    metadata = mapping(item, "metadata")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {key: metadata[key] for key in _KEPT if key in metadata},
        "type": type,
        "keys": keys,
    }


def _until(item: Mapping[str, Any]) -> float | None:
    """When its certificate expires; that it is none is for others to tell."""
    try:
        return pem_until(base64.b64decode(text(item, "data", "tls.crt"), validate=True))
    except (binascii.Error, ValueError):
        return None


# The objects that rules look at, and every event: kinds listed in parallel, what cannot be listed said and left out.
#
# Of kinds that no rule knows only the metadata is asked for, and kept only of what is being deleted.

_EVENTS = 5_000
"""The newest that are kept; they stay for an hour, and a broken cluster makes many."""
_MANAGED = frozenset({"apps/Deployment", "apps/DaemonSet", "apps/StatefulSet", "/ConfigMap"})
"""Kinds of which it is told who writes them."""
_BARE = frozenset({"/ConfigMap", "/ServiceAccount"})
"""Kinds of which the metadata is enough: what is in them is large, or nobody's business."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ListedObjects:
    """What the API told."""

    objects: tuple[Mapping[str, Any], ...] = dataclasses.field(default=(), repr=False)
    events: tuple[Mapping[str, Any], ...] = dataclasses.field(default=(), repr=False)
    certificates: Mapping[str, float] = dataclasses.field(default_factory=dict)
    unserved: frozenset[str] = frozenset()
    unlisted: frozenset[str] = frozenset()
    unseen: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class _Listed:
    kind: str
    items: tuple[Mapping[str, Any], ...] = ()
    problem: str = ""


async def list_objects(client: kube.Client, *, hide: Callable[[str], str] = str) -> ListedObjects:
    """Everything that the API still tells.

    Args:
        client: Of the cluster.
        hide: Takes known values out of what events say.
    """
    try:
        catalog = await client.catalog(refresh=True)
    except errors.ClientError as error:
        return ListedObjects(unlisted=frozenset(observation.KINDS), unseen=(f"objects: {error.message}",))
    served = {_kind(each): each for each in owned_objects.kinds(catalog)}
    known = [kind for kind in observation.KINDS if kind in served and kind != "/Secret"]
    others = [kind for kind in served if kind not in observation.KINDS]
    listed, going, events, secret = await asyncio.gather(
        asyncio.gather(*(_list(client, served[each], catalog, is_bare=each in _BARE) for each in known)),
        asyncio.gather(*(_list(client, served[each], catalog, is_bare=True) for each in others)),
        _events(client, hide),
        list_secrets(client),
    )
    items = [_reduced(item, each.kind) for each in listed for item in each.items]
    items += [item for each in going for item in each.items if text(item, "metadata", "deletionTimestamp")]
    failed = [each for each in [*listed, *going] if each.problem]
    said = [f"{each.kind.removeprefix('/')}: {each.problem}" for each in failed]
    said += [each for each in (secret.problem, events.problem) if each]
    return ListedObjects(
        objects=(*items, *secret.objects),
        events=events.items,
        certificates=secret.certificates,
        unserved=frozenset(each for each in observation.KINDS if each not in served),
        unlisted=frozenset(each.kind for each in failed) | (frozenset({"/Secret"}) if secret.problem else frozenset()),
        unseen=_grouped(said),
    )


async def _list(client: kube.Client, resource: ApiResource, catalog: ApiCatalog, *, is_bare: bool) -> _Listed:
    kind = _kind(resource)
    if resource.api_version in catalog.stale:
        return _Listed(kind, problem="its server does not answer")
    try:
        found = await client.list(resource.api_version, resource.kind, limit=_PAGE, metadata_only=is_bare)
    except errors.ClientError as error:
        return _Listed(kind, problem=_said(error))
    return _Listed(kind, found.items)


async def _events(client: kube.Client, hide: Callable[[str], str]) -> _Listed:
    try:
        found = (await client.list("v1", "Event", limit=_PAGE)).items
    except errors.ClientError as error:
        return _Listed("/Event", problem=f"events: {_said(error)}")
    newest = sorted(found, key=lambda each: refusals.event_time(each) or 0.0)[-_EVENTS:]
    return _Listed(
        "/Event", tuple({**each, "message": secret_masking.text(hide(text(each, "message")))} for each in newest)
    )


def _kind(resource: ApiResource) -> str:
    return f"{resource.group}/{resource.kind}"


def _reduced(item: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Without what no rule looks at: who wrote which field, copies of what was applied, schemas."""
    metadata = dict(item.get("metadata") or {})
    if kind not in _MANAGED:
        metadata.pop("managedFields", None)
    notes = metadata.get("annotations")
    if isinstance(notes, Mapping) and secret_masking.LAST_APPLIED in notes:
        metadata["annotations"] = {key: each for key, each in notes.items() if key != secret_masking.LAST_APPLIED}
    made = {**item, "metadata": metadata}
    if kind == "apiextensions.k8s.io/CustomResourceDefinition":
        spec = dict(made.get("spec") or {})
        spec["versions"] = [
            {key: each[key] for key in each if key not in ("schema", "additionalPrinterColumns")}
            for each in spec.get("versions") or ()
        ]
        made["spec"] = spec
    return made


def _said(error: errors.ClientError) -> str:
    if isinstance(error, kube.Forbidden):
        return "this identity may not list it"
    return error.detail if isinstance(error, kube.ApiError) and error.detail else error.message


def _grouped(said: list[str]) -> tuple[str, ...]:
    """One line for each reason, with all kinds that it is true of."""
    found: dict[str, list[str]] = {}
    for each in said:
        what, _, why = each.partition(": ")
        found.setdefault(why, []).append(what)
    return tuple(f"{', '.join(kinds)}: {why}" for why, kinds in found.items())
