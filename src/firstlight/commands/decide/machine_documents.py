"""Fields of Talos's documents by the fields of v1alpha1 that they replace, so that one rule fits both styles."""

from collections.abc import Mapping, Sequence

_Steps = tuple[str, ...]
# Since Talos 1.14 each has a document of its own; the old fields stay for those who still have them.
_REPLACED: Mapping[str, Mapping[str, _Steps]] = {
    "DiscoveryIdentityConfig": {"clusterID": ("cluster", "id"), "clusterSecret": ("cluster", "secret")},
    "DiscoveryServiceConfig": {"": ("cluster", "discovery")},
    "EtcFileConfig": {"": ("machine", "files")},
    "KernelModuleConfig": {"": ("machine", "kernel", "modules")},
    "KubeAdmissionControlConfig": {"": ("cluster", "apiServer", "admissionControl")},
    "KubeAggregatorCAConfig": {"": ("cluster", "aggregatorCA")},
    "KubeAPIServerCAConfig": {"acceptedCAs": ("cluster", "acceptedCAs"), "": ("cluster", "ca")},
    "KubeAPIServerConfig": {"certExtraSANs": ("cluster", "apiServer", "certSANs"), "": ("cluster", "apiServer")},
    "KubeAuditPolicyConfig": {"": ("cluster", "apiServer", "auditPolicy")},
    "KubeAuthenticationConfig": {"": ("cluster", "apiServer", "extraArgs", "authentication-config")},
    "KubeAuthorizerConfig": {"": ("cluster", "apiServer", "authorizationConfig")},
    "KubeClusterConfig": {
        "clusterName": ("cluster", "clusterName"),
        "endpoint": ("cluster", "controlPlane", "endpoint"),
    },
    "KubeControllerManagerConfig": {"": ("cluster", "controllerManager")},
    "KubeCoreDNSConfig": {"": ("cluster", "coreDNS")},
    "KubeEtcdEncryptionConfig": {"": ("cluster", "secretboxEncryptionSecret")},
    "KubeExternalManifestConfig": {"": ("cluster", "extraManifests")},
    "KubeFlannelCNIConfig": {"": ("cluster", "network", "cni")},
    "KubeInlineManifestConfig": {"": ("cluster", "inlineManifests")},
    "KubeletConfig": {"config": ("machine", "kubelet", "extraConfig"), "": ("machine", "kubelet")},
    "KubeNetworkConfig": {"": ("cluster", "network")},
    "KubeNodeConfig": {
        "labels": ("machine", "nodeLabels"),
        "annotations": ("machine", "nodeAnnotations"),
        "taints": ("machine", "nodeTaints"),
        "nodeIP": ("machine", "kubelet", "nodeIP"),
        "": ("machine", "kubelet"),
    },
    "KubePrismConfig": {"": ("machine", "features", "kubePrism")},
    "KubeProxyConfig": {"": ("cluster", "proxy")},
    "KubeSchedulerConfig": {"": ("cluster", "scheduler")},
    "KubeServiceAccountConfig": {"": ("cluster", "serviceAccount")},
    "KubeStaticPodConfig": {"": ("machine", "pods")},
    "KubeTalosAPIAccessConfig": {"": ("machine", "features", "kubernetesTalosAPIAccess")},
    "SysctlConfig": {"params": ("machine", "sysctls")},
    "SysfsConfig": {"params": ("machine", "sysfs")},
    "UdevRulesConfig": {"": ("machine", "udev")},
    "UnattendedInstallConfig": {
        "installer": ("machine", "install"),
        "provisioning.wipe": ("machine", "install", "wipe"),
        "provisioning.diskSelector": ("machine", "install", "diskSelector"),
        "": ("machine", "install"),
    },
}
_ONE_EACH = {
    "KubeInlineManifestConfig", "KubeExternalManifestConfig", "KubeStaticPodConfig", "KernelModuleConfig",
    "EtcFileConfig", "KubeEtcdEncryptionConfig",
}  # fmt: skip
"""Of these, all that a document says is one item, or one value, of the old field."""


def earlier_steps(kind: str, steps: Sequence[str]) -> _Steps:
    """The way to the old field that a field of a document replaces; the same way for all that replaces nothing."""
    fields = _REPLACED.get(kind, {})
    for length in range(min(2, len(steps)), -1, -1):
        if (prefix := fields.get(".".join(steps[:length]))) is not None:
            rest = () if kind in _ONE_EACH - {"KubeInlineManifestConfig"} else tuple(steps[length:])
            return (*prefix, *rest)
    return tuple(steps)
