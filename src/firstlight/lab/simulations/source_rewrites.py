"""Source URLs of a rehearsed repository that lead to the lab's servers: a mutating webhook of the lab's own.

Whoever writes a source writes the original; what is stored leads to the lab. Since the same original always becomes the
same object, writing it again changes nothing, and the engine that applies it sees no drift. The webhook exists only
while rewrites are declared. It is asked at an address of the lab, not through a service of the cluster, so that nothing
but its configuration is there to be seen.
"""

import asyncio
import base64
import contextlib
import ssl
from typing import Any

import msgspec
from aiohttp import web

from firstlight import errors
from firstlight.clients import kube
from firstlight.lab import certificates, own_user, rewrites
from firstlight.lab.simulations import rewritten_object
from firstlight.lab.simulations.world import MANAGER, Object, World, log

API_VERSION, KIND = "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"
NAME = "source-rewrites.lab.firstlight.dev"
LARGEST = 16 << 20
PATIENCE = 15.0
"""Seconds until the API server must ask; it learns of a configuration within one."""


class Simulation:
    """The webhook."""

    what = "declared source URLs lead to the lab's servers, rewritten at admission"

    async def start(self, world: World) -> None:
        """Listen, and have the API server ask; or see to it that it does not."""
        self._rules = world.settings.rewrites
        self._configurations = await world.follow(API_VERSION, KIND)
        self._wanted = None
        if not self._rules:
            await _remove(world)
            return
        authority = certificates.Authority(world.home.certificates, "webhook-ca")
        pair = authority.issue(
            "source-rewrites", common_name="firstlight lab webhook", server_names=[world.net.loopback]
        )
        bundle = base64.b64encode(authority.pair.certificate.read_bytes()).decode()
        listening = asyncio.Event()
        world.tasks.create_task(self._serve(world, pair, listening), name="source rewrites")
        await listening.wait()
        self._wanted = configuration(f"https://{world.net.loopback}:{world.net.admission}/rewrite", bundle)
        await world.client.apply(self._wanted, manager=MANAGER)
        await self._wait_until_asked(world)
        log.info("%s", *rewrites.notes(self._rules))

    async def act(self, world: World) -> None:
        """Put the configuration back if somebody took it away or changed it."""
        if self._wanted is None or fits(self._configurations.get(("", NAME)), self._wanted):
            return
        wanted = self._wanted

        async def restore(_: Object) -> None:
            await world.client.apply(wanted, manager=MANAGER)

        await world.each([wanted], restore)

    async def _serve(self, world: World, pair: certificates.Pair, listening: asyncio.Event) -> None:
        app = web.Application(middlewares=[own_user.only], client_max_size=LARGEST)
        app.router.add_post("/rewrite", self._answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        context.set_alpn_protocols(["http/1.1"])
        try:
            await web.TCPSite(runner, world.net.loopback, world.net.admission, ssl_context=context).start()
            listening.set()
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        body = msgspec.json.decode(await request.read())
        return web.Response(body=msgspec.json.encode(review(body, self._rules)), content_type="application/json")

    async def _wait_until_asked(self, world: World) -> None:
        """The API server asks some time after the configuration was accepted: try, without leaving anything behind."""
        first = self._rules[0].source
        probe = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "lab-source-rewrites-probe",
                "namespace": "default",
                "labels": {rewritten_object.SECRET_TYPE: rewritten_object.SECRET_TYPES[0]},
            },
            "data": {"url": base64.b64encode(first.encode()).decode()},
        }

        async def ask() -> None:
            while True:
                if (await world.client.create(probe, manager=MANAGER, dry_run=True))["data"] != probe["data"]:
                    return
                await asyncio.sleep(0.05)

        try:
            await asyncio.wait_for(ask(), PATIENCE)
        except (TimeoutError, errors.ClientError) as error:
            log.info("the API server does not ask for rewrites yet: %s", error)


async def _remove(world: World) -> None:
    with contextlib.suppress(kube.NotFound):
        await world.client.delete(API_VERSION, KIND, NAME)


def review(body: dict[str, Any], rules: rewritten_object.Rules) -> dict[str, Any]:
    """The answer to an AdmissionReview."""
    request = body["request"]
    response: dict[str, Any] = {"uid": request["uid"], "allowed": True}
    obj = request.get("object")
    if obj and (patch := rewritten_object.patch(obj, rewritten_object.rewritten(obj, rules))):
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(msgspec.json.encode(patch)).decode()
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "response": response}


def configuration(url: str, bundle: str) -> Object:
    """What makes the API server ask."""
    flux = {
        "apiGroups": [rewritten_object.FLUX],
        "resources": ["gitrepositories", "ocirepositories", "helmrepositories"],
    }
    argo = {"apiGroups": [rewritten_object.ARGO], "resources": ["applications", "applicationsets", "appprojects"]}
    secrets = {"apiGroups": [""], "resources": ["secrets"]}
    types = {"key": rewritten_object.SECRET_TYPE, "operator": "In", "values": list(rewritten_object.SECRET_TYPES)}

    def webhook(name: str, *rules: dict[str, Any], selector: dict[str, Any]) -> dict[str, Any]:
        shared = {"apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "scope": "*"}
        return {
            "name": f"{name}.{NAME}",
            "clientConfig": {"url": url, "caBundle": bundle},
            "rules": [{**shared, **rule} for rule in rules],
            "objectSelector": selector,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "reinvocationPolicy": "IfNeeded",
            "timeoutSeconds": 10,
        }

    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": NAME},
        "webhooks": [
            webhook("sources", flux, argo, selector={}),
            webhook("secrets", secrets, selector={"matchExpressions": [types]}),
        ],
    }


def fits(live: Object | None, wanted: Object) -> bool:
    """Whether the webhooks are as wanted; the API server adds defaults."""
    webhooks = (live or {}).get("webhooks") or []
    return len(webhooks) == len(wanted["webhooks"]) and all(
        all(each.get(key) == value for key, value in declared.items())
        for declared, each in zip(wanted["webhooks"], webhooks, strict=True)
    )
