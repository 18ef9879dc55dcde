"""Which phase something belongs to, as far as its name and its objects tell."""

import re
from collections.abc import Iterable, Sequence

from firstlight.model.component import ObjectId, Phase
from firstlight.repo import known

_CRDS = re.compile(
    r"(?:^|[^a-z])crds?(?:[^a-z]|$)|customresourcedefinition|(?:standard|experimental)-install\.ya?ml", re.I
)
_ENGINE = re.compile(
    r"gotk-components|gotk-sync|argo-?cd/[^/]*(?:/manifests)?/(?:[\w-]+/)?(?:ha-|core-|namespace-)?install\.ya?ml"
)
_ENGINE_KINDS = {
    "Application", "ApplicationSet", "AppProject", "FluxInstance", "GitRepository", "OCIRepository", "Kustomization",
}  # fmt: skip
"""What tells an engine where to begin."""
_PLAIN = {"Namespace", "Secret", "ConfigMap"}


def of(texts: Iterable[str], *, objects: Sequence[ObjectId] = (), names: Iterable[str] = ()) -> Phase:
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
    found = known.of(names)
    return Phase.ENGINE if found is not None and found.role == "engine" else Phase.CORE
