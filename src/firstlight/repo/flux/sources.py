"""Sources of Flux: found by the names that others give them, and told whether they are this very repo."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.model.source import Reference
from firstlight.repo.flux.kinds import mapping, spec, text
from firstlight.repo.manifest import Manifest

_SCP = re.compile(r"(?:[^@/]+@)?(?P<host>[^:/]+):(?P<path>[^/].*)")
_URL = re.compile(r"[a-z+]+://(?:[^@/]*@)?(?P<host>[^/]*)/(?P<path>.*)")


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """A source that somebody names."""

    reference: Reference
    manifest: Manifest | None = None
    """Where it is declared; None where nothing in the repo declares it."""
    is_reached: bool = True
    """Whether the cluster's own tree brings it."""

    @property
    def url(self) -> str:
        """Where it fetches from."""
        return "" if self.manifest is None else text(spec(self.manifest).get("url"))

    @property
    def revision(self) -> str:
        """What it fetches, as people call it: a tag, a branch, a range of versions, a commit."""
        return revision(ref(self.manifest))


def ref(manifest: Manifest | None) -> Mapping[str, Any]:
    """The ``ref`` of a source; empty if there is none."""
    return {} if manifest is None else mapping(spec(manifest).get("ref"))


def revision(written: Mapping[str, Any]) -> str:
    """What a ``ref`` pins, the hardest first, as Flux goes through it."""
    for name in ("digest", "commit", "name", "semver", "tag", "branch"):
        if found := text(written.get(name)):
            return found.removeprefix("refs/heads/").removeprefix("refs/tags/")
    return ""


def same_place(url: str) -> str:
    """A Git URL without what does not matter: scheme, user, port, ``.git``; equal for the same repository."""
    match = _URL.fullmatch(url.strip()) or _SCP.fullmatch(url.strip())
    if match is None:
        return url.strip().rstrip("/").removesuffix(".git")
    host = match["host"].lower().partition(":")[0].removeprefix("ssh.").removeprefix("www.")
    return f"{host}/{match['path'].strip('/').removesuffix('.git').lower()}"


class Sources:
    """The sources of one cluster; those of the rest of the repo are known too, and told apart."""

    def __init__(self, everywhere: Sequence[Manifest]) -> None:
        self._reached: dict[tuple[str, str, str], Manifest] = {}
        self._everywhere = everywhere

    def note(self, manifest: Manifest) -> None:
        """Remember a source that the cluster's tree brings."""
        self._reached.setdefault((manifest.id.kind, manifest.id.namespace, manifest.id.name), manifest)

    def find(self, kind: str, name: str, namespace: str) -> Source:
        """A source by its name."""
        reference = Reference(kind=kind, name=name, namespace=namespace)
        found = self._reached.get((kind, namespace, name))
        if found is not None:
            return Source(reference, found)
        # Elsewhere in the repo a namespace may be missing, since a kustomization sets it.
        same = [each for each in self._everywhere if each.id.kind == kind and each.id.name == name]
        exact = [each for each in same if each.id.namespace == namespace] or [e for e in same if not e.id.namespace]
        return Source(reference, exact[0] if exact else None, is_reached=False)
