"""The CRDs among what is rendered: each once, with those who bring it, and where they do not agree."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight import errors
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition, VersionPin
from firstlight.render import cache_files, rendered_objects
from firstlight.render.chart_packages import FetchKind, FetchRequest
from firstlight.render.chart_store import ChartStore
from firstlight.repo.work_tree import WorkTree


@dataclasses.dataclass(frozen=True)
class Crd:
    """A kind that somebody defines in a cluster."""

    object: Object
    cluster: str
    components: tuple[str, ...]
    """All that bring it; the first one's is ``object``."""

    @property
    def name(self) -> str:
        """Such as ``certificates.cert-manager.io``."""
        return self.object.id.name


@dataclasses.dataclass(frozen=True)
class Crds:
    """The kinds that are defined, sorted by cluster and name."""

    each: tuple[Crd, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def extract(renditions: Iterable[Rendition], *, platform: Platform | None = None) -> Crds:
    """The CRDs of renditions; of those that several bring the first is taken.

    Args:
        renditions: In the order in which they count.
        platform: Where components are declared, for diagnostics.
    """
    found: dict[tuple[str, str], Crd] = {}
    diagnostics: list[Diagnostic] = []
    for rendition in renditions:
        for obj in rendition.objects:
            if not obj.is_crd:
                continue
            key = (rendition.cluster, obj.id.name)
            first = found.get(key)
            if first is None:
                found[key] = Crd(obj, rendition.cluster, (rendition.component,))
            elif rendition.component not in first.components:
                found[key] = dataclasses.replace(first, components=(*first.components, rendition.component))
                if _spec(first.object) != _spec(obj):
                    diagnostics.append(_conflict(first, obj, rendition, platform))
    return Crds(tuple(found[key] for key in sorted(found)), tuple(dict.fromkeys(diagnostics)))


async def from_source(
    source: str, *, store: ChartStore, tree: WorkTree, digest: str = ""
) -> tuple[tuple[Object, ...], VersionPin, tuple[Diagnostic, ...]]:
    """The CRDs of a file of the repo or of the web, for those that no chart brings, such as the Gateway API's.

    Args:
        source: A path in the repo, or a URL.
        store: Fetches URLs.
        tree: The repo.
        digest: ``sha256:…``, which the file must have if it is given.

    Raises:
        errors.FirstlightError: It cannot be had, or is another one.
    """
    if source.startswith(("https://", "http://")):
        stored = await store.get(FetchRequest(kind=FetchKind.FILE, url=source, digest=digest))
        content, pin = await store.content(stored), stored.pin
    else:
        found = tree.bytes(source) if tree.is_file(source) else None
        if found is None:
            raise errors.UsageError(f"there is no file {source} in the repo")
        content, pin = found, VersionPin(source=source, version="", digest=f"sha256:{cache_files.bytes_digest(found)}")
        if digest not in ("", pin.digest):
            raise errors.Refused(f"{source} is {pin.digest}, and {digest} was asked for")
    objects, diagnostics = rendered_objects.parse_objects(
        content.decode("utf-8-sig", errors="replace"), Place(source), what=source
    )
    return tuple(each for each in objects if each.is_crd), pin, tuple(diagnostics)


def versions(obj: Object) -> tuple[str, ...]:
    """The versions that a CRD serves."""
    listed = _spec(obj).get("versions")
    return tuple(
        str(each.get("name"))
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, Mapping) and each.get("served") is not False
    )


def _conflict(first: Crd, other: Object, rendition: Rendition, platform: Platform | None) -> Diagnostic:
    mine, theirs = versions(first.object), versions(other)
    one, two = first.components[0], rendition.component
    if mine != theirs:
        what = f"{', '.join(mine) or 'nothing'} by {one} and {', '.join(theirs) or 'nothing'} by {two}"
        message = f"the CRD {first.name} comes twice, and serves {what}"
    else:
        message = f"the CRD {first.name} comes from {one} and from {two}, with other fields in the same versions"
    hint = f"leave it to one of them; {one} has it for now"
    return Diagnostic.warning("crd-twice", message, at=_place(rendition, platform), fix=hint)


def _place(rendition: Rendition, platform: Platform | None) -> Place:
    for component in platform.components_of(rendition.cluster) if platform else ():
        if component.name == rendition.component:
            return component.origins[0].place
    return Place(rendition.component)


def _spec(obj: Object) -> Mapping[str, Any]:
    """What counts of a CRD: two that only differ in labels are the same."""
    spec = obj.value.get("spec")
    return spec if isinstance(spec, Mapping) else {}
