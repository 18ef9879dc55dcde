"""What a reader brings home."""

import dataclasses

from firstlight.model.cluster import Cluster
from firstlight.model.component import Origin
from firstlight.model.diagnostic import Diagnostic


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReaderResult:
    """What one reader found in a work tree."""

    clusters: tuple[Cluster, ...] = ()
    origins: tuple[Origin, ...] = ()
    """With a cluster: part of its tree. Without: for every cluster, or for none that is known."""
    unreached: tuple[Origin, ...] = ()
    """Declared, and not part of any tree that the engine follows."""
    diagnostics: tuple[Diagnostic, ...] = ()
