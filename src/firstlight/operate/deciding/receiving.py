"""Which components get values from a ConfigMap or Secret: they change with it, though no file of theirs does."""

from collections.abc import Iterator

from firstlight.document.within import at, sequence, text
from firstlight.model.component import Component, ObjectId, Origin
from firstlight.model.platform import Platform
from firstlight.model.source import Chart
from firstlight.plan import facts

_KINDS = ("ConfigMap", "Secret")


def receiving(platform: Platform, holder: ObjectId) -> Iterator[Component]:
    """Those in which Flux substitutes from it, or whose chart gets values from it."""
    if holder.group or holder.kind not in _KINDS:
        return
    for component in platform.components:
        if any(_receives(origin, holder) for origin in component.origins):
            yield component


def _receives(origin: Origin, holder: ObjectId) -> bool:
    for each in sequence(at(origin.definition, "spec", "postBuild"), "substituteFrom"):
        is_there = holder.namespace in ("", origin.namespace)
        if is_there and (text(each, "kind"), text(each, "name")) == (holder.kind, holder.name):
            return True
    return any(_is_named(reference, holder) for reference in _references(origin))


def _references(origin: Origin) -> Iterator[str]:
    for source in facts.sources(origin):
        if isinstance(source, Chart):
            yield from (each.reference for each in source.values if each.reference)


def _is_named(reference: str, holder: ObjectId) -> bool:
    kind, _, rest = reference.partition("/")
    namespace, _, name = rest.rpartition("/")
    return (kind, name) == (holder.kind, holder.name) and (not holder.namespace or namespace == holder.namespace)
