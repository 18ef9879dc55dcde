"""What a component really deploys: its objects, as the tools of the engines render them."""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from firstlight.model.component import ObjectId, Side
from firstlight.model.diagnostic import Diagnostic


@dataclasses.dataclass(frozen=True)
class Object:
    """One Kubernetes manifest; it is not shown, since it may be a Secret."""

    value: Mapping[str, Any] = dataclasses.field(repr=False)

    @cached_property
    def id(self) -> ObjectId:
        """What it is called."""
        return ObjectId.of(self.value)

    @property
    def is_crd(self) -> bool:
        """Whether it defines a kind."""
        return self.id.kind == "CustomResourceDefinition" and self.id.group == "apiextensions.k8s.io"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VersionPin:
    """What a moving reference was when it was rendered."""

    source: str
    """The chart or URL as it is written, with its version or range."""
    version: str
    digest: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rendition:
    """What one component deploys in one cluster, from one side."""

    component: str
    cluster: str
    side: Side
    """Bootstrap or GitOps: a hybrid has one rendition of each."""
    objects: tuple[Object, ...] = ()
    """In the order in which the tool wrote them; CRDs are among them."""
    pins: tuple[VersionPin, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    """What could not be rendered, and why; a rendition with an ERROR is not whole."""
    by_default: tuple[ObjectId, ...] = ()
    """Objects in which a variable has its default, which something outside of the repo may set to another value."""


# What a renderer made.


@dataclasses.dataclass(frozen=True)
class RendererOutput:
    """Manifests as text; they are not shown, since there may be Secrets among them."""

    text: str = dataclasses.field(repr=False)
    warnings: tuple[str, ...] = ()
    """What the renderer said besides."""


def has_secrets(obj: Object) -> bool:
    """Whether it is a Secret whose data can be read: not an empty one, and not one that sops has encrypted."""
    if obj.id.kind != "Secret" or obj.id.group:
        return False
    is_encrypted = isinstance(obj.value.get("sops"), Mapping)
    for field in ("data", "stringData"):
        data = obj.value.get(field)
        for value in data.values() if isinstance(data, Mapping) else ():
            if value and not (is_encrypted and str(value).startswith("ENC[")):
                return True
    metadata = obj.value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return isinstance(annotations, Mapping) and "kubectl.kubernetes.io/last-applied-configuration" in annotations
