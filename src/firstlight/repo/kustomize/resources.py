"""Why a part of a kustomization cannot be done."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.repo.manifest import Manifest


class KustomizationError(Exception):
    """Something that kustomize would refuse, or that only kustomize itself can tell; it becomes a diagnostic."""

    def __init__(
        self, code: str, message: str, *, severity: Severity = Severity.ERROR, fix: str = "", missing: str = ""
    ) -> None:
        """Make an error.

        Args:
            code: The code of the diagnostic.
            message: What is wrong.
            severity: How bad it is.
            fix: What to write instead.
            missing: The path that is named and does not exist, if that is what is wrong.
        """
        super().__init__(message)
        self._code, self._message, self._severity, self._fix = code, message, severity, fix
        self.missing = (missing,) if missing else ()
        """Paths that are named and do not exist."""

    @classmethod
    def unknown(cls, code: str, message: str) -> "KustomizationError":
        """Return an error for what is left out, since reading alone cannot tell what it does."""
        return cls(code, message, severity=Severity.UNKNOWN)

    def together(self, others: Iterable["KustomizationError"]) -> "KustomizationError":
        """Return one error for this and other paths that do not exist."""
        found = KustomizationError(self._code, self._message, severity=self._severity, fix=self._fix)
        found.missing = (*self.missing, *(path for each in others for path in each.missing))
        return found

    def at(self, place: Place) -> Diagnostic:
        """Return the diagnostic of this error."""
        message = place.describe_missing(*self.missing) if self.missing else self._message
        return Diagnostic(code=self._code, severity=self._severity, message=message, places=(place,), fix=self._fix)


# An object on its way through a build, with all the names that it had.


NOT_NAMESPACED = "_non_namespaceable_"

_KINDS = {
    "": "ComponentStatus Namespace Node NodeProxyOptions PersistentVolume",
    "admissionregistration.k8s.io": "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "apiregistration.k8s.io": "APIService",
    "certificates.k8s.io": "CertificateSigningRequest",
    "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
    "networking.k8s.io": "IngressClass",
    "node.k8s.io": "RuntimeClass",
    "policy": "PodSecurityPolicy",
    "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
    "scheduling.k8s.io": "PriorityClass",
    "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment",
}
_VERSIONS = {"": ("v1",), "flowcontrol.apiserver.k8s.io": ("v1beta1",), "policy": ("v1beta1",)}
_CLUSTER_SCOPED = frozenset(
    (group, version, kind)
    for group, kinds in _KINDS.items()
    for version in _VERSIONS.get(group, ("v1", "v1beta1"))
    for kind in kinds.split()
)
"""Kinds that kustomize knows to be in no namespace; it gives a namespace to every kind that it does not know."""


class Gvk(NamedTuple):
    """A kind; as a selector, what is empty stands for anything."""

    group: str = ""
    version: str = ""
    kind: str = ""

    def is_selected(self, by: "Gvk") -> bool:
        """Whether a selector selects it."""
        return (
            (not by.kind or by.kind == self.kind)
            and (not by.group or by.group == self.group)
            and (not by.version or by.version == self.version)
        )

    @property
    def is_cluster_scoped(self) -> bool:
        """Whether its objects are certainly in no namespace."""
        return self in _CLUSTER_SCOPED


ANY = Gvk()


class Id(NamedTuple):
    """What an object is called, or was called before a transformation."""

    gvk: Gvk
    namespace: str
    """In effect: ``default`` where none is written."""
    name: str


@dataclasses.dataclass(frozen=True)
class KustomizeResource:
    """One object; transformations make a new one that shares what did not change."""

    value: Mapping[str, Any]
    source: Manifest
    """As it was written first."""
    previous: tuple[tuple[str, str, str], ...] = ()
    """Kind, namespace in effect and name, from the oldest on."""
    prefixes: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    behavior: str = ""
    """Of one that a generator made: create, merge or replace."""
    is_hashed: bool = False
    """Whether its name is to end with a hash of its content."""

    @property
    def gvk(self) -> Gvk:
        """Its kind."""
        # Asked for all the time: kept by hand, since cached_property takes a lock each time.
        found: Gvk | None = self.__dict__.get("_gvk")
        if found is None:
            group, _, version = str(self.value.get("apiVersion") or "").rpartition("/")
            found = self.__dict__["_gvk"] = Gvk(group, version, str(self.value.get("kind") or ""))
        return found

    @property
    def id(self) -> Id:
        """What it is called now."""
        found: Id | None = self.__dict__.get("_id")
        if found is None:
            namespace = NOT_NAMESPACED if self.gvk.is_cluster_scoped else self.namespace or "default"
            found = self.__dict__["_id"] = Id(self.gvk, namespace, self.name)
        return found

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Its metadata, empty if there is none."""
        found = self.value.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def name(self) -> str:
        """Its name now."""
        return str(self.metadata.get("name") or "")

    @property
    def namespace(self) -> str:
        """Its namespace as it is written."""
        return str(self.metadata.get("namespace") or "")

    @property
    def previous_ids(self) -> tuple[Id, ...]:
        """What it was called, from the oldest on."""
        group, version, _ = self.gvk
        return tuple(Id(Gvk(group, version, kind), namespace, name) for kind, namespace, name in self.previous)

    @property
    def original_id(self) -> Id:
        """What it was called first."""
        if not self.previous:
            return self.id
        kind, namespace, name = self.previous[0]
        return Id(Gvk(self.gvk.group, self.gvk.version, kind), namespace, name)

    def is_called(self, wanted: Id) -> bool:
        """Whether it is called so, or was."""
        return wanted == self.id or wanted in self.previous_ids

    def changed(self, value: Mapping[str, Any]) -> "KustomizeResource":
        """With another value."""
        return self if value is self.value else self._with(value=value)

    def remembering(self, *, prefix: str = "", suffix: str = "") -> "KustomizeResource":
        """With its name now among those that it had, and with what is about to be put before or after it."""
        return self._with(
            previous=(*self.previous, (self.gvk.kind, self.id.namespace, self.name)),
            prefixes=(*self.prefixes, prefix) if prefix else self.prefixes,
            suffixes=(*self.suffixes, suffix) if suffix else self.suffixes,
        )

    def _with(self, **fields: Any) -> "KustomizeResource":
        """A copy with other fields; ``dataclasses.replace`` takes three times as long, and there are many copies."""
        made = object.__new__(KustomizeResource)
        known = self.__dict__ if "value" not in fields else {f: self.__dict__[f] for f in _FIELDS}
        made.__dict__.update(known, **fields)
        return made

    def with_metadata(self, **fields: Any) -> "KustomizeResource":
        """With other metadata; a field that is empty is removed."""
        metadata = {**self.metadata, **fields}
        metadata = {name: value for name, value in metadata.items() if value or name not in fields}
        return self.changed({**self.value, "metadata": metadata})


_FIELDS = tuple(field.name for field in dataclasses.fields(KustomizeResource))


def labels_of(resource: KustomizeResource, field: str = "labels") -> Mapping[str, str]:
    """Its labels, or its annotations, as texts."""
    found = resource.metadata.get(field)
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}


def repeated_resource(resources: Iterable[KustomizeResource]) -> KustomizeResource | None:
    """The first object that has the name of one before it."""
    seen: set[Id] = set()
    for resource in resources:
        if resource.id in seen:
            return resource
        seen.add(resource.id)
    return None
