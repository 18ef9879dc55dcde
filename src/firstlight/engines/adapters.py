"""All engines, and the kinds by which they bring objects: a further engine is one more package and one line here."""

from collections.abc import Callable, Mapping
from typing import Any

from firstlight.engines.adapter import EngineAdapter
from firstlight.engines.argocd.adapter import ARGOCD
from firstlight.engines.engine_kind import EngineKind, SourceKind
from firstlight.engines.flux.adapter import FLUX
from firstlight.model.cluster import Engine

ADAPTERS: Mapping[Engine, EngineAdapter] = {each.engine: each for each in (FLUX, ARGOCD)}
KINDS: Mapping[str, EngineKind] = {kind.kind: kind for each in ADAPTERS.values() for kind in each.kinds}
SUSPENDABLE: Mapping[str, EngineKind] = {name: each for name, each in KINDS.items() if each.rest is not None}
"""Those that Git can suspend: they own what components are made of."""
SPLITTABLE: Mapping[str, Callable[..., dict[str, Any]]] = {
    name: each.copied for name, each in KINDS.items() if each.copied is not None
}
"""Those that apply a directory, and how a second one for another directory is made of one."""
SOURCES: Mapping[str, SourceKind] = {each.kind: each for adapter in ADAPTERS.values() for each in adapter.sources}


def kind_of(owner: str) -> EngineKind | None:
    """Return the kind of an owner by its name, ``Kustomization flux-system/shop``; None if it is not an engine's."""
    return KINDS.get(owner.partition(" ")[0])


def followed(engine: Engine) -> EngineKind:
    """Return the kind by whose objects an engine follows a repo."""
    return KINDS[ADAPTERS[engine].followed]


def starts_from_directory(engine: Engine | None) -> bool:
    """Return whether a directory may be where an engine starts from; also where the engine is not known."""
    return engine is None or ADAPTERS[engine].starts_from_directory


def request(kind: str, token: str, *, is_full: bool = True) -> dict[str, str]:
    """Return the annotations that ask an object of an engine to reconcile, or a source of it to fetch.

    Args:
        kind: Of the object.
        token: What the controller is to repeat, if it does so.
        is_full: Whether the engine is to forget what it remembers of Git.
    """
    source = SOURCES.get(kind)
    return source.request(token) if source is not None else KINDS[kind].request(token, is_full=is_full)
