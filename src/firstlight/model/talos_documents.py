"""Documents of machine configs that replaced fields of the v1alpha1 document in Talos 1.14."""

import re
from collections.abc import Collection, Iterable
from typing import Final

from firstlight.model import versions

INLINE: Final = "KubeInlineManifestConfig"
EXTERNAL: Final = "KubeExternalManifestConfig"
FIRST: Final = (1, 14)
"""The version of Talos in which they came."""

REPLACING: Final = frozenset(
    {
        "DiscoveryIdentityConfig", "DiscoveryServiceConfig", "KubeAPIServerCAConfig", "KubeAPIServerConfig",
        "KubeAdmissionControlConfig", "KubeAggregatorCAConfig", "KubeAuditPolicyConfig", "KubeAuthenticationConfig",
        "KubeAuthorizerConfig", "KubeClusterConfig", "KubeControllerManagerConfig", "KubeCoreDNSConfig",
        "KubeCredentialProviderConfig", "KubeEtcdEncryptionConfig", "KubeFlannelCNIConfig", "KubeNetworkConfig",
        "KubeNodeConfig", "KubePrismConfig", "KubeProxyConfig", "KubeSchedulerConfig", "KubeServiceAccountConfig",
        "KubeStaticPodConfig", "KubeTalosAPIAccessConfig", "KubeletConfig", "UnattendedInstallConfig", INLINE, EXTERNAL,
    }
)  # fmt: skip
"""Kinds that no earlier version knows, and that say what fields of the v1alpha1 document said before."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_LONGEST = 253


def is_made_of(kinds: Iterable[str]) -> bool:
    """Whether a config with documents of these kinds is written in the form of Talos 1.14."""
    return not REPLACING.isdisjoint(kinds)


def is_known_to(talos: str) -> bool:
    """Whether a version of Talos knows these documents; one that is not known does not."""
    line = versions.minor(talos)
    return line is not None and line >= FIRST


def is_name(text: str) -> bool:
    """Whether Talos takes a text as the name of a document: a DNS-1123 subdomain."""
    return len(text) <= _LONGEST and _NAME.fullmatch(text) is not None


def takes_document(kinds: Collection[str], *, talos: str, around: Iterable[str] = ()) -> bool:
    """Whether a new inline manifest of a file becomes a document, and not an entry of ``cluster.inlineManifests``.

    Args:
        kinds: Kinds of the documents in the file; an empty one for the v1alpha1 document.
        talos: The cluster's version of Talos, as far as it is known.
        around: Kinds of the documents in the cluster's other files, which decide where the file has none of its own.
    """
    if versions.minor(talos) is not None and not is_known_to(talos):
        return False
    if is_made_of(kinds):
        return True
    if "" in kinds:
        return False
    return is_made_of(around) or (bool(kinds) and is_known_to(talos))
