"""The kinds that a cluster serves by its CRDs and by itself, and the CRDs among what is rendered.

Each CRD is told once, with those who bring it, and where they do not agree.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from firstlight import errors
from firstlight.model import versions
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition, VersionPin
from firstlight.render import cache_files, rendered_objects
from firstlight.render.chart_packages import FetchKind, FetchRequest
from firstlight.render.chart_store import ChartStore
from firstlight.repo.work_tree import WorkTree


@dataclasses.dataclass(frozen=True)
class ServedKinds:
    """Kinds that CRDs define."""

    api_versions: tuple[str, ...] = ()
    """``monitoring.coreos.com/v1`` and ``monitoring.coreos.com/v1/ServiceMonitor``, sorted."""
    scopes: Mapping[tuple[str, str], bool] = dataclasses.field(default_factory=dict)
    """Whether a kind is in a namespace, by group and kind."""
    missing: tuple[str, ...] = ()
    """Components that could not be rendered, so that their kinds are not known."""


def served_by(objects: Iterable[Object], *, missing: Iterable[str] = ()) -> ServedKinds:
    """What the CRDs among objects define."""
    versions: set[str] = set()
    scopes: dict[tuple[str, str], bool] = {}
    for each in objects:
        if not each.is_crd:
            continue
        spec = _mapping(each.value.get("spec"))
        group, kind = str(spec.get("group") or ""), str(_mapping(spec.get("names")).get("kind") or "")
        scopes[group, kind] = spec.get("scope") != "Cluster"
        listed = spec.get("versions")
        for version in listed if isinstance(listed, list) else ():
            if _mapping(version).get("served") is not False and (name := _mapping(version).get("name")):
                versions |= {f"{group}/{name}", f"{group}/{name}/{kind}"}
    return ServedKinds(tuple(sorted(versions)), scopes, tuple(sorted(missing)))


def is_namespaced(id: ObjectId, served: ServedKinds) -> bool | None:
    """Whether a kind is in a namespace; None where nothing tells."""
    known = builtin_scopes().get((id.group, id.kind))
    return known if known is not None else served.scopes.get((id.group, id.kind))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# The kinds of Kubernetes itself: which of them are in a namespace, and since when they are served.


_KINDS = {
    "v1": (
        "Binding ComponentStatus* ConfigMap Endpoints Event LimitRange Namespace* Node* PersistentVolume*"
        " PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount"
    ),
    "admissionregistration.k8s.io/v1": (
        "MutatingAdmissionPolicy*@1.36 MutatingAdmissionPolicyBinding*@1.36 MutatingWebhookConfiguration*"
        " ValidatingAdmissionPolicy*@1.30 ValidatingAdmissionPolicyBinding*@1.30 ValidatingWebhookConfiguration*"
    ),
    "apiextensions.k8s.io/v1": "CustomResourceDefinition*",
    "apiregistration.k8s.io/v1": "APIService*",
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "authentication.k8s.io/v1": "SelfSubjectReview*@1.28 TokenReview*",
    "authorization.k8s.io/v1": (
        "LocalSubjectAccessReview SelfSubjectAccessReview* SelfSubjectRulesReview* SubjectAccessReview*"
    ),
    "autoscaling/v1": "HorizontalPodAutoscaler",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "batch/v1": "CronJob Job",
    "certificates.k8s.io/v1": "CertificateSigningRequest* ClusterTrustBundle*@1.37 PodCertificateRequest@1.37",
    "coordination.k8s.io/v1": "Lease",
    "discovery.k8s.io/v1": "EndpointSlice",
    "events.k8s.io/v1": "Event",
    "flowcontrol.apiserver.k8s.io/v1": "FlowSchema*@1.29 PriorityLevelConfiguration*@1.29",
    "networking.k8s.io/v1": "IPAddress*@1.33 Ingress IngressClass* NetworkPolicy ServiceCIDR*@1.33",
    "node.k8s.io/v1": "RuntimeClass*",
    "policy/v1": "PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1": "ClusterRole* ClusterRoleBinding* Role RoleBinding",
    "resource.k8s.io/v1": (
        "DeviceClass*@1.34 DeviceTaintRule*@1.37 ResourceClaim@1.34 ResourceClaimTemplate@1.34 ResourceSlice*@1.34"
    ),
    "scheduling.k8s.io/v1": "PriorityClass*",
    "storage.k8s.io/v1": (
        "CSIDriver* CSINode* CSIStorageCapacity StorageClass* VolumeAttachment* VolumeAttributesClass*@1.34"
    ),
    "storagemigration.k8s.io/v1": "StorageVersionMigration*@1.37",
}
"""What the API server of 1.37 serves by itself; a star is for those in no namespace, a version for when they came."""

_OTHERS = {
    ("extensions", "Ingress"): True,
    ("policy", "PodSecurityPolicy"): False,
}
"""Kinds that only older or newer ones serve, or only where a feature is turned on."""

_ENTRY = re.compile(r"(?P<kind>\w+)(?P<star>\*?)(?:@1\.(?P<since>\d+))?")


@cache
def builtin_scopes() -> dict[tuple[str, str], bool]:
    """Whether a kind is in a namespace, by group and kind."""
    found = dict(_OTHERS)
    for version, kinds in _KINDS.items():
        group = version.rpartition("/")[0]
        for match in _ENTRY.finditer(kinds):
            found[group, match["kind"]] = not match["star"]
    return found


@cache
def builtin_api_versions(kubernetes: str) -> tuple[str, ...]:
    """What templates find in a cluster of a version, with kinds: ``apps/v1/Deployment``.

    ``helm template`` knows the versions of groups by itself, but not the kinds in them.
    """
    line = versions.minor(kubernetes)
    minor = line[1] if line is not None and line[0] == 1 else 1000
    return tuple(
        f"{version}/{entry['kind']}"
        for version, kinds in _KINDS.items()
        for entry in _ENTRY.finditer(kinds)
        if int(entry["since"] or 0) <= minor
    )


# What is known of a cluster before anything runs in it.


@dataclasses.dataclass(frozen=True)
class TemplateFacts:
    """What templates may ask for."""

    cluster: str = ""
    kube_version: str = ""
    """Empty for whatever Helm takes by itself."""


def facts_of(cluster: Cluster | None) -> TemplateFacts:
    """The facts of a cluster; a version that is no version, such as a template, is none."""
    if cluster is None:
        return TemplateFacts()
    return TemplateFacts(cluster.name, cluster.kubernetes if versions.is_kubernetes(cluster.kubernetes) else "")


@dataclasses.dataclass(frozen=True)
class Crd:
    """A kind that somebody defines in a cluster."""

    object: Object
    cluster: str
    components: tuple[str, ...]
    """All that bring it; the first one's is ``object``."""

    @property
    def name(self) -> str:
        """Such as ``certificates.cert-manager.io``."""
        return self.object.id.name


