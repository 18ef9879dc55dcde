"""What keeps an engine from pruning a live object: an annotation that it obeys whatever Git or an inventory says.

Flux takes it from the live object (``kustomize.toolkit.fluxcd.io/prune``, without regard to case). So does Argo CD
(gitops-engine, ``isPruningDisabled``), where it is one of several options with commas between them; of those that say
something of pruning the first one counts.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.document.within import mapping
from firstlight.model.cluster import Engine


@dataclasses.dataclass(frozen=True, slots=True)
class Guard:
    """The annotation of one engine."""

    name: str
    value: str

    def holds(self, obj: Mapping[str, Any]) -> bool:
        """Whether an object is guarded, whoever says so."""
        key, _, _ = self.value.rpartition("=")
        options = [each.strip() for each in self.written(obj).split(",")]
        said = [each for each in options if each.startswith(f"{key}=")] if key else options
        return bool(said) and (said[0] if key else said[0].lower()) == self.value

    def written(self, obj: Mapping[str, Any]) -> str:
        """The annotation as an object has it; empty if it has none."""
        return str(mapping(obj, "metadata", "annotations").get(self.name) or "")

    def is_barred(self, obj: Mapping[str, Any]) -> bool:
        """Whether an object cannot be guarded: it has the annotation already, with something else to say.

        A value that were joined to it would be drift, which an engine that heals by itself takes back at once.
        """
        return bool(self.written(obj)) and not self.holds(obj)

    def joined(self, obj: Mapping[str, Any]) -> str:
        """What Git would have to say of an object that cannot be guarded otherwise."""
        said = self.written(obj)
        return f"{self.value},{said}" if "=" in self.value else self.value


_GUARDS = {
    Engine.FLUX: Guard("kustomize.toolkit.fluxcd.io/prune", "disabled"),
    Engine.ARGOCD: Guard("argocd.argoproj.io/sync-options", "Prune=false"),
}


def of(engine: Engine | None) -> Guard:
    """The guard of an engine; where there is none, Flux's, which nobody reads."""
    return _GUARDS[engine or Engine.FLUX]
