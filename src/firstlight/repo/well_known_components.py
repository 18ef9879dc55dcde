"""Components that many platforms have, from ``known.yaml``: recognised by their names, with role and reason."""

import dataclasses
import functools
import importlib.resources
import re
from collections.abc import Iterable, Sequence

import msgspec

from firstlight.document import yaml_reader
from firstlight.model import argocd_names, flux_names
from firstlight.model.component import ObjectId, Phase

_SUFFIXES = ("-crds", "-install", "-bootstrap", "-core", "-app", "-helm", "-helm-release", "-release", "-app-set")


@dataclasses.dataclass(frozen=True)
class WellKnownComponent:
    """What is known of a component by its name."""

    role: str
    names: tuple[str, ...]
    why: str
    groups: tuple[str, ...] = ()
    key: str = ""


@functools.cache
def table() -> dict[str, WellKnownComponent]:
    """Everything that is known, by key."""
    file = importlib.resources.files("firstlight.repo") / "well_known_components.yaml"
    (document,) = yaml_reader.read(file.read_bytes(), "well_known_components.yaml").documents
    read = msgspec.convert(document.value, dict[str, WellKnownComponent])
    return {key: dataclasses.replace(each, key=key) for key, each in read.items()}


@functools.cache
def _by_name() -> dict[str, WellKnownComponent]:
    return {name: each for each in table().values() for name in each.names}


def recognised(names: Iterable[str]) -> WellKnownComponent | None:
    """What the first name that is known belongs to, the usual suffixes aside."""
    for name in names:
        bare = name.rpartition("/")[2].lower()
        for candidate in (bare, *(bare.removesuffix(each) for each in _SUFFIXES if bare.endswith(each))):
            if found := _by_name().get(candidate):
                return found
    return None


@functools.cache
def by_group() -> dict[str, WellKnownComponent]:
    """What configures what: known components by API group."""
    return {group: each for each in table().values() for group in each.groups}


# Which phase something belongs to, as far as its name and its objects tell.


_CRDS = re.compile(
    r"(?:^|[^a-z])crds?(?:[^a-z]|$)|customresourcedefinition|(?:standard|experimental)-install\.ya?ml", re.I
)
_ENGINE = re.compile(
    r"gotk-components|gotk-sync|argo-?cd/[^/]*(?:/manifests)?/(?:[\w-]+/)?(?:ha-|core-|namespace-)?install\.ya?ml"
)
_ENGINE_KINDS = {
    argocd_names.APPLICATION, argocd_names.APPLICATION_SET, argocd_names.APP_PROJECT,
    flux_names.FLUX_INSTANCE, flux_names.GIT_REPOSITORY, flux_names.OCI_REPOSITORY, flux_names.KUSTOMIZATION,
}  # fmt: skip
"""What tells an engine where to begin."""
_PLAIN = {"Namespace", "Secret", "ConfigMap"}


def phase_of(texts: Iterable[str], *, objects: Sequence[ObjectId] = (), names: Iterable[str] = ()) -> Phase:
    """The phase of something that is applied.

    Args:
        texts: Paths, URLs and names as they are written.
        objects: What is in it, as far as that is known.
        names: Of releases and charts, which may be known by heart.
    """
    written = list(texts)
    if objects and all(each.kind == "CustomResourceDefinition" for each in objects):
        return Phase.CRDS
    if not objects and any(_CRDS.search(each) for each in written):
        return Phase.CRDS
    kinds = {each.kind for each in objects if each.kind not in _PLAIN}
    if any(_ENGINE.search(each) for each in written) or (kinds and kinds <= _ENGINE_KINDS):
        return Phase.ENGINE
    found = recognised(names)
    return Phase.ENGINE if found is not None and found.role == "engine" else Phase.CORE
