"""What a component really deploys: its objects, as the tools of the engines render them."""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from firstlight.model.component import ObjectId, Side
from firstlight.model.remark import Remark


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
class Pin:
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
    pins: tuple[Pin, ...] = ()
    remarks: tuple[Remark, ...] = ()
    """What could not be rendered, and why; a rendition with an ERROR is not whole."""
