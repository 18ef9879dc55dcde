"""The secrets foundation: Secrets that something needs and nothing in Git brings.

What an ExternalSecret or an encrypted manifest makes is not among them; what the store logs in with is.
"""

import re
from collections.abc import Iterator, Sequence

from firstlight.model.component import Component, SecretNeed, Side
from firstlight.model.platform import FoundationSecret

_KEYS = re.compile(r"--from-(?:literal|file)[= ]([A-Za-z0-9._-]+)=")
_MAKERS = {"Secret", "ExternalSecret", "SealedSecret", "OnePasswordItem", "PushSecret", "Certificate"}


def inferred(components: Sequence[Component]) -> tuple[FoundationSecret, ...]:
    """What must exist before an operator can fetch the rest; where from is for people to say."""
    found: dict[tuple[str, str, str], FoundationSecret] = {}
    brought = {
        (each.cluster, made.namespace, made.name)
        for each in components
        for origin in each.origins
        if origin.side == Side.GITOPS
        for made in origin.objects
        if made.kind in _MAKERS
    }
    for cluster, need in _needs(components):
        key = (cluster, need.namespace, need.name)
        if key in brought:
            continue
        before = found.get(key)
        keys = [*(before.data if before else ()), *(need.keys or _usual(need))]
        found[key] = FoundationSecret(
            name=need.name,
            namespace=need.namespace,
            data=dict.fromkeys(keys, ""),
            place=before.place if before else need.place,
            why=before.why if before else need.why,
            cluster=cluster,
        )
    return tuple(found[key] for key in sorted(found))


def _usual(need: SecretNeed) -> tuple[str, ...]:
    """The keys that such a Secret has everywhere."""
    return ("age.agekey",) if need.why.startswith("decrypts") else ()


def _needs(components: Sequence[Component]) -> Iterator[tuple[str, SecretNeed]]:
    for component in components:
        for origin in component.origins:
            for need in origin.secrets:
                yield component.cluster, need
    for component in components:
        for origin in component.origins:
            if origin.side == Side.BOOTSTRAP:
                # A script that creates a Secret by hand says where the foundation is today.
                for made in origin.objects:
                    if made.kind == "Secret" and origin.form.value.endswith("command"):
                        why = f"created by a {origin.form}"
                        keys = tuple(_KEYS.findall(origin.command))
                        need = SecretNeed(
                            name=made.name, namespace=made.namespace, keys=keys, place=origin.place, why=why
                        )
                        yield component.cluster, need
