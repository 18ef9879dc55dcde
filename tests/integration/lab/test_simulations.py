"""What the lab pretends is what the real thing would do: present when its cause is there, absent when it is not."""

import base64
import datetime
from collections.abc import AsyncIterator
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from firstlight.clients import kube as clients_kube
from firstlight.clients.kube import Client
from firstlight.lab.running_lab import Lab
from tests.integration.lab.test_nodes import deployment
from tests.labs import condition, until


def service(name: str, namespace: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"app": name}, "ports": [{"port": 443, "targetPort": 8443}], **spec},
    }


def webhook(name: str, namespace: str, **client_config: Any) -> dict[str, Any]:
    """A webhook that is asked about ConfigMaps of the test's namespace, and must answer."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": f"{namespace}-{name}"},
        "webhooks": [
            {
                "name": f"{name}.example.org",
                "clientConfig": {"service": {"name": name, "namespace": namespace, "path": "/check"}, **client_config},
                "rules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
                ],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "failurePolicy": "Fail",
                "timeoutSeconds": 5,
            }
        ],
    }


def config_map(name: str, namespace: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}


@pytest.fixture
async def impatient(lab: Lab) -> AsyncIterator[Client]:
    """A client that takes the first answer, so that a test sees what the API server says."""
    once = clients_kube.RetryPolicy(internal_errors=1)
    async with clients_kube.Client(clients_kube.load(lab.kubeconfig), policy=once) as client:
        yield client


async def test_a_webhook_fails_without_ready_pods_and_admits_with_them(
    kube: Client, impatient: Client, namespace: str
) -> None:
    await kube.apply(webhook("judge", namespace), manager="tests")
    await kube.apply(service("judge", namespace), manager="tests")
    try:
        with pytest.raises(clients_kube.ApiError, match="judge"):
            await impatient.create(config_map("early", namespace), manager="tests")

        await kube.apply(deployment("judge", namespace), manager="tests")

        async def admitted() -> bool:
            try:
                await kube.create(config_map("late", namespace), manager="tests")
            except clients_kube.ApiError:
                return False
            return True

        await until(admitted, "the webhook to admit")
        live = await kube.get("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", f"{namespace}-judge")
        managers = {each["manager"] for each in live["metadata"]["managedFields"]}
        assert "cainjector" in managers
    finally:
        await kube.delete("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", f"{namespace}-judge")


async def test_a_given_ca_bundle_needs_the_matching_certificate(
    kube: Client, impatient: Client, namespace: str
) -> None:
    authority, certificate, key = _serving_certificate(f"strict.{namespace}.svc")
    name = f"{namespace}-strict"
    await kube.apply(webhook("strict", namespace, caBundle=base64.b64encode(authority).decode()), manager="tests")
    await kube.apply(service("strict", namespace), manager="tests")
    await kube.apply(deployment("strict", namespace), manager="tests")

    async def available() -> bool:
        live = await kube.get("apps/v1", "Deployment", "strict", namespace=namespace)
        return bool(live["status"].get("availableReplicas") == 1)

    try:
        await until(available, "the webhook's pod")
        with pytest.raises(clients_kube.ApiError):
            await impatient.create(config_map("refused", namespace), manager="tests")

        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"name": "serving", "namespace": namespace},
            "data": {"tls.crt": base64.b64encode(certificate).decode(), "tls.key": base64.b64encode(key).decode()},
        }
        await kube.apply(secret, manager="tests")
        touched = {"metadata": {"annotations": {"touched": "again"}}}
        await kube.patch(
            "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", name, touched, form="merge",
            manager="tests",
        )  # fmt: skip

        async def admitted() -> bool:
            try:
                await kube.create(config_map("admitted", namespace), manager="tests")
            except clients_kube.ApiError:
                return False
            return True

        await until(admitted, "the webhook to admit with the right certificate")
    finally:
        await kube.delete("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", name)


async def test_an_aggregated_api_is_available_only_with_its_pods(kube: Client, namespace: str) -> None:
    api = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1beta1.metrics.k8s.io"},
        "spec": {
            "group": "metrics.k8s.io",
            "version": "v1beta1",
            "service": {"name": "metrics", "namespace": namespace, "port": 443},
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
        },
    }

    async def availability() -> str:
        live = await kube.get("apiregistration.k8s.io/v1", "APIService", "v1beta1.metrics.k8s.io")
        return condition(live, "Available")

    async def is_unavailable() -> bool:
        return await availability() == "False"

    async def is_available() -> bool:
        return await availability() == "True"

    try:
        await kube.apply(service("metrics", namespace), manager="tests")
        await kube.apply(api, manager="tests")
        await until(is_unavailable, "the API to be unavailable")
        await kube.apply(deployment("metrics", namespace), manager="tests")
        await until(is_available, "the API to be available")

        async def listed() -> bool:
            try:
                return (await kube.list("metrics.k8s.io/v1beta1", "NodeMetrics")).items == ()
            except clients_kube.UnknownKind:
                return False

        await until(listed, "discovery to know the API")
    finally:
        await kube.delete("apiregistration.k8s.io/v1", "APIService", "v1beta1.metrics.k8s.io")


async def test_claims_are_bound_and_volumes_go_with_them(kube: Client, namespace: str) -> None:
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": namespace},
        "provisioner": "driver.example.org",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": namespace,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    await kube.apply(storage_class, manager="tests")
    await kube.apply(claim, manager="tests")

    async def events() -> bool:
        found = (await kube.list("v1", "Event", namespace=namespace)).items
        return any(event["reason"] == "WaitForFirstConsumer" for event in found)

    async def bound() -> str:
        live = await kube.get("v1", "PersistentVolumeClaim", "data", namespace=namespace)
        return str(live["spec"].get("volumeName", "")) if live["status"]["phase"] == "Bound" else ""

    try:
        await until(events, "the claim to wait for a consumer")
        assert not await bound()

        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
        await kube.apply(deployment("consumer", namespace, volumes=volumes), manager="tests")
        volume = await until(bound, "the claim to be bound")

        await kube.delete("apps/v1", "Deployment", "consumer", namespace=namespace)
        await kube.delete("v1", "PersistentVolumeClaim", "data", namespace=namespace)

        async def gone() -> bool:
            try:
                await kube.get("v1", "PersistentVolume", volume)
            except clients_kube.NotFound:
                return True
            return False

        await until(gone, "the volume to be deleted")
    finally:
        await kube.delete("storage.k8s.io/v1", "StorageClass", namespace)


async def test_load_balancers_get_addresses_from_the_pool_only(kube: Client, namespace: str) -> None:
    async def status(name: str) -> dict[str, Any]:
        live: dict[str, Any] = (await kube.get("v1", "Service", name, namespace=namespace))["status"]
        return live if live.get("conditions") else {}

    pinned = service("pinned", namespace, type="LoadBalancer")
    pinned["metadata"]["annotations"] = {"lbipam.cilium.io/ips": "10.5.0.233"}
    outside = service("outside", namespace, type="LoadBalancer")
    outside["metadata"]["annotations"] = {"lbipam.cilium.io/ips": "192.0.2.1"}
    for each in (service("any", namespace, type="LoadBalancer"), pinned, outside):
        await kube.apply(each, manager="tests")

    anything = await until(lambda: status("any"), "an address")
    assert anything["loadBalancer"]["ingress"][0]["ip"].startswith("10.5.0.2")
    assert (await until(lambda: status("pinned"), "the pinned address"))["loadBalancer"]["ingress"] == [
        {"ip": "10.5.0.233", "ipMode": "VIP"}
    ]
    refused = await until(lambda: status("outside"), "a refusal")
    assert not refused.get("loadBalancer", {}).get("ingress")
    assert refused["conditions"][0]["reason"] == "no_pool"


async def test_kubelet_certificate_requests_are_approved_and_really_signed(
    lab: Lab, kube: Client, namespace: str
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
            x509.NameAttribute(NameOID.COMMON_NAME, "system:node:cp-1"),
        ]
    )
    names = x509.SubjectAlternativeName([x509.DNSName("cp-1")])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject).add_extension(names, critical=False)
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    request = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": namespace},
        "spec": {
            "request": base64.b64encode(pem).decode(),
            "signerName": "kubernetes.io/kubelet-serving",
            "usages": ["digital signature", "server auth"],
        },
    }
    await kube.create(request, manager="tests")

    async def certificate() -> str:
        live = await kube.get("certificates.k8s.io/v1", "CertificateSigningRequest", namespace)
        return str(live.get("status", {}).get("certificate", ""))

    signed = x509.load_pem_x509_certificate(base64.b64decode(await until(certificate, "the certificate")))
    authority = x509.load_pem_x509_certificate((lab.home.certificates / "ca.crt").read_bytes())
    signed.verify_directly_issued_by(authority)


async def test_custom_resources_get_a_status_only_when_their_controller_is_up(kube: Client, namespace: str) -> None:
    group = "cert-manager.io"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"issuers.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Issuer", "listKind": "IssuerList", "plural": "issuers", "singular": "issuer"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }
    issuer = {
        "apiVersion": f"{group}/v1",
        "kind": "Issuer",
        "metadata": {"name": "self", "namespace": namespace},
        "spec": {"selfSigned": {}},
    }

    async def established() -> bool:
        # Discovery is later than the condition.
        try:
            await kube.list(f"{group}/v1", "Issuer", namespace=namespace)
        except (clients_kube.UnknownKind, clients_kube.NotFound):
            return False
        return True

    async def ready() -> bool:
        return condition(await kube.get(f"{group}/v1", "Issuer", "self", namespace=namespace), "Ready") == "True"

    try:
        await kube.apply(definition, manager="tests")
        await until(established, "the definition")
        await kube.apply(issuer, manager="tests")
        controller = deployment("cm", namespace)
        controller["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/name"] = "cert-manager"
        assert not await ready()
        await kube.apply(controller, manager="tests")
        await until(ready, "the issuer to be ready")
    finally:
        await kube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"issuers.{group}")


def _serving_certificate(host: str) -> tuple[bytes, bytes, bytes]:
    """An authority's certificate, and a certificate with its key for a host."""
    now = datetime.datetime.now(datetime.UTC)
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])

    def builder(name: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
        )

    authority = builder(issuer, keys[0]).add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    leaf = builder(subject, keys[1]).add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
    pem = serialization.Encoding.PEM
    private = keys[1].private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return (
        authority.sign(keys[0], hashes.SHA256()).public_bytes(pem),
        leaf.sign(keys[0], hashes.SHA256()).public_bytes(pem),
        private,
    )
