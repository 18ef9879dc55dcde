"""What can be wrong with objects, Secrets and the way to the API."""

import contextlib
import dataclasses
from collections.abc import AsyncIterator
from typing import Any

from firstlight.clients import kube
from firstlight.commands.doctor.examine import DoctorAccess
from firstlight.model.secret import Secret
from firstlight.observe.cluster import kubernetes_survey
from tests.doctor.failure import NOBODY, Expected, Registry
from tests.doctor.lab_ground import Ground, expired, removed
from tests.doctor.things import config_map
from tests.labs import until

OBJECTS: Registry[Ground] = Registry("lab")


@OBJECTS.failure(
    "stuck-finalizer", "an object that cannot be deleted", how="a finalizer of nobody's, and a delete", sample=True
)
async def stuck_finalizer(on: Ground) -> AsyncIterator[Expected]:
    await on.apply(config_map("kept", on.space, finalizers=["example.org/nobody"]))
    await on.kube.delete("v1", "ConfigMap", "kept", namespace=on.space)
    try:
        yield on.expect("stuck-finalizer", "ConfigMap", "kept")
    finally:
        await _freed(on, "ConfigMap", "kept", on.space)


@OBJECTS.failure("terminating", "a namespace that does not go away",
             how="a namespace with such an object in it, deleted", sample=True)  # fmt: skip
async def terminating(on: Ground) -> AsyncIterator[Expected]:
    name = f"{on.space}-going"
    await on.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
        config_map("kept", name, finalizers=["example.org/nobody"]),
    )
    await on.kube.delete("v1", "Namespace", name)

    async def is_seen() -> bool:
        found = (await on.kube.get("v1", "Namespace", name)).get("status", {}).get("conditions") or ()
        return any(each["type"] == "NamespaceFinalizersRemaining" and each["status"] == "True" for each in found)

    try:
        await until(is_seen, "the namespace to say what remains")
        yield Expected(code="stuck-finalizer", subject=f"ConfigMap {name}/kept", asked=name)
    finally:
        await _freed(on, "ConfigMap", "kept", name)


@OBJECTS.failure("pending-release", "a Helm release that was cut off",
             how="the record of a release that is pending-install", sample=True)  # fmt: skip
async def pending_release(on: Ground) -> AsyncIterator[Expected]:
    labels = {"owner": "helm", "name": "web", "status": "pending-install", "version": "1"}
    await on.apply(
        {"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "data": {"release": "SDRzSUE="},
         "metadata": {"name": "sh.helm.release.v1.web.v1", "namespace": on.space, "labels": labels}}
    )  # fmt: skip
    yield on.expect("helm-pending", "Helm release", "web")


@OBJECTS.failure("expired-certificate", "a certificate that has expired",
             how="a TLS Secret with yesterday's certificate, and an Ingress with it")  # fmt: skip
async def expired_certificate(on: Ground) -> AsyncIterator[Expected]:
    pem = expired()
    await on.apply(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tls", "namespace": on.space},
         "type": "kubernetes.io/tls", "stringData": {"tls.crt": pem[0], "tls.key": pem[1]}},
        {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web", "namespace": on.space},
         "spec": {"tls": [{"hosts": ["web.example.org"], "secretName": "tls"}],
                  "defaultBackend": {"service": {"name": "web", "port": {"number": 443}}}}},
    )  # fmt: skip
    yield on.expect("certificate-expired", "Secret", "tls")


@OBJECTS.failure(
    "aggregated-api", "an aggregated API that does not answer", how="an APIService whose Service does not exist"
)
async def aggregated_api(on: Ground) -> AsyncIterator[Expected]:
    name = f"v1.{on.space}.example.org"
    spec = {"group": f"{on.space}.example.org", "version": "v1", "insecureSkipTLSVerify": True, "versionPriority": 1,
            "groupPriorityMinimum": 1, "service": {"namespace": on.space, "name": "nobody"}}  # fmt: skip
    thing = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": name}, "spec": spec}
    await on.apply(thing)
    async with removed(on, thing):
        yield Expected(code="apiservice-down", subject=f"APIService {name}", asked=f"APIService {name}")


@OBJECTS.failure(
    "crd-names", "two definitions that claim the same kind", how="a second CRD of the kind Widget in one group"
)
async def crd_names(on: Ground) -> AsyncIterator[Expected]:
    first, second = (_definition(on, plural) for plural in ("widgets", "gadgets"))
    await on.apply(first, second)
    async with removed(on, first), removed(on, second):
        name = f"CustomResourceDefinition gadgets.{on.space}.example.org"
        yield Expected(code="crd-not-served", subject=name, asked=name)


@OBJECTS.failure(
    "foundation", "a foundation secret that is missing", how="a repo that declares one, and a cluster without it"
)
async def foundation(on: Ground) -> AsyncIterator[Expected]:
    known = dataclasses.replace(NOBODY, foundation=((on.space, "sops-age"),))
    yield dataclasses.replace(on.expect("foundation-missing", "Secret", "sops-age"), known=known)


@OBJECTS.failure("kubeconfig", "a kubeconfig that the API does not accept", how="a token that nobody gave out")
async def kubeconfig(on: Ground) -> AsyncIterator[Expected]:
    wrong = dataclasses.replace(on.kube.config, client_certificate=b"", client_key=None, token=Secret("nobody"))
    async with kube.Client(wrong, policy=kubernetes_survey.POLICY) as client:
        yield Expected(code="kubeconfig-refused", subject="Kubernetes API", ways=DoctorAccess(client=client))


@OBJECTS.failure("no-api", "an API that is not reached", how="a kubeconfig that leads to a port where nobody listens")
async def no_api(on: Ground) -> AsyncIterator[Expected]:
    gone = dataclasses.replace(on.kube.config, server="https://127.0.0.1:9")
    async with kube.Client(gone, policy=kubernetes_survey.POLICY) as client:
        yield Expected(code="api-unreachable", subject="Kubernetes API", ways=DoctorAccess(client=client))


def _definition(on: Ground, plural: str) -> dict[str, Any]:
    group = f"{on.space}.example.org"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": plural, "singular": plural[:-1], "kind": "Widget", "listKind": "WidgetList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }  # fmt: skip


async def _freed(on: Ground, kind: str, name: str, space: str) -> None:
    with contextlib.suppress(kube.NotFound):
        await on.kube.patch("v1", kind, name, {"metadata": {"finalizers": None}}, manager="tests", namespace=space)
