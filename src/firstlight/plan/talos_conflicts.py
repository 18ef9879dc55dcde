"""Fields of the old machine config beside the documents that have replaced them: Talos refuses the whole config.

Each kind of document knows the fields that it replaces (``V1Alpha1ConflictValidate`` in Talos); the machine checks it
when a config is applied, ``talosctl validate`` too, and neither ``gen config`` nor ``machineconfig patch`` does.
"""

import dataclasses
from collections.abc import Iterator

from firstlight.model import fact, talos_documents, versions
from firstlight.model.cluster import Cluster, ConfigBase, MachinePart
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.fact import Basis, Confidence, Standing
from firstlight.plan.cluster_facts import ClusterFacts

Steps = tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class _Replaced:
    """Old fields, the documents that refuse them, and what to write instead."""

    kinds: tuple[str, ...]
    fields: tuple[Steps, ...]
    instead: str
    only_with: Steps = ()
    """The field of the document without which it does not refuse them."""


def _path(text: str) -> Steps:
    return tuple(text.split("."))


def _replaced(kinds: str, fields: str, instead: str, only_with: str = "") -> _Replaced:
    steps = _path(only_with) if only_with else ()
    return _Replaced(tuple(kinds.split()), tuple(_path(each) for each in fields.split()), instead, steps)


_TABLE = (
    _replaced(
        "KubeNetworkConfig KubeFlannelCNIConfig",
        "cluster.network",
        "Say podSubnets, serviceSubnets and dnsDomain in KubeNetworkConfig. For no CNI of Talos's, delete "
        "KubeFlannelCNIConfig; URLs of a custom one go to KubeExternalManifestConfig.",
    ),
    _replaced("KubeProxyConfig", "cluster.proxy", "Say it in KubeProxyConfig; enabled: false turns kube-proxy off."),
    _replaced("KubeCoreDNSConfig", "cluster.coreDNS", "Say it in KubeCoreDNSConfig; enabled: false turns it off."),
    _replaced(
        "KubeletConfig KubeCredentialProviderConfig",
        "machine.kubelet",
        "Say image, extraArgs, clusterDNS and config in KubeletConfig, nodeIP in KubeNodeConfig; extraMounts have no "
        "successor, so that a config which needs them keeps machine.kubelet and has no KubeletConfig.",
    ),
    _replaced("KubePrismConfig", "machine.features.kubePrism", "Say the port in KubePrismConfig."),
    _replaced(
        "KubeAPIServerConfig",
        "cluster.apiServer cluster.controlPlane.localAPIServerPort",
        "Say it in KubeAPIServerConfig; admission, audit and authorization have documents of their own.",
    ),
    _replaced(
        "KubeControllerManagerConfig",
        "cluster.controllerManager machine.controlPlane.controllerManager",
        "Say it in KubeControllerManagerConfig.",
    ),
    _replaced(
        "KubeSchedulerConfig",
        "cluster.scheduler machine.controlPlane.scheduler",
        "Say it in KubeSchedulerConfig.",
    ),
    _replaced(
        "KubeClusterConfig",
        "cluster.clusterName cluster.controlPlane.endpoint",
        "Say clusterName and endpoint in KubeClusterConfig alone.",
    ),
    _replaced("KubeAPIServerCAConfig", "cluster.ca cluster.acceptedCAs", "Keep KubeAPIServerCAConfig alone."),
    _replaced("KubeAggregatorCAConfig", "cluster.aggregatorCA", "Keep KubeAggregatorCAConfig alone."),
    _replaced("KubeServiceAccountConfig", "cluster.serviceAccount", "Keep KubeServiceAccountConfig alone."),
    _replaced(
        "KubeEtcdEncryptionConfig",
        "cluster.secretboxEncryptionSecret cluster.aescbcEncryptionSecret",
        "Keep one of them, with the same key: Secrets in etcd can be read with no other.",
    ),
    _replaced(
        "KubeAdmissionControlConfig",
        "cluster.apiServer.admissionControl",
        "Say each plugin in a KubeAdmissionControlConfig of its own.",
    ),
    _replaced("KubeAuditPolicyConfig", "cluster.apiServer.auditPolicy", "Say it in KubeAuditPolicyConfig."),
    _replaced("KubeAuthorizerConfig", "cluster.apiServer.authorizationConfig", "Say it in KubeAuthorizerConfig."),
    _replaced(
        "KubeTalosAPIAccessConfig",
        "machine.features.kubernetesTalosAPIAccess",
        "Say it in KubeTalosAPIAccessConfig.",
    ),
    _replaced(
        "UnattendedInstallConfig",
        "machine.install",
        "Say the image in installer.image and the disk in provisioning.diskSelector.match, and write "
        "provisioning.wipe: false, since it is true by default.",
    ),
    _replaced("DiscoveryServiceConfig", "cluster.discovery", "Say it in DiscoveryServiceConfig."),
    _replaced("DiscoveryIdentityConfig", "cluster.id cluster.secret", "Keep DiscoveryIdentityConfig alone."),
    _replaced(
        "HostnameConfig",
        "machine.network.hostname machine.features.stableHostname",
        "Say the name in HostnameConfig.",
    ),
    _replaced(
        "ResolverConfig",
        "machine.network.nameservers machine.network.searchDomains machine.network.disableSearchDomain",
        "Say it in ResolverConfig.",
    ),
    _replaced("ResolverConfig", "machine.features.hostDNS", "Say hostDNS in ResolverConfig.", only_with="hostDNS"),
    _replaced(
        "KubeNodeConfig",
        "cluster.allowSchedulingOnControlPlanes cluster.allowSchedulingOnMasters machine.nodeLabels "
        "machine.nodeAnnotations machine.nodeTaints machine.kubelet.nodeIP machine.kubelet.registerWithFQDN "
        "machine.kubelet.skipNodeRegistration",
        "Say labels, annotations, taints and nodeIP in KubeNodeConfig. Control planes take workloads where taints "
        "leaves node-role.kubernetes.io/control-plane out.",
    ),
)


