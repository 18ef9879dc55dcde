"""All engines, and the kinds by which they bring objects: a further engine is one more package and one line here."""

from collections.abc import Mapping

from firstlight.engines.adapter import EngineAdapter, EngineKind
from firstlight.engines.argocd.adapter import ARGOCD
from firstlight.engines.flux.adapter import FLUX
from firstlight.model.cluster import Engine

ADAPTERS: Mapping[Engine, EngineAdapter] = {each.engine: each for each in (FLUX, ARGOCD)}
KINDS: Mapping[str, EngineKind] = {kind.kind: kind for each in ADAPTERS.values() for kind in each.kinds}
SUSPENDABLE: Mapping[str, EngineKind] = {name: each for name, each in KINDS.items() if each.rest is not None}
"""Those that Git can suspend: they own what components are made of."""
