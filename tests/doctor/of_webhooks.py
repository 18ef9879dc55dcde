"""What can be wrong with webhooks."""

from collections.abc import AsyncIterator
from typing import Any

from tests.doctor.failure import Expected, Registry
from tests.doctor.lab_ground import Ground, expired, removed
from tests.doctor.things import deployment, service, validating
from tests.labs import until

WEBHOOKS: Registry[Ground] = Registry("lab")


@WEBHOOKS.failure("webhook-endpoints", "a webhook whose service has no pods",
             how="a webhook for pods, its Service without any, and a Deployment", sample=True)  # fmt: skip
async def webhook_endpoints(on: Ground) -> AsyncIterator[Expected]:
    hook = validating(on.space, (on.space, "guard"), space=on.space, resources=["pods"], ca=expired()[0])
    await on.apply(service("guard", on.space), hook, deployment("web", on.space))
    async with removed(on, hook):
        yield Expected(code="webhook-silent", subject=_called(hook), asked=on.space)


@WEBHOOKS.failure("webhook-ca", "a webhook without the authority that it is to be trusted by",
             how="a webhook whose CA is to be injected by somebody who is not there", sample=True)  # fmt: skip
async def webhook_ca(on: Ground) -> AsyncIterator[Expected]:
    note = {"cert-manager.io/inject-ca-from": f"{on.space}/guard"}
    await on.apply(service("guard", on.space), deployment("guard", on.space))
    await until(lambda: _is_ready(on, "guard"), "the webhook's server")
    hook = validating(on.space, (on.space, "guard"), space=on.space, resources=["pods"], annotations=note)
    await on.apply(hook, deployment("web", on.space))
    async with removed(on, hook):
        yield Expected(code="webhook-no-ca", subject=_called(hook), asked=on.space)


@WEBHOOKS.failure("webhook-itself", "a webhook that blocks the pods that would answer it",
             how="a webhook for pods of the namespace in which its own server is to start")  # fmt: skip
async def webhook_itself(on: Ground) -> AsyncIterator[Expected]:
    hook = validating(on.space, (on.space, "guard"), space=on.space, resources=["pods"], ca=expired()[0])
    await on.apply(service("guard", on.space), hook, deployment("guard", on.space))
    async with removed(on, hook):
        yield Expected(code="webhook-blocks-itself", subject=_called(hook), asked=on.space)


async def _is_ready(on: Ground, name: str) -> bool:
    found = await on.kube.get("apps/v1", "Deployment", name, namespace=on.space)
    return bool(found.get("status", {}).get("readyReplicas"))


def _called(hook: dict[str, Any]) -> str:
    return f"{hook['kind']} {hook['metadata']['name']}"
