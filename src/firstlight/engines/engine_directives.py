"""How an engine's own objects are told to rest in Git: one line for each kind that can.

What rests applies nothing and prunes nothing, whatever becomes of it: so bootstrap may keep what it declares.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.document.within import mapping, sequence
from firstlight.engines import engine_marks
from firstlight.model import argocd_names, flux_names
from firstlight.model.cluster import Engine
from firstlight.model.component import Origin, SourceForm


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """How one kind rests."""

    group: str
    """Of its API."""
    steps: tuple[str, ...]
    """Where it is said."""
    value: Any
    words: str
    """The same for people, as it is written."""


RESTS: Mapping[SourceForm, Rest] = {
    SourceForm.KUSTOMIZATION: Rest(
        group=flux_names.KUSTOMIZE_GROUP, steps=("spec", "suspend"), value=True, words="suspend: true"
    ),
    SourceForm.HELM_RELEASE: Rest(
        group=flux_names.HELM_GROUP, steps=("spec", "suspend"), value=True, words="suspend: true"
    ),
    SourceForm.APPLICATION: Rest(
        group=argocd_names.GROUP, steps=("metadata", "annotations", argocd_names.SKIP_RECONCILE_ANNOTATION),
        value="true",
        words=f'the annotation {argocd_names.SKIP_RECONCILE_ANNOTATION}: "true"',
    ),
}  # fmt: skip


def is_rest_declared(origin: Origin) -> bool:
    """Whether Git lets what declares a component rest; an Application that only nobody syncs does not."""
    return engine_marks.is_suspended(origin.definition) if origin.definition else origin.suspended


# What keeps an engine from pruning a live object: an annotation that it obeys whatever Git or an inventory says.
#
# Flux takes it from the live object (``kustomize.toolkit.fluxcd.io/prune``, without regard to case). So does Argo CD
# (gitops-engine, ``isPruningDisabled``), where it is one of several options with commas between them; of those that say
# something of pruning the first one counts.


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
    Engine.FLUX: Guard(flux_names.PRUNE_ANNOTATION, "disabled"),
    Engine.ARGOCD: Guard(argocd_names.SYNC_OPTIONS_ANNOTATION, "Prune=false"),
}


def prune_guard(engine: Engine | None) -> Guard:
    """The guard of an engine; where there is none, Flux's, which nobody reads."""
    return _GUARDS[engine or Engine.FLUX]


# The options by which Argo CD is told how to sync: those of an Application, and those of a single object.


SERVER_SIDE = "ServerSideApply=true"
REPLACE = "Replace=true"


def application_sync_options(definition: Mapping[str, Any]) -> tuple[str, ...]:
    """The options of an Application."""
    return tuple(str(each) for each in sequence(definition, "spec", "syncPolicy", "syncOptions"))


def object_sync_options(value: Mapping[str, Any]) -> tuple[str, ...]:
    """The options of an object, which it has besides those of its Application."""
    written = str(mapping(value, "metadata", "annotations").get(argocd_names.SYNC_OPTIONS_ANNOTATION) or "")
    return tuple(each.strip() for each in written.split(",") if each.strip())


def is_server_side(definition: Mapping[str, Any], objects: Iterable[Mapping[str, Any]]) -> bool:
    """Whether Argo CD applies all objects of an Application by server-side apply; ``Replace`` would win over that.

    Args:
        definition: The Application.
        objects: What it applies, as far as that is known.
    """
    said, given = application_sync_options(definition), list(objects)
    if REPLACE in said:
        return False
    return SERVER_SIDE in said or (bool(given) and all(SERVER_SIDE in object_sync_options(each) for each in given))
