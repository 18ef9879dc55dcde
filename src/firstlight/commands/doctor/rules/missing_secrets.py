"""Secrets that are missing, and who should bring them: the foundation, stores, external secrets, certificates."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.doctor import error_messages, symptoms
from firstlight.commands.doctor.symptoms import Symptom
from firstlight.document import conditions
from firstlight.document.within import sequence, text
from firstlight.observe.cluster.observation import ClusterObservation, age, name_of

_STORES = ("external-secrets.io/SecretStore", "external-secrets.io/ClusterSecretStore")
_ISSUERS = ("cert-manager.io/Issuer", "cert-manager.io/ClusterIssuer")


def missing_foundation(scene: ClusterObservation) -> Iterator[Symptom]:
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
        yield symptoms.symptom(
            code="foundation-missing",
            subject=subject,
            message=f"{subject} is missing, which bootstrap brings, and which the rest is fetched or decrypted with",
            evidence=(symptoms.evidence(f"Namespace {space}", f"has no Secret {name}"),),
            next=(symptoms.command(f"firstlight up {scene.cluster.name} --only secrets", "puts it back"),),
        )


def secret_stores(scene: ClusterObservation) -> Iterator[Symptom]:
    """Stores that External Secrets cannot use."""
    for value in scene.of(*_STORES):
        if not conditions.is_false(value, "Ready") or not scene.is_over(conditions.condition_since(value, "Ready")):
            continue
        said = " ".join([text(conditions.condition(value, "Ready"), "message"), *_events(value, scene)])
        yield symptoms.symptom(
            code="secret-store",
            subject=name_of(value),
            message=f"{name_of(value)} cannot be used: {_why(said) or conditions.said(said)}",
            evidence=(
                symptoms.of_condition(value, "Ready"),
                *(symptoms.of_event(e) for e in scene.events_of(value)[:1]),
            ),
            next=(symptoms.kubectl("describe", value, "what the provider answers"),),
            since=conditions.condition_since(value, "Ready"),
            needs=symptoms.names(
                symptoms.controller("external-secrets"),
                error_messages.needs_of_apply(said, text(value, "metadata", "namespace")),
                (f"Secret {space}/{name}" for space, name in _referenced(value)),
            ),
        )


def external_secrets(scene: ClusterObservation) -> Iterator[Symptom]:
    """ExternalSecrets that bring no Secret."""
    for value in scene.of("external-secrets.io/ExternalSecret"):
        if (
            not conditions.is_false(value, "Ready")
            or conditions.is_going(value)
            or not scene.is_over(conditions.condition_since(value, "Ready"))
        ):
            continue
        space = text(value, "metadata", "namespace")
        target = text(value, "spec", "target", "name") or text(value, "metadata", "name")
        kind = text(value, "spec", "secretStoreRef", "kind") or "SecretStore"
        store = text(value, "spec", "secretStoreRef", "name")
        said = " ".join([text(conditions.condition(value, "Ready"), "message"), *_events(value, scene)])
        yield symptoms.symptom(
            code="external-secret",
            subject=name_of(value),
            message=f"{name_of(value)} brings no Secret {target}: {_why(said) or conditions.said(said)}",
            evidence=(
                symptoms.of_condition(value, "Ready"),
                *(symptoms.of_event(e) for e in scene.events_of(value)[:1]),
            ),
            next=(symptoms.kubectl("describe", value, "its events say what the provider answered"),),
            since=conditions.condition_since(value, "Ready"),
            names=frozenset({f"Secret {space}/{target}"}),
            needs=symptoms.names(
                symptoms.controller("external-secrets"),
                f"{kind} {store}" if kind == "ClusterSecretStore" else f"{kind} {space}/{store}",
                error_messages.needs_of_apply(said, space),
                f"Namespace {space}",
            ),
        )


def _events(value: Mapping[str, Any], scene: ClusterObservation) -> list[str]:
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


def issuers(scene: ClusterObservation) -> Iterator[Symptom]:
    """Issuers that cannot issue."""
    for value in scene.of(*_ISSUERS):
        if conditions.is_false(value, "Ready") and scene.is_over(conditions.condition_since(value, "Ready")):
            said = text(conditions.condition(value, "Ready"), "message")
            yield symptoms.symptom(
                code="issuer-not-ready",
                subject=name_of(value),
                message=f"{name_of(value)} cannot issue certificates: {conditions.said(said) or 'no reason given'}",
                evidence=(symptoms.of_condition(value, "Ready"),),
                next=(symptoms.kubectl("describe", value),),
                since=conditions.condition_since(value, "Ready"),
                needs=symptoms.names(
                    symptoms.controller("cert-manager"),
                    error_messages.needs_of_apply(said, text(value, "metadata", "namespace") or "cert-manager"),
                ),
            )


def certificates(scene: ClusterObservation) -> Iterator[Symptom]:
    """Certificates that are not issued, or were not renewed in time."""
    for value in scene.of("cert-manager.io/Certificate"):
        if not conditions.is_false(value, "Ready") or not scene.is_over(
            conditions.condition_since(value, "Ready"), times=3
        ):
            continue
        space, secret = text(value, "metadata", "namespace"), text(value, "spec", "secretName")
        kind = text(value, "spec", "issuerRef", "kind") or "Issuer"
        issuer = text(value, "spec", "issuerRef", "name")
        end = conditions.moment(text(value, "status", "notAfter"))
        is_expired = end is not None and end < scene.now
        said = conditions.said(text(conditions.condition(value, "Ready"), "message"))
        yield symptoms.symptom(
            code="certificate-expired" if is_expired else "certificate-not-ready",
            subject=name_of(value),
            message=f"{name_of(value)} {'has expired and is not renewed' if is_expired else 'is not issued'}: {said}",
            evidence=(symptoms.of_condition(value, "Ready"),),
            next=(symptoms.command(f"kubectl -n {space} get certificaterequests,orders,challenges", "where it waits"),),
            since=end if is_expired else conditions.condition_since(value, "Ready"),
            names=symptoms.names(f"Secret {space}/{secret}" if secret else ""),
            needs=symptoms.names(
                f"{kind} {issuer}" if kind == "ClusterIssuer" else f"{kind} {space}/{issuer}",
                symptoms.controller("cert-manager"),
                symptoms.TIME,
            ),
        )


def _used(scene: ClusterObservation) -> set[str]:
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


def expired_certificates(scene: ClusterObservation) -> Iterator[Symptom]:
    """Certificates in Secrets that have expired."""
    owners = {
        f"{text(each, 'metadata', 'namespace')}/{text(each, 'spec', 'secretName')}": name_of(each)
        for each in scene.of("cert-manager.io/Certificate")
    }
    used = _used(scene)
    for name, end in sorted(scene.certificates.items()):
        if end < scene.now and (name in owners or name in used):
            yield symptoms.symptom(
                code="certificate-expired",
                subject=f"Secret {name}",
                message=f"the certificate in Secret {name} has expired"
                + ("" if name in owners else ", and no Certificate of cert-manager renews it"),
                evidence=(symptoms.of_end(f"Secret {name}, tls.crt", end),),
                next=(
                    symptoms.command(
                        f"kubectl -n {name.partition('/')[0]} get certificates,secrets", "who should renew it"
                    ),
                ),
                since=end,
                needs=symptoms.names(owners.get(name, ""), symptoms.TIME, symptoms.controller("cert-manager")),
            )
