"""The groups of v1alpha1 fields that have become documents in Talos 1.14, and what each becomes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.model import talos_documents, talos_names, versions
from firstlight.render.machines.document_form import CannotMove, Document, Fields, Group, deletion, document

PODS, SERVICES, DOMAIN = "10.244.0.0/16", "10.96.0.0/12", "cluster.local"
"""What Talos takes where a whole config with ``cluster.network`` does not say it."""
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
PRISM_PORT = 7445
_GLOBS = {key: key for key in ("uuid", "wwid", "model", "serial", "modalias")} | {"busPath": "bus_path"}
"""Keys of a ``diskSelector`` that are patterns, and the fields of a disk that they mean."""
_TYPES = {
    "nvme": 'disk.transport == "nvme"', "sd": 'disk.transport == "mmc"', "hdd": "disk.rotational",
    "ssd": "!disk.rotational",
}  # fmt: skip
_REFUSED_ARGUMENT = re.compile(r"oidc-|anonymous-auth|authentication-config|authorization-")
_SIZE = re.compile(r"\s*(?P<op>[<>=]=?)?\s*(?P<number>\d+)\s*(?P<unit>[KMGT]i?)?B?\s*", re.IGNORECASE)
_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40, "": 1}


def _network(fields: Fields) -> Iterator[Document]:
    if fields.get("cluster", "network") is None:
        return
    cni = fields.get("cluster", "network", "cni")
    said = {key: fields.take("cluster", "network", key) for key in ("dnsDomain", "podSubnets", "serviceSubnets")}
    if fields.is_whole:
        said = {
            "dnsDomain": said["dnsDomain"] or DOMAIN,
            "podSubnets": said["podSubnets"] or [PODS],
            "serviceSubnets": said["serviceSubnets"] or [SERVICES],
        }
    if any(each is not None for each in said.values()):
        yield document("KubeNetworkConfig", **said)
    if cni is not None or fields.is_whole:
        yield from _cni(fields)
    fields.require_empty("cluster", "network")


def _cni(fields: Fields) -> Iterator[Document]:
    name = str(fields.take("cluster", "network", "cni", "name") or "flannel")
    urls = fields.take("cluster", "network", "cni", "urls") or []
    flannel = fields.take("cluster", "network", "cni", "flannel")
    fields.require_empty("cluster", "network", "cni")
    if name == "custom":
        fields.require_plane("cluster.network.cni", talos_documents.EXTERNAL)
        yield from (_external(url, {}, n) for n, url in enumerate(urls, 1))
    if fields.role is not None and not fields.is_plane:
        return  # only control planes bring a CNI, and only they know the document
    fields.require_plane("cluster.network.cni", "KubeFlannelCNIConfig")
    if name == "flannel" and flannel:
        raise CannotMove("cluster.network.cni.flannel", "its settings are written otherwise; move them by hand")
    if name == "flannel":
        yield document("KubeFlannelCNIConfig", backendType="vxlan", backendPort=4789)
    elif not fields.is_whole:
        yield deletion("KubeFlannelCNIConfig")


def _proxy(fields: Fields) -> Iterator[Document]:
    if fields.get("cluster", "proxy") is None:
        return
    fields.require_plane("cluster.proxy", "KubeProxyConfig")
    if fields.take("cluster", "proxy", "disabled") is not True:
        raise CannotMove("cluster.proxy", "by document kube-proxy gets a ConfigMap, and its pods are replaced")
    for key in ("image", "mode", "extraArgs"):
        fields.take("cluster", "proxy", key)
    fields.require_empty("cluster", "proxy")
    yield document("KubeProxyConfig", enabled=False)


def _core_dns(fields: Fields) -> Iterator[Document]:
    if fields.get("cluster", "coreDNS") is None:
        return
    fields.require_plane("cluster.coreDNS", "KubeCoreDNSConfig")
    disabled = fields.take("cluster", "coreDNS", "disabled")
    image = fields.take("cluster", "coreDNS", "image")
    fields.require_empty("cluster", "coreDNS")
    yield document("KubeCoreDNSConfig", enabled=None if disabled is None else not disabled, image=image)


def _node(fields: Fields) -> Iterator[Document]:
    labels = fields.take("machine", "nodeLabels")
    taints = fields.take("machine", "nodeTaints")
    said: dict[str, Any] = {
        "labels": labels,
        "annotations": fields.take("machine", "nodeAnnotations"),
        "nodeIP": fields.take("machine", "kubelet", "nodeIP"),
        "registerWithFQDN": fields.take("machine", "kubelet", "registerWithFQDN"),
        "skipNodeRegistration": fields.take("machine", "kubelet", "skipNodeRegistration"),
        "taints": taints,
    }
    schedules = [
        fields.take("cluster", key) for key in ("allowSchedulingOnControlPlanes", "allowSchedulingOnMasters")
    ]  # fmt: skip
    is_said = any(each is not None for each in (*said.values(), *schedules))
    if not is_said and not (fields.is_patched and fields.is_whole):
        return
    if fields.role is None and (fields.is_whole or any(each is not None for each in schedules)):
        raise CannotMove("cluster.allowSchedulingOnControlPlanes", "it is for control planes; move it to their patch")
    if fields.is_plane and fields.is_whole:
        said["labels"] = {CONTROL_PLANE: "", **(labels or {})}
        if True not in schedules:
            said["taints"] = {CONTROL_PLANE: "NoSchedule", **(taints or {})}
    elif fields.is_plane and True in schedules:
        said["taints"] = {CONTROL_PLANE: {"$patch": "delete"}, **(taints or {})}
    if fields.is_whole and said["nodeIP"] is None:
        said["nodeIP"] = {}
    if any(each is not None for each in said.values()):
        yield document("KubeNodeConfig", **said)


def _kubelet(fields: Fields) -> Iterator[Document]:
    if fields.get("machine", "kubelet") is None:
        return
    # By document it is always disabled, and that is the default of generated configs.
    if fields.get("machine", "kubelet", "disableManifestsDirectory") is True:
        fields.take("machine", "kubelet", "disableManifestsDirectory")
    elif fields.is_whole:
        raise CannotMove("machine.kubelet", "by document disableManifestsDirectory is always true, and here it is not")
    made = document(
        "KubeletConfig",
        image=fields.take("machine", "kubelet", "image"),
        config=fields.take("machine", "kubelet", "extraConfig"),
        extraArgs=fields.take("machine", "kubelet", "extraArgs"),
        clusterDNS=fields.take("machine", "kubelet", "clusterDNS"),
        defaultRuntimeSeccompProfileEnabled=fields.take("machine", "kubelet", "defaultRuntimeSeccompProfileEnabled"),
    )
    credentials = fields.take("machine", "kubelet", "credentialProviderConfig")
    fields.require_empty("machine", "kubelet")
    fields.require(made, "image", "machine.kubelet.image")
    if fields.is_whole:
        made.setdefault("config", {})
    yield made
    if credentials is not None:
        yield document("KubeCredentialProviderConfig", configuration=credentials)


def _prism(fields: Fields) -> Iterator[Document]:
    prism = fields.take("machine", "features", "kubePrism")
    if prism is None:
        return
    if prism.get("enabled") is True:
        yield document("KubePrismConfig", port=prism.get("port") or PRISM_PORT)
    elif prism.get("enabled") is None:
        raise CannotMove("machine.features.kubePrism", "it does not say whether it is enabled")
    elif not fields.is_whole:
        yield deletion("KubePrismConfig")


def _resolver(fields: Fields) -> Iterator[Document]:
    servers = fields.take("machine", "network", "nameservers")
    domains = fields.take("machine", "network", "searchDomains")
    no_default = fields.take("machine", "network", "disableSearchDomain")
    host = fields.take("machine", "features", "hostDNS")
    search = {"domains": domains, "disableDefault": no_default}
    search = {key: each for key, each in search.items() if each is not None}
    if servers is None and host is None and not search:
        return
    yield document(
        "ResolverConfig",
        nameservers=[{"address": each} for each in servers] if servers is not None else None,
        searchDomains=search or None,
        hostDNS=host,
    )


def _cluster(fields: Fields) -> Iterator[Document]:
    name = fields.take("cluster", "clusterName")
    endpoint = fields.take("cluster", "controlPlane", "endpoint")
    if name is not None or endpoint is not None:
        yield document("KubeClusterConfig", clusterName=name, endpoint=endpoint)


def _api_server(fields: Fields) -> Iterator[Document]:
    port = fields.take("cluster", "controlPlane", "localAPIServerPort")
    if fields.get("cluster", "apiServer") is None and port is None:
        return
    fields.require_plane("cluster.apiServer", "KubeAPIServerConfig")
    arguments = fields.take("cluster", "apiServer", "extraArgs")
    for name in arguments or {}:
        if _REFUSED_ARGUMENT.match(name):
            raise CannotMove(f"cluster.apiServer.extraArgs.{name}", "Talos refuses it in KubeAPIServerConfig")
    made = document("KubeAPIServerConfig", apiPort=port, extraArgs=arguments)
    for old, new in (("image", "image"), ("env", "env"), ("resources", "resources"), ("certSANs", "certExtraSANs")):
        if (found := fields.take("cluster", "apiServer", old)) is not None:
            made[new] = found
    plugins = fields.take("cluster", "apiServer", "admissionControl") or []
    policy = fields.take("cluster", "apiServer", "auditPolicy")
    fields.require_empty("cluster", "apiServer")
    if len(made) > len(document("KubeAPIServerConfig")):
        yield made
    for each in plugins:
        yield document("KubeAdmissionControlConfig", str(each.get("name")), configuration=each.get("configuration"))
    if policy is not None:
        yield document("KubeAuditPolicyConfig", configuration=policy)


def _controller_manager(fields: Fields) -> Iterator[Document]:
    yield from _pod(fields, "controllerManager", "KubeControllerManagerConfig")


def _scheduler(fields: Fields) -> Iterator[Document]:
    yield from _pod(fields, "scheduler", "KubeSchedulerConfig")


def _pod(fields: Fields, key: str, kind: str) -> Iterator[Document]:
    disabled = fields.take("machine", "controlPlane", key, "disabled")
    if fields.get("cluster", key) is None and disabled is None:
        return
    fields.require_plane(f"cluster.{key}", kind)
    made = document(kind, enabled=None if disabled is None else not disabled)
    for name in ("image", "extraArgs", "env", "resources", *(("config",) if key == "scheduler" else ())):
        if (found := fields.take("cluster", key, name)) is not None:
            made[name] = found
    fields.require_empty("cluster", key)
    fields.require_empty("machine", "controlPlane", key)
    fields.require(made, "image", f"cluster.{key}.image")
    if fields.is_whole and key == "scheduler":
        made.setdefault("config", {})
    yield made


def _discovery(fields: Fields) -> Iterator[Document]:
    discovery = fields.take("cluster", "discovery")
    if discovery is None:
        return
    service = _mapping(_mapping(discovery.get("registries")).get("service"))
    kubernetes = _mapping(_mapping(discovery.get("registries")).get("kubernetes"))
    if discovery.get("enabled") is True and kubernetes.get("disabled") is not True:
        raise CannotMove("cluster.discovery.registries.kubernetes", "has no successor; disable it first")
    if discovery.get("enabled") is True and service.get("disabled") is not True:
        yield document(
            "DiscoveryServiceConfig", "default", endpoint=service.get("endpoint") or talos_names.DISCOVERY_ENDPOINT
        )
    elif not fields.is_whole:
        raise CannotMove("cluster.discovery", "a patch that turns it off must name the DiscoveryServiceConfig")


def _manifests(fields: Fields) -> Iterator[Document]:
    inline = fields.take("cluster", "inlineManifests") or []
    urls = fields.take("cluster", "extraManifests") or []
    headers = fields.take("cluster", "extraManifestHeaders") or {}
    for each in inline:
        name, contents = str(each.get("name") or ""), each.get("contents")
        if not talos_documents.is_name(name):
            raise CannotMove("cluster.inlineManifests", f"{name!r} cannot be the name of a document")
        if not isinstance(contents, str):
            raise CannotMove("cluster.inlineManifests", f"{name} has no contents")
        yield document(talos_documents.INLINE, name, manifest=contents)
    yield from (_external(url, headers, n) for n, url in enumerate(urls, 1))


def _external(url: str, headers: Mapping[str, str], number: int) -> Document:
    """A manifest by URL; its name says where it comes from, and its number keeps two of one place apart."""
    path = versions.without_versions(url).partition("://")[2]
    words = re.sub(r"[^a-z0-9]+", "-", path.lower().removesuffix(".yaml").removesuffix(".yml")).strip("-")
    name = f"{number:02}-{words[-100:].strip('-')}"
    return document(talos_documents.EXTERNAL, name, url=url, headers=dict(headers) or None)


def _install(fields: Fields) -> Iterator[Document]:
    if fields.get("machine", "install") is None:
        return
    image = fields.take("machine", "install", "image")
    wipe = fields.take("machine", "install", "wipe")
    disk = fields.take("machine", "install", "disk")
    selector = fields.take("machine", "install", "diskSelector")
    fields.require_empty("machine", "install")
    match = _selected(selector) if selector else f"disk.dev_path == {_quoted(disk)}" if disk else None
    if fields.is_whole and match is None:
        raise CannotMove("machine.install", "it names no disk")
    provisioning: dict[str, Any] = {"diskSelector": {"match": match}} if match is not None else {}
    if fields.is_whole or wipe is not None:
        provisioning["wipe"] = wipe is True  # the document wipes where it does not say so
    yield document(
        "UnattendedInstallConfig", installer={"image": image} if image else None, provisioning=provisioning or None
    )


def _selected(selector: Mapping[str, Any]) -> str:
    """The expression that Talos itself makes of a ``diskSelector``."""
    found = []
    for key, value in selector.items():
        if key == "size" and (match := _SIZE.fullmatch(str(value))):
            size = int(match["number"]) * _UNITS[(match["unit"] or "").lower()]
            op = match["op"] or "=="
            found.append(f"disk.size {'==' if op == '=' else op} {size}u")
        elif key in _GLOBS:
            found.append(f"glob({_quoted(value)}, disk.{_GLOBS[key]})")
        elif key == "type" and value in _TYPES:
            found.append(_TYPES[value])
        else:
            raise CannotMove(f"machine.install.diskSelector.{key}", "has no expression that is known to mean the same")
    return " && ".join([*found, 'disk.transport != ""', "!disk.readonly", "!disk.cdrom"])


def _kernel(fields: Fields) -> Iterator[Document]:
    for key, kind in (("sysctls", "SysctlConfig"), ("sysfs", "SysfsConfig")):
        if found := fields.take("machine", key):
            yield document(kind, params={name: str(value) for name, value in found.items()})
    for each in fields.take("machine", "kernel", "modules") or []:
        yield document("KernelModuleConfig", each["name"], parameters=each.get("parameters"))
    if rules := fields.take("machine", "udev", "rules"):
        yield document("UdevRulesConfig", rules=rules)


def _pods(fields: Fields) -> Iterator[Document]:
    for each in fields.take("machine", "pods") or []:
        name = str(_mapping(each.get("metadata")).get("name") or "")
        if not talos_documents.is_name(name):
            raise CannotMove("machine.pods", "a pod has no name that a document can have")
        yield document("KubeStaticPodConfig", name, pod=each)


def _api_access(fields: Fields) -> Iterator[Document]:
    access = fields.take("machine", "features", "kubernetesTalosAPIAccess")
    if access is None:
        return
    fields.require_plane("machine.features.kubernetesTalosAPIAccess", "KubeTalosAPIAccessConfig")
    if access.get("enabled") is True:
        rest = {key: access.get(key) for key in ("allowedRoles", "allowedKubernetesNamespaces")}
        yield document("KubeTalosAPIAccessConfig", **rest)
    elif not fields.is_whole:
        yield deletion("KubeTalosAPIAccessConfig")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _quoted(value: Any) -> str:
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


GROUPS: Mapping[str, Group] = {
    "cluster": _cluster,
    "API server": _api_server,
    "network": _network,
    "kube-proxy": _proxy,
    "CoreDNS": _core_dns,
    "node": _node,
    "kubelet": _kubelet,
    "KubePrism": _prism,
    "resolver": _resolver,
    "controller manager": _controller_manager,
    "scheduler": _scheduler,
    "discovery": _discovery,
    "manifests": _manifests,
    "install": _install,
    "kernel": _kernel,
    "static pods": _pods,
    "Talos API access": _api_access,
}
"""In this order: the node's fields leave the kubelet before the kubelet's own are looked at."""
