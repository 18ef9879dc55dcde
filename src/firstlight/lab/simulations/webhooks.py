"""Webhooks and aggregated APIs whose pods are not real: a responder that admits, converts and lists.

Who is asked at all is decided by the API server: without a ready pod behind the service it fails by itself. Two things
are pretended here. The answer: every admission is allowed, every conversion changes the version only. And the
certificate: an empty CA bundle is filled in once the pods that would do it are ready; where a bundle is given, the
responder serves the certificate of a Secret beside the service that this bundle trusts, else TLS fails, as it would.
"""

import asyncio
import base64
import contextlib
import os
import ssl
from typing import Any

import msgspec
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from firstlight import errors
from firstlight.clients import command, kube
from firstlight.lab import certificates
from firstlight.lab.simulations import egress
from firstlight.lab.simulations.world import Object, World, log
from firstlight.model.secret import Secret

WHAT = "webhooks admit, aggregated APIs are empty, CA bundles appear"

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


class Responder:
    """Serves every service of the cluster, told apart by the name in the TLS handshake."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._authority = certificates.Authority(world.home.certificates, "webhook-ca")
        self.bundle = base64.b64encode(self._authority.pair.certificate.read_bytes()).decode()
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._owners: dict[tuple[str, str], Object] = {}

    async def serve(self) -> None:
        """Listen until cancelled."""
        app = web.Application(client_max_size=16 << 20)
        app.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        outer = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        outer.set_alpn_protocols(["http/1.1"])
        outer.sni_callback = self._choose
        path = os.path.relpath(self.world.home.run / egress.RESPONDER_SOCKET)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        await web.UnixSite(runner, path, ssl_context=outer).start()
        self.world.start("webhooks")
        try:
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    async def follow(self, api_version: str, kind: str) -> None:
        """Remember the configurations of a kind."""
        async for event in self.world.client.watch(api_version, kind):
            if isinstance(event, kube.Synced):
                continue
            identity = (kind, event.object["metadata"]["name"])
            if isinstance(event, kube.Deleted):
                self._owners.pop(identity, None)
            else:
                self._owners[identity] = event.object
            await self.world.notify()

    async def act(self) -> None:
        """Keep certificates and bundles in step with what is configured."""
        async for _ in self.world.changes():
            for obj in [*self._owners.values(), *self.world.definitions.values()]:
                for path, config in client_configs(obj):
                    with self.world.forgiving(f"webhook of {obj['kind']} {obj['metadata']['name']}"):
                        await self._prepare(obj, path, config)

    async def _prepare(self, obj: Object, path: str, config: dict[str, Any]) -> None:
        service = config["service"]
        host = f"{service['name']}.{service['namespace']}.svc"
        bundle = config.get("caBundle", "")
        if not bundle and not config.get("insecureSkipTLSVerify"):
            if self._injector_is_ready(obj, service):
                await self._inject(obj, path)
            return
        if not bundle or bundle == self.bundle:
            self._contexts.setdefault(host, self._own_context(host))
        elif host not in self._contexts:
            context = await self._context_from_secret(service["namespace"], base64.b64decode(bundle))
            if context is not None:
                self._contexts[host] = context

    def _injector_is_ready(self, obj: Object, service: dict[str, Any]) -> bool:
        annotations = obj["metadata"].get("annotations", {})
        if any(name.startswith(INJECT_ANNOTATION) for name in annotations):
            return self.world.has_ready_pod(INJECTOR_LABELS)
        # Without an annotation, the program behind the webhook, or a hook Job beside it, writes its own bundle.
        return any(
            namespace == service["namespace"] and pod["status"].get("phase") in {"Running", "Succeeded"}
            for (namespace, _), pod in self.world.pods.items()
        )

    async def _inject(self, obj: Object, path: str) -> None:
        guard = {
            "op": "test",
            "path": "/metadata/resourceVersion",
            "value": obj["metadata"]["resourceVersion"],
        }
        patch = [guard, {"op": "add", "path": f"{path}/caBundle", "value": self.bundle}]
        await self.world.client.patch(
            obj["apiVersion"], obj["kind"], obj["metadata"]["name"], patch, form="json", manager=INJECTOR
        )
        log.info("CA bundle into %s %s%s", obj["kind"], obj["metadata"]["name"], path)

    def _own_context(self, host: str) -> ssl.SSLContext:
        pair = self._authority.issue(f"webhook-{host}", common_name=host, server_names=[host])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        context.set_alpn_protocols(["http/1.1"])
        return context

    async def _context_from_secret(self, namespace: str, bundle: bytes) -> ssl.SSLContext | None:
        for secret in (await self.world.client.list("v1", "Secret", namespace=namespace)).items:
            pair = serving_pair(secret.get("data") or {}, bundle)
            if pair is not None:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                with command.memory_file(pair) as file:
                    context.load_cert_chain(file.path)
                context.set_alpn_protocols(["http/1.1"])
                return context
        return None

    def _choose(self, connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
        context = self._contexts.get(name or "")
        if context is None:
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        connection.context = context
        return None

    async def _answer(self, request: web.Request) -> web.Response:
        if request.method == "POST":
            body = msgspec.json.decode(await request.read())
            return _json(review(body))
        if request.path.startswith("/apis/"):
            return _json(aggregated(request.path))
        return web.Response(status=404)


async def run(world: World) -> None:
    """Serve and prepare."""
    responder = Responder(world)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(responder.serve())
        for api_version, kind in SOURCES:
            tasks.create_task(responder.follow(api_version, kind))
        tasks.create_task(responder.act())


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
        with contextlib.suppress(ValueError, errors.FirstlightError):
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
    except (ValueError, TypeError, Exception):  # noqa: BLE001 -- InvalidSignature has no useful base
        return False
    return True


def _public(public_key: Any) -> bytes:
    encoded: bytes = public_key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return encoded


def _json(value: object) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")
