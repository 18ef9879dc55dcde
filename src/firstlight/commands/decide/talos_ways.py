"""Talos 1.14's documents by the fields that they have replaced, so that one rule is enough for both.

Rules name ``machine.kubelet.image``; in a config made of documents that is ``image`` of a KubeletConfig.
"""

from collections.abc import Mapping

from firstlight.document import path_patterns
from firstlight.model.change import Change, ChangedField, Matter

_WAYS: Mapping[str, Mapping[str, str]] = {
    "KubeClusterConfig": {"clusterName": "cluster.clusterName", "endpoint": "cluster.controlPlane.endpoint"},
    "KubeNetworkConfig": {"": "cluster.network"},
    "KubeFlannelCNIConfig": {"": "cluster.network.cni.flannel"},
    "KubeProxyConfig": {"": "cluster.proxy"},
    "KubeCoreDNSConfig": {"": "cluster.coreDNS"},
    "KubePrismConfig": {"": "machine.features.kubePrism"},
    "KubeletConfig": {"config": "machine.kubelet.extraConfig", "": "machine.kubelet"},
    "KubeCredentialProviderConfig": {"": "machine.kubelet.credentialProviderConfig"},
    "KubeNodeConfig": {
        "labels": "machine.nodeLabels",
        "annotations": "machine.nodeAnnotations",
        "taints": "machine.nodeTaints",
        "nodeIP": "machine.kubelet.nodeIP",
        "": "machine.kubelet",
    },
    "KubeAPIServerConfig": {"certExtraSANs": "cluster.apiServer.certSANs", "": "cluster.apiServer"},
    "KubeAdmissionControlConfig": {"": "cluster.apiServer.admissionControl"},
    "KubeAuditPolicyConfig": {"": "cluster.apiServer.auditPolicy"},
    "KubeAuthenticationConfig": {"": "cluster.apiServer.authorizationConfig"},
    "KubeAuthorizerConfig": {"": "cluster.apiServer.authorizationConfig"},
    "KubeControllerManagerConfig": {"": "cluster.controllerManager"},
    "KubeSchedulerConfig": {"": "cluster.scheduler"},
    "KubeInlineManifestConfig": {"": "cluster.inlineManifests"},
    "KubeExternalManifestConfig": {"": "cluster.extraManifests"},
    "KubeStaticPodConfig": {"": "machine.pods"},
    "KubeAPIServerCAConfig": {"acceptedCAs": "cluster.acceptedCAs", "issuingCA": "cluster.ca", "": "cluster.ca"},
    "KubeAggregatorCAConfig": {"": "cluster.aggregatorCA"},
    "KubeServiceAccountConfig": {"": "cluster.serviceAccount"},
    "KubeEtcdEncryptionConfig": {"": "cluster.secretboxEncryptionSecret"},
    "KubeTalosAPIAccessConfig": {"": "machine.features.kubernetesTalosAPIAccess"},
    "DiscoveryIdentityConfig": {"clusterID": "cluster.id", "clusterSecret": "cluster.secret"},
    "DiscoveryServiceConfig": {"": "cluster.discovery"},
    "ResolverConfig": {"hostDNS": "machine.features.hostDNS"},
    "UnattendedInstallConfig": {
        "installer.image": "machine.install.image",
        "provisioning.diskSelector": "machine.install.diskSelector",
        "provisioning.wipe": "machine.install.wipe",
        "": "machine.install",
    },
    "SysctlConfig": {"params": "machine.sysctls", "": "machine.sysctls"},
    "SysfsConfig": {"params": "machine.sysfs", "": "machine.sysfs"},
    "KernelModuleConfig": {"": "machine.kernel.modules"},
    "UdevRulesConfig": {"": "machine.udev"},
    "EtcFileConfig": {"": "machine.files"},
    "CRICustomizationConfig": {"": "machine.files"},
    "ImageCacheConfig": {"": "machine.features.imageCache"},
    "CRIBaseRuntimeSpecConfig": {"": "machine.baseRuntimeSpecOverrides"},
    "SecurityProfileConfig": {"": "machine.seccompProfiles"},
}


def old_way(change: Change, field: ChangedField | None) -> str:
    """Return the way that a field of a document had before Talos 1.14, as patterns read it; empty where it had none.

    Args:
        change: What changed.
        field: The field; None for the document as a whole.
    """
    known = _WAYS.get(change.kind) if change.matter is Matter.MACHINE else None
    if known is None:
        return ""
    steps = field.steps if field is not None else ("any",)
    for own, old in known.items():
        mine = tuple(own.split(".")) if own else ()
        if steps[: len(mine)] == mine:
            return path_patterns.joined((*old.split("."), *steps[len(mine) :]))
    return path_patterns.joined((*next(iter(known.values())).split("."), "any")) if field is None else ""
