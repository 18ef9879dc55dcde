"""How an engine's own objects are told to rest in Git: one line for each kind that can.

What rests applies nothing and prunes nothing, whatever becomes of it: so bootstrap may keep what it declares.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.document.within import mapping, sequence
from firstlight.engines import adapters, engine_marks
from firstlight.engines.adapter import Guard
from firstlight.engines.engine_kind import Rest
from firstlight.model import argocd_names
from firstlight.model.cluster import Engine
from firstlight.model.component import Origin, SourceForm

RESTS: Mapping[SourceForm, Rest] = {
    SourceForm(each.kind): each.rest for each in adapters.KINDS.values() if each.rest is not None
}


def is_rest_declared(origin: Origin) -> bool:
    """Whether Git lets what declares a component rest; an Application that only nobody syncs does not."""
    return engine_marks.is_suspended(origin.definition) if origin.definition else origin.suspended


# What keeps an engine from pruning a live object: an annotation that it obeys whatever Git or an inventory says.
#
# Flux takes it from the live object (``kustomize.toolkit.fluxcd.io/prune``, without regard to case). So does Argo CD
# (gitops-engine, ``isPruningDisabled``), where it is one of several options with commas between them; of those that say
# something of pruning the first one counts.


def prune_guard(engine: Engine | None) -> Guard:
    """The guard of an engine; where there is none, that of any other, which nobody reads."""
    return adapters.ADAPTERS[engine or next(iter(adapters.ADAPTERS))].prune_guard


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
