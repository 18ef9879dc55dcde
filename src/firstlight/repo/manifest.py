"""A Kubernetes object with the place that it comes from."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.model.component import ObjectId
from firstlight.model.place import Place


@dataclasses.dataclass(frozen=True, slots=True)
class Manifest:
    """One object, perhaps changed by a kustomization on its way."""

    value: Mapping[str, Any]
    place: Place
    """Where it is written first."""

    @property
    def id(self) -> ObjectId:
        """What it is called."""
        group, _, version = str(self.value.get("apiVersion") or "").rpartition("/")
        metadata = self.value.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        del version
        return ObjectId(
            group,
            str(self.value.get("kind") or ""),
            str(metadata.get("namespace") or ""),
            str(metadata.get("name") or ""),
        )