_NOT_GENERATED = frozenset(
    {
        "KubeCredentialProviderConfig", "KubeTalosAPIAccessConfig", "KubeCoreDNSConfig", "KubeAuthorizerConfig",
        "HostnameConfig",
    }
)  # fmt: skip
"""Documents that stand for fields which a config generated for Talos 1.13 does not have."""
_NEVER_GENERATED = frozenset({"KubeCredentialProviderConfig", "KubeTalosAPIAccessConfig"})
"""Documents that no generated config has."""


def problems(known: ClusterFacts) -> Iterator[Diagnostic]:
    """Old fields beside the documents that replace them, on the same machines."""
    yield from _written(known.cluster)
    if known.cluster.base is ConfigBase.GENERATED:
        yield from _beside_generated(known.cluster)


def _beside_generated(cluster: Cluster) -> Iterator[Diagnostic]:
    """Patches in another form than the one in which their configs are generated."""
    contract = versions.minor(cluster.talos_contract)
    talos = versions.minor(cluster.talos)
    is_new = (contract or talos or (0, 0)) >= talos_documents.FIRST
    is_old = contract is not None and not is_new
    for row in _TABLE:
        for part in cluster.parts:
            field = next((each for each in row.fields if not part.kind and part.config.get(*each) is not None), None)
            if is_new and field is not None and not _NEVER_GENERATED.issuperset(row.kinds):
                yield _beside_document(cluster, row, part, field, is_sure=contract is not None)
                break
            if is_old and part.kind in row.kinds and part.kind not in _NOT_GENERATED and _counts(part, row):
                yield _beside_field(cluster, row, part)
                break


