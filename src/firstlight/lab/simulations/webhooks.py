"""Webhooks and aggregated APIs whose pods are not real: a responder that admits, converts and lists.

Who is asked at all is decided by the API server: without a ready pod behind the service it fails by itself. Two things
are pretended here. The answer: every admission is allowed, every conversion changes the version only. And the
certificate: an empty CA bundle is filled in once the pods that would do it are ready; where a bundle is given, the
responder serves the certificate of a Secret beside the service that this bundle trusts, else TLS fails, as it would.
"""

import asyncio
import base64
import contextlib
import hashlib
import os
import ssl
from typing import Any

import msgspec
from aiohttp import web
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization

from firstlight.clients import command
from firstlight.lab import certificates
from firstlight.lab.simulations import egress
from firstlight.lab.simulations.simulated_cluster import Key, Object, SimulatedCluster, is_ready, log
from firstlight.model.secret import Secret

INJECTOR = "cainjector"
INJECTOR_LABELS = {"app.kubernetes.io/name": "cainjector"}
INJECT_ANNOTATION = "cert-manager.io/inject-"

SOURCES = (
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    ("apiregistration.k8s.io/v1", "APIService"),
)
METRICS = [
    {
        "name": "nodes",
        "singularName": "",
        "namespaced": False,
        "kind": "NodeMetrics",
        "verbs": ["get", "list"],
    },
    {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"]},
]


class WebhookSimulation:
    """Serves every service of the cluster, told apart by the name in the TLS handshake."""

    what = "webhooks admit, aggregated APIs are empty, CA bundles appear"

    def __init__(self) -> None:
        self._contexts: dict[str, ssl.SSLContext] = {}
        """What is served now, by host."""
        self._prepared: dict[tuple[str, str], ssl.SSLContext] = {}
        """What can be served, by host and the bundle that must trust it."""

    async def start(self, world: SimulatedCluster) -> None:
        """Listen, and follow who may ask."""
        self._authority = certificates.CertificateAuthority(world.home.certificates, "webhook-ca")
        self._bundle = base64.b64encode(self._authority.pair.certificate.read_bytes()).decode()
        self._services = await world.follow("v1", "Service")
        self._followed = [await world.follow(api_version, kind) for api_version, kind in SOURCES]
        world.tasks.create_task(self._serve(os.path.relpath(world.home.run / egress.RESPONDER_SOCKET)), name="webhooks")

    async def act(self, world: SimulatedCluster) -> None:
        """Keep certificates and bundles in step with what is configured."""

        async def prepare(obj: Object) -> None:
            empty = []
            for path, config in client_configs(obj):
                if config.get("caBundle") or config.get("insecureSkipTLSVerify"):
                    await self._prepare(world, config)
                elif _injector_is_ready(world, obj, self._services.get(_service_key(config))):
                    empty.append(path)
            if empty:
                await self._inject(world, obj, empty)

        stores = [*self._followed, world.definitions]
        await world.each([obj for store in stores for obj in store.values()], prepare)

    async def _serve(self, path: str) -> None:
        app = web.Application(client_max_size=16 << 20)
        app.router.add_route("*", "/{path:.*}", _answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        outer = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        outer.set_alpn_protocols(["http/1.1"])
        outer.sni_callback = self._choose
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        await web.UnixSite(runner, path, ssl_context=outer).start()
        try:
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    async def _prepare(self, world: SimulatedCluster, config: dict[str, Any]) -> None:
        namespace, name = _service_key(config)
        host = f"{name}.{namespace}.svc"
        bundle = config.get("caBundle", "")
        if (host, bundle) not in self._prepared:
            if not bundle or bundle == self._bundle:
                context: ssl.SSLContext | None = self._own_context(host)
            else:
                context = await _context_from_secret(world, namespace, base64.b64decode(bundle))
            if context is None:
                return
            self._prepared[host, bundle] = context
        self._contexts[host] = self._prepared[host, bundle]

    async def _inject(self, world: SimulatedCluster, obj: Object, paths: list[str]) -> None:
        guard = {
            "op": "test",
            "path": "/metadata/resourceVersion",
            "value": obj["metadata"]["resourceVersion"],
        }
        patch = [guard, *({"op": "add", "path": f"{path}/caBundle", "value": self._bundle} for path in paths)]
        await world.client.patch(
            obj["apiVersion"], obj["kind"], obj["metadata"]["name"], patch, form="json", manager=INJECTOR
        )
        log.info("CA bundle into %s %s", obj["kind"], obj["metadata"]["name"])

    def _own_context(self, host: str) -> ssl.SSLContext:
        # The host may be longer than a common name or a file name can be.
        file = "webhook-" + hashlib.sha256(host.encode()).hexdigest()[:16]
        pair = self._authority.issue(file, common_name="firstlight lab webhook", server_names=[host])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _choose(self, connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
        context = self._contexts.get(name or "")
        if context is None:
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        connection.context = context
        return None


async def _answer(request: web.Request) -> web.Response:
    if request.method == "POST":
        return _json(review(msgspec.json.decode(await request.read())))
    if request.path.startswith("/apis/"):
        return _json(aggregated(request.path))
    return web.Response(status=404)


def _service_key(config: dict[str, Any]) -> Key:
    return config["service"]["namespace"], config["service"]["name"]


def _injector_is_ready(world: SimulatedCluster, obj: Object, service: Object | None) -> bool:
    """Whether the pods that would write the CA bundle are there."""
    annotations = obj["metadata"].get("annotations", {})
    if any(name.startswith(INJECT_ANNOTATION) for name in annotations):
        return world.has_ready_pod(INJECTOR_LABELS)
    # Without an annotation, the program behind the webhook or a finished hook Job beside it writes its own bundle.
    selector = (service or {}).get("spec", {}).get("selector") or {}
    return any(
        pod["status"].get("phase") == "Succeeded"
        or (bool(selector) and is_ready(pod) and selector.items() <= pod["metadata"].get("labels", {}).items())
        for (namespace, _), pod in world.pods.items()
        if service is not None and namespace == service["metadata"]["namespace"]
    )


async def _context_from_secret(world: SimulatedCluster, namespace: str, bundle: bytes) -> ssl.SSLContext | None:
    secrets = await world.follow("v1", "Secret")
    for (home, _), secret in list(secrets.items()):
        pair = serving_pair(secret.get("data") or {}, bundle) if home == namespace else None
        if pair is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            with command.memory_file(pair) as file:
                context.load_cert_chain(file.path)
            context.set_alpn_protocols(["http/1.1"])
            return context
    return None


def client_configs(obj: Object) -> list[tuple[str, dict[str, Any]]]:
    """The places of an object that name a service to be asked, each with its JSON pointer."""
    found: list[tuple[str, dict[str, Any]]] = []
    for index, webhook in enumerate(obj.get("webhooks") or ()):
        found.append((f"/webhooks/{index}/clientConfig", webhook["clientConfig"]))
    spec = obj.get("spec") or {}
    if obj["kind"] == "APIService":
        found.append(("/spec", spec))
    if config := (spec.get("conversion") or {}).get("webhook", {}).get("clientConfig"):
        found.append(("/spec/conversion/webhook/clientConfig", config))
    return [(path, config) for path, config in found if config.get("service")]


def review(body: dict[str, Any]) -> dict[str, Any]:
    """The answer to an AdmissionReview or a ConversionReview."""
    request = body.get("request", {})
    response: dict[str, Any] = {"uid": request.get("uid", "")}
    if body.get("kind") == "ConversionReview":
        wanted = request.get("desiredAPIVersion")
        response["convertedObjects"] = [{**obj, "apiVersion": wanted} for obj in request.get("objects", ())]
        response["result"] = {"status": "Success"}
    else:
        response["allowed"] = True
    return {"apiVersion": body.get("apiVersion"), "kind": body.get("kind"), "response": response}


def aggregated(path: str) -> dict[str, Any]:
    """What an aggregated API without a real server says: its resources, or none."""
    parts = path.strip("/").split("/")
    group_version = "/".join(parts[1:3])
    if len(parts) > 3:
        kind = {"nodes": "NodeMetricsList", "pods": "PodMetricsList"}.get(parts[-1], "List")
        return {"apiVersion": group_version, "kind": kind, "metadata": {}, "items": []}
    resources = METRICS if parts[1:2] == ["metrics.k8s.io"] else []
    return {
        "apiVersion": "v1",
        "kind": "APIResourceList",
        "groupVersion": group_version,
        "resources": resources,
    }


def serving_pair(data: dict[str, str], bundle: bytes) -> Secret | None:
    """Certificate and key of a Secret's data that a CA bundle trusts, as PEM."""
    decoded = {name: base64.b64decode(value) for name, value in data.items()}
    keys = [value for value in decoded.values() if b"PRIVATE KEY" in value]
    for chain in decoded.values():
        if b"BEGIN CERTIFICATE" not in chain:
            continue
        with contextlib.suppress(ValueError, TypeError):
            leaf = x509.load_pem_x509_certificate(chain)
            if not any(_signed(leaf, authority) for authority in x509.load_pem_x509_certificates(bundle)):
                continue
            for pem in keys:
                if _public(leaf.public_key()) == _public(serialization.load_pem_private_key(pem, None).public_key()):
                    return Secret(chain + b"\n" + pem)
    return None


def _signed(leaf: x509.Certificate, authority: x509.Certificate) -> bool:
    if leaf == authority:
        return True
    try:
        leaf.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _public(public_key: Any) -> bytes:
    encoded: bytes = public_key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return encoded


def _json(value: object) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")
