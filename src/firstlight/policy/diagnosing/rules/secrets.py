"""Secrets that are missing, and who should bring them: the foundation, stores, external secrets, certificates."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import sequence, text
from firstlight.gates import status
from firstlight.policy.diagnosing import applying, found
from firstlight.policy.diagnosing.found import Found
from firstlight.policy.diagnosing.scene import Scene, age, name_of

_STORES = ("external-secrets.io/SecretStore", "external-secrets.io/ClusterSecretStore")
_ISSUERS = ("cert-manager.io/Issuer", "cert-manager.io/ClusterIssuer")


def missing_foundation(scene: Scene) -> Iterator[Found]:
    """Secrets that the repo declares to be there before anything can fetch the rest."""
    if not scene.is_listed("/Secret"):
        return
    for space, name in scene.foundation:
        where = scene.one("/Namespace", space)
        if (
            where is None
            or scene.one("/Secret", name, namespace=space) is not None
            or age(where, scene.now) < scene.patience
        ):
            continue
        subject = f"Secret {space}/{name}"
        yield Found(
            rule="foundation-missing",
            subject=subject,
            says=f"{subject} is missing, which bootstrap brings, and which the rest is fetched or decrypted with",
            evidence=(found.evidence(f"Namespace {space}", f"has no Secret {name}"),),
            next=(found.command(f"firstlight up {scene.cluster.name} --only secrets", "puts it back"),),
        )


def secret_stores(scene: Scene) -> Iterator[Found]:
    """Stores that External Secrets cannot use."""
    for value in scene.of(*_STORES):
        if not status.is_false(value, "Ready") or not scene.is_over(status.since(value, "Ready")):
            continue
        said = " ".join([text(status.condition(value, "Ready"), "message"), *_events(value, scene)])
        yield Found(
            rule="secret-store",
            subject=name_of(value),
            says=f"{name_of(value)} cannot be used: {_why(said) or status.said(said)}",
            evidence=(found.of_condition(value, "Ready"), *(found.of_event(e) for e in scene.events_of(value)[:1])),
            next=(found.kubectl("describe", value, "what the provider answers"),),
            since=status.since(value, "Ready"),
            needs=found.names(
                found.controller("external-secrets"),
                applying.needs(said, text(value, "metadata", "namespace")),
                (f"Secret {space}/{name}" for space, name in _referenced(value)),
            ),
        )


def external_secrets(scene: Scene) -> Iterator[Found]:
    """ExternalSecrets that bring no Secret."""
    for value in scene.of("external-secrets.io/ExternalSecret"):
        if (
            not status.is_false(value, "Ready")
            or status.is_going(value)
            or not scene.is_over(status.since(value, "Ready"))
        ):
            continue
        space = text(value, "metadata", "namespace")
        target = text(value, "spec", "target", "name") or text(value, "metadata", "name")
        kind = text(value, "spec", "secretStoreRef", "kind") or "SecretStore"
        store = text(value, "spec", "secretStoreRef", "name")
        said = " ".join([text(status.condition(value, "Ready"), "message"), *_events(value, scene)])
        yield Found(
            rule="external-secret",
            subject=name_of(value),
            says=f"{name_of(value)} brings no Secret {target}: {_why(said) or status.said(said)}",
            evidence=(found.of_condition(value, "Ready"), *(found.of_event(e) for e in scene.events_of(value)[:1])),
            next=(found.kubectl("describe", value, "its events say what the provider answered"),),
            since=status.since(value, "Ready"),
            names=frozenset({f"Secret {space}/{target}"}),
            needs=found.names(
                found.controller("external-secrets"),
                f"{kind} {store}" if kind == "ClusterSecretStore" else f"{kind} {space}/{store}",
                applying.needs(said, space),
                f"Namespace {space}",
            ),
        )


def _events(value: Mapping[str, Any], scene: Scene) -> list[str]:
    return [text(each, "message") for each in scene.events_of(value) if text(each, "type") == "Warning"][:1]


def _why(said: str) -> str:
    if re.search(
        r"permission denied|unauthorized|forbidden|invalid.{0,20}(token|credential)|\b(401|403)\b", said, re.I
    ):
        return "the provider does not accept the credentials"
    if re.search(r"no such host|connection refused|i/o timeout|deadline exceeded", said):
        return "the provider is not reached"
    if re.search(r"does not exist|not found|no item|couldn't find|no secret", said, re.I):
        return "what it asks for does not exist there"
    return ""


def _referenced(value: Any, space: str = "") -> Iterator[tuple[str, str]]:
    """The Secrets that a store logs in with, wherever its provider names them."""
    space = space or text(value, "metadata", "namespace")
    if isinstance(value, Mapping):
        for key, each in value.items():
            if isinstance(key, str) and key.endswith("ecretRef") and text(each, "name"):
                yield text(each, "namespace") or space, text(each, "name")
            if key != "status":
                yield from _referenced(each, space)
    elif isinstance(value, list):
        for each in value:
            yield from _referenced(each, space)


def issuers(scene: Scene) -> Iterator[Found]:
    """Issuers that cannot issue."""
    for value in scene.of(*_ISSUERS):
        if status.is_false(value, "Ready") and scene.is_over(status.since(value, "Ready")):
            said = text(status.condition(value, "Ready"), "message")
            yield Found(
                rule="issuer-not-ready",
                subject=name_of(value),
                says=f"{name_of(value)} cannot issue certificates: {status.said(said) or 'no reason given'}",
                evidence=(found.of_condition(value, "Ready"),),
                next=(found.kubectl("describe", value),),
                since=status.since(value, "Ready"),
                needs=found.names(
                    found.controller("cert-manager"),
                    applying.needs(said, text(value, "metadata", "namespace") or "cert-manager"),
                ),
            )


def certificates(scene: Scene) -> Iterator[Found]:
    """Certificates that are not issued, or were not renewed in time."""
    for value in scene.of("cert-manager.io/Certificate"):
        if not status.is_false(value, "Ready") or not scene.is_over(status.since(value, "Ready"), times=3):
            continue
        space, secret = text(value, "metadata", "namespace"), text(value, "spec", "secretName")
        kind = text(value, "spec", "issuerRef", "kind") or "Issuer"
        issuer = text(value, "spec", "issuerRef", "name")
        end = status.moment(text(value, "status", "notAfter"))
        is_expired = end is not None and end < scene.now
        said = status.said(text(status.condition(value, "Ready"), "message"))
        yield Found(
            rule="certificate-expired" if is_expired else "certificate-not-ready",
            subject=name_of(value),
            says=f"{name_of(value)} {'has expired and is not renewed' if is_expired else 'is not issued'}: {said}",
            evidence=(found.of_condition(value, "Ready"),),
            next=(found.command(f"kubectl -n {space} get certificaterequests,orders,challenges", "where it waits"),),
            since=end if is_expired else status.since(value, "Ready"),
            names=found.names(f"Secret {space}/{secret}" if secret else ""),
            needs=found.names(
                f"{kind} {issuer}" if kind == "ClusterIssuer" else f"{kind} {space}/{issuer}",
                found.controller("cert-manager"),
                found.TIME,
            ),
        )


def _used(scene: Scene) -> set[str]:
    """The Secrets that something serves with; one that nobody uses may expire."""
    told = set()
    for each in scene.of("networking.k8s.io/Ingress"):
        told |= {(_space(each), text(tls, "secretName")) for tls in sequence(each, "spec", "tls")}
    for each in scene.of("gateway.networking.k8s.io/Gateway"):
        for listener in sequence(each, "spec", "listeners"):
            refs = sequence(listener, "tls", "certificateRefs")
            told |= {(text(ref, "namespace") or _space(each), text(ref, "name")) for ref in refs}
    for each in scene.of("/Pod"):
        told |= {(_space(each), text(volume, "secret", "secretName")) for volume in sequence(each, "spec", "volumes")}
    return {f"{space}/{name}" for space, name in told if name}


def _space(value: Mapping[str, Any]) -> str:
    return text(value, "metadata", "namespace")


def expired_certificates(scene: Scene) -> Iterator[Found]:
    """Certificates in Secrets that have expired."""
    owners = {
        f"{text(each, 'metadata', 'namespace')}/{text(each, 'spec', 'secretName')}": name_of(each)
        for each in scene.of("cert-manager.io/Certificate")
    }
    used = _used(scene)
    for name, end in sorted(scene.certificates.items()):
        if end < scene.now and (name in owners or name in used):
            yield Found(
                rule="certificate-expired",
                subject=f"Secret {name}",
                says=f"the certificate in Secret {name} has expired"
                + ("" if name in owners else ", and no Certificate of cert-manager renews it"),
                evidence=(found.of_end(f"Secret {name}, tls.crt", end),),
                next=(
                    found.command(
                        f"kubectl -n {name.partition('/')[0]} get certificates,secrets", "who should renew it"
                    ),
                ),
                since=end,
                needs=found.names(owners.get(name, ""), found.TIME, found.controller("cert-manager")),
            )