def _beside_document(
    cluster: Cluster, row: _Replaced, part: MachinePart, field: Steps, *, is_sure: bool
) -> Diagnostic:  # fmt: skip
    name, place = ".".join(field), part.config.place(*field)
    version = cluster.talos_contract or cluster.talos
    doubt = "machines that were configured for an earlier version keep that form"
    stay = "" if is_sure else f" Or keep the old form: clusters.{cluster.name}.talosContract: v1.13."
    return Diagnostic(
        code="talos-fields-replaced",
        severity=Severity.ERROR if is_sure else Severity.WARNING,
        basis=fact.READ if is_sure else Basis(Standing.READ, Confidence.LIKELY, doubt),
        message=f"{name} is refused in a config generated for Talos {version}, which has {row.kinds[0]} instead",
        places=(place,),
        evidence=(Evidence(f"has {name}", place, where=cluster.name),),
        fix=f"Take {name} away. {row.instead}{stay}",
    )


def _beside_field(cluster: Cluster, row: _Replaced, part: MachinePart) -> Diagnostic:
    name, place = ".".join(row.fields[0]), part.config.place()
    return Diagnostic(
        code="talos-fields-replaced",
        severity=Severity.ERROR,
        message=f"{part.kind} is refused in a config generated for Talos {cluster.talos_contract}, which has {name}",
        places=(place,),
        evidence=(Evidence(f"has {part.kind}", place, where=cluster.name),),
        fix=f"Write it as {name}.",
    )


def _written(cluster: Cluster) -> Iterator[Diagnostic]:
    """Both forms in the files."""
    documents: dict[str, list[MachinePart]] = {}
    for part in cluster.parts:
        if part.kind:
            documents.setdefault(part.kind, []).append(part)
    for row in _TABLE:
        mine = [part for kind in row.kinds for part in documents.get(kind, ()) if _counts(part, row)]
        for part in cluster.parts if mine else ():
            field = next((each for each in row.fields if not part.kind and part.config.get(*each) is not None), None)
            other = next((each for each in mine if _meet(part, each, cluster)), None) if field else None
            if field is not None and other is not None:
                yield _conflict(cluster, row, part, field, other)
                break


def _counts(part: MachinePart, row: _Replaced) -> bool:
    """Whether a document is there in the end, and refuses the fields."""
    is_deleted = isinstance(part.config.value, dict) and part.config.value.get("$patch") == "delete"
    return not is_deleted and (not row.only_with or part.config.get(*row.only_with) is not None)


def _meet(one: MachinePart, other: MachinePart, cluster: Cluster) -> bool:
    """Whether both come to one machine: two whole configs of different files are alternatives."""
    if one.role and other.role and one.role is not other.role:
        return False
    if one.machine and other.machine and one.machine != other.machine:
        return False
    first, second = one.config.place().path, other.config.place().path
    return first == second or not {first, second} <= _whole(cluster)


def _whole(cluster: Cluster) -> set[str]:
    parts = (each for each in cluster.parts if not each.kind)
    return {each.config.place().path for each in parts if each.config.get("machine", "type")}


def _conflict(cluster: Cluster, row: _Replaced, part: MachinePart, field: Steps, other: MachinePart) -> Diagnostic:
    name, place = ".".join(field), part.config.place(*field)
    is_conditional = part.config.is_conditional(*field) or other.config.is_conditional()
    why = "a template has one of them only under a condition"
    return Diagnostic(
        code="talos-fields-replaced",
        severity=Severity.ERROR,
        basis=Basis(Standing.READ, Confidence.LIKELY, why) if is_conditional else fact.READ,
        message=f"{name} stands beside the document {other.kind}, which replaces it: Talos refuses the config",
        places=(place, other.config.place()),
        evidence=(
            Evidence(f"has {name}", place, where=cluster.name),
            Evidence(f"has {other.kind}", other.config.place(), where=cluster.name),
        ),
        fix=f"Take {name} away. {row.instead}",
    )
