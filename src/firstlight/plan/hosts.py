"""Names that a cluster serves itself, and names that it fetches from: where they meet, a cold start fails."""

import re
from collections.abc import Iterator

from firstlight.document.within import mapping, sequence, text
from firstlight.model.rendition import Object

_SCP = re.compile(r"(?:[^@/\s]+@)?(?P<host>[^:/\s]+):(?!//)")
_ROUTES = {"HTTPRoute", "TLSRoute", "GRPCRoute"}


def of_url(url: str) -> str:
    """The host of a URL, or of ``git@host:path``; empty where there is none."""
    scheme, found, rest = url.partition("://")
    if found:
        authority = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
        return "" if scheme == "file" else without_port(authority)
    match = _SCP.match(url)
    return match["host"].lower() if match else ""


def without_port(authority: str) -> str:
    """A host in small letters, without its port."""
    if authority.startswith("["):
        return authority.partition("]")[0].removeprefix("[").lower()
    return authority.partition(":")[0].lower()


def served(item: Object) -> Iterator[str]:
    """The names that an object makes the cluster answer to; wildcards are left out."""
    identity = item.id
    names: list[str] = []
    if identity.kind == "Ingress":
        names = [text(each, "host") for each in sequence(item.value, "spec", "rules")]
    elif identity.kind in _ROUTES:
        names = [each for each in sequence(item.value, "spec", "hostnames") if isinstance(each, str)]
    elif identity.kind == "Service" and not identity.group:
        annotations = mapping(item.value, "metadata", "annotations")
        names = [each.strip() for each in text(annotations, "external-dns.alpha.kubernetes.io/hostname").split(",")]
    yield from (each.lower() for each in names if each and "*" not in each)


def service(host: str, cluster_domain: str) -> tuple[str, str] | None:
    """The namespace and name of the Service that a host is, such as ``registry.images.svc.cluster.local``."""
    bare = host.removesuffix(".").removesuffix(f".{cluster_domain}")
    parts = bare.split(".")
    return (parts[1], parts[0]) if len(parts) == 3 and parts[2] == "svc" else None
