"""What the readers of command lines share: where paths lead, which repositories are known, and what they found."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from firstlight.model.cluster import Cluster
from firstlight.model.component import Certainty, Form, ObjectId, Origin, Phase, Side
from firstlight.model.place import Place
from firstlight.model.source import Source, Sources
from firstlight.repo.scripts import masking, plain
from firstlight.repo.scripts.invocation import Invocation
from firstlight.repo.scripts.lookup import Lookup
from firstlight.repo.scripts.step import HelmfileCall, Role

_RUNS = " is only known when it runs"
PLACEHOLDER = "?"
"""A name that only a run would tell."""


@dataclasses.dataclass(slots=True)
class Context:
    """Shared by everything that reads command lines of one repo."""

    lookup: Lookup
    clusters: frozenset[str] = frozenset()
    """Names that clusters may have; a kubectl context that is none of them says nothing."""
    repositories: dict[str, tuple[str, Place]] = dataclasses.field(default_factory=dict)
    """What ``helm repo add`` says: URLs by name."""
    made: dict[str, tuple[Invocation, ...]] = dataclasses.field(default_factory=dict)
    """Files that commands wrote, and how."""

    def cluster(self, *hints: str) -> str:
        """The cluster that a context or environment names."""
        for hint in hints:
            for name in (hint, hint.rpartition("@")[2]):
                if name in self.clusters:
                    return name
        return ""


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """What one command line means."""

    kind: str
    role: Role
    origin: Origin | None = None
    cluster: Cluster | None = None
    helmfile: HelmfileCall | None = None


def origin(
    pipeline: Sequence[Invocation],
    *,
    form: Form,
    name: str,
    source: Source | Sources,
    namespace: str = "",
    phase: Phase = Phase.CORE,
    version: str = "",
    cluster: str = "",
    objects: Sequence[ObjectId] = (),
    doubts: Sequence[str] = (),
    definition: dict[str, Any] | None = None,
) -> Origin:
    """An origin for a command; its needs are added later."""
    unknowns = tuple(dict.fromkeys(each for invocation in pipeline for each in invocation.unknowns))
    why = [f"{', '.join(unknowns)}{_RUNS}"] if unknowns else []
    said = [f"{', '.join(unknowns)}{_RUNS}", *(f"{each}{_RUNS}" for each in unknowns)]
    reasons = [*why, *(each for each in doubts if each and each not in said)]
    made = Origin(
        form=form,
        side=Side.BOOTSTRAP,
        place=pipeline[0].place,
        name=name or PLACEHOLDER,
        namespace=namespace,
        cluster=cluster,
        phase=phase,
        source=source,
        version=version,
        certainty=Certainty.GUESSED if reasons else Certainty.PARSED,
        doubt="; ".join(dict.fromkeys(reasons)),
        objects=tuple(objects),
        definition=definition or {},
        command=masking.line([invocation.written for invocation in pipeline]),
    )
    return plain.origin(made)