@dataclasses.dataclass(frozen=True)
class Crds:
    """The kinds that are defined, sorted by cluster and name."""

    each: tuple[Crd, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def extract(renditions: Iterable[Rendition], *, platform: Platform | None = None) -> Crds:
    """The CRDs of renditions; of those that several bring the first is taken.

    Args:
        renditions: In the order in which they count.
        platform: Where components are declared, for diagnostics.
    """
    found: dict[tuple[str, str], Crd] = {}
    diagnostics: list[Diagnostic] = []
    for rendition in renditions:
        for obj in rendition.objects:
            if not obj.is_crd:
                continue
            key = (rendition.cluster, obj.id.name)
            first = found.get(key)
            if first is None:
                found[key] = Crd(obj, rendition.cluster, (rendition.component,))
            elif rendition.component not in first.components:
                found[key] = dataclasses.replace(first, components=(*first.components, rendition.component))
                if _spec(first.object) != _spec(obj):
                    diagnostics.append(_conflict(first, obj, rendition, platform))
    return Crds(tuple(found[key] for key in sorted(found)), tuple(dict.fromkeys(diagnostics)))


async def from_source(
    source: str, *, store: ChartStore, tree: WorkTree, digest: str = ""
) -> tuple[tuple[Object, ...], VersionPin, tuple[Diagnostic, ...]]:
    """The CRDs of a file of the repo or of the web, for those that no chart brings, such as the Gateway API's.

    Args:
        source: A path in the repo, or a URL.
        store: Fetches URLs.
        tree: The repo.
        digest: ``sha256:…``, which the file must have if it is given.

    Raises:
        errors.FirstlightError: It cannot be had, or is another one.
    """
    if source.startswith(("https://", "http://")):
        stored = await store.get(FetchRequest(kind=FetchKind.FILE, url=source, digest=digest))
        content, pin = await store.content(stored), stored.pin
    else:
        found = tree.bytes(source) if tree.is_file(source) else None
        if found is None:
            raise errors.UsageError(f"there is no file {source} in the repo")
        content, pin = found, VersionPin(source=source, version="", digest=f"sha256:{cache_files.bytes_digest(found)}")
        if digest not in ("", pin.digest):
            raise errors.Refused(f"{source} is {pin.digest}, and {digest} was asked for")
    objects, diagnostics = rendered_objects.parse_objects(
        content.decode("utf-8-sig", errors="replace"), Place(source), what=source
    )
    return tuple(each for each in objects if each.is_crd), pin, tuple(diagnostics)


def served_versions(obj: Object) -> tuple[str, ...]:
    """The versions that a CRD serves."""
    listed = _spec(obj).get("versions")
    return tuple(
        str(each.get("name"))
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, Mapping) and each.get("served") is not False
    )


def _conflict(first: Crd, other: Object, rendition: Rendition, platform: Platform | None) -> Diagnostic:
    mine, theirs = served_versions(first.object), served_versions(other)
    one, two = first.components[0], rendition.component
    if mine != theirs:
        what = f"{', '.join(mine) or 'nothing'} by {one} and {', '.join(theirs) or 'nothing'} by {two}"
        message = f"the CRD {first.name} comes twice, and serves {what}"
    else:
        message = f"the CRD {first.name} comes from {one} and from {two}, with other fields in the same versions"
    hint = f"leave it to one of them; {one} has it for now"
    return Diagnostic.warning("crd-twice", message, at=_place(rendition, platform), fix=hint)


def _place(rendition: Rendition, platform: Platform | None) -> Place:
    for component in platform.components_of(rendition.cluster) if platform else ():
        if component.name == rendition.component:
            return component.origins[0].place
    return Place(rendition.component)


def _spec(obj: Object) -> Mapping[str, Any]:
    """What counts of a CRD: two that only differ in labels are the same."""
    spec = obj.value.get("spec")
    return spec if isinstance(spec, Mapping) else {}
