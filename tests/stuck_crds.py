"""CRDs stuck in Installing, made for certain: the API server is kept from establishing them until it is killed."""

import contextlib
import uuid
from collections.abc import AsyncIterator
from typing import Any

from firstlight.clients import kube
from firstlight.lab import running_lab
from tests.labs import condition, until

CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_ADMISSION = "admissionregistration.k8s.io/v1"
_IS_NOT_ESTABLISHED = "!object.status.conditions.exists(c, c.type == 'Established' && c.status == 'True')"


@contextlib.asynccontextmanager
async def kept_from_establishing(client: kube.Client) -> AsyncIterator[None]:
    """While the API server may accept names, but establishes no CRD: an admission policy refuses that alone."""
    name = f"keep-{uuid.uuid4().hex[:8]}"
    rule: dict[str, Any] = {
        "apiGroups": ["apiextensions.k8s.io"],
        "apiVersions": ["*"],
        "operations": ["UPDATE"],
        "resources": ["customresourcedefinitions/status"],
    }
    policy: dict[str, Any] = {
        "apiVersion": _ADMISSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": _IS_NOT_ESTABLISHED}],
        },
    }
    binding: dict[str, Any] = {
        "apiVersion": _ADMISSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    probe = definition("probes", f"{name}.example.org")
    await client.apply(probe, manager="tests")
    await until(lambda: _is_established(client, probe), "the probe to be established")
    try:
        await client.apply(policy, manager="tests")
        await client.apply(binding, manager="tests")
        await until(lambda: _is_refused(client, probe), "the policy to be in force")
        yield
    finally:
        for each in (binding, policy, probe):
            await client.delete(each["apiVersion"], each["kind"], each["metadata"]["name"])


async def leave_stuck(lab: running_lab.Lab, client: kube.Client, name: str) -> None:
    """Kill the API server as soon as it has accepted a CRD's names, and is to establish it; wait until it is back."""

    async def is_installing() -> bool:
        try:
            found = await client.get(*CRD, name)
        except kube.NotFound:
            return False
        return (condition(found, "NamesAccepted"), condition(found, "Established")) == ("True", "False")

    await until(is_installing, f"{name} to be in Installing")
    (part,) = [each for each in (await lab.status()).parts if each.name == "kube-apiserver"]
    await lab.process("kube-apiserver", "kill")

    async def is_another() -> bool:
        return any(each.name == part.name and each.restarts > part.restarts for each in (await lab.status()).parts)

    await until(is_another, "the API server to be started again")
    await lab.wait_ready()


def definition(plural: str, group: str) -> dict[str, Any]:
    """A CRD of one version without a schema."""
    kind = plural.removesuffix("s").capitalize()
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": CRD[0],
        "kind": CRD[1],
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


async def _is_established(client: kube.Client, crd: dict[str, Any]) -> bool:
    return condition(await client.get(*CRD, crd["metadata"]["name"]), "Established") == "True"


async def _is_refused(client: kube.Client, crd: dict[str, Any]) -> bool:
    patch = [{"op": "replace", "path": "/status/conditions/0/message", "value": uuid.uuid4().hex}]
    try:
        await client.patch(
            *CRD, crd["metadata"]["name"], patch, form="json", manager="tests", subresource="status", dry_run=True
        )
    except kube.Invalid:
        return True
    return False
